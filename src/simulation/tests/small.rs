//! Searches of small worlds to the end.

use super::page;
use crate::simulation::planted::{Bug, ROWS};
use crate::simulation::runner::number;
use crate::simulation::search::Searched;
use crate::simulation::small::Scope;

const fn scope(words: &'static str, faults: u32, acts: u32, delays: u32) -> Scope {
    Scope {
        words,
        faults,
        acts,
        delays,
        most: 5_000_000,
        bug: None,
    }
}

/// Searched in the gate.
const SMALL: &[Scope] = &[
    scope("delete", 0, 2, 0),
    scope("lost", 1, 1, 0),
    scope("crash", 1, 1, 0),
    scope("delete,race", 1, 2, 0),
];

/// Searched with `SIM_WORLDS=1`.
const LARGE: &[Scope] = &[scope("delete,lost", 1, 2, 0)];

fn searched(scope: &Scope) -> (Searched, String) {
    let found = scope.search();
    if let Some((broken, way)) = &found.broken {
        let told = scope.told(way).join("\n");
        panic!("{scope:?}: {broken} after {} steps:\n{told}", way.len());
    }
    let Scope {
        words,
        faults,
        acts,
        delays,
        ..
    } = scope;
    let line = format!(
        "| {words} | {acts} | {faults} | {delays} | {} | {} | {} | {} | {} | {} |",
        found.states, found.transitions, found.depth, found.running, found.gone, found.recalled
    );
    println!("{line}  {found:?}");
    assert!(
        found.complete,
        "{scope:?} is larger than {} states",
        scope.most
    );
    // Without these the search would have gone nowhere.
    assert!(found.running > 0 && (found.gone > 0 || scope.acts == 1));
    (found, line)
}

#[test]
fn every_interleaving_of_small_worlds_is_good() {
    let lines: Vec<String> = SMALL.iter().map(|scope| searched(scope).1).collect();
    page::holds("small worlds", &lines, |told, found| told == found);
}

#[test]
fn every_interleaving_of_larger_worlds_is_good() {
    if number("SIM_WORLDS").is_none() {
        println!("set SIM_WORLDS=1 to search them");
        return;
    }
    let lines: Vec<String> = LARGE.iter().map(|scope| searched(scope).1).collect();
    page::holds("larger worlds", &lines, |told, found| told == found);
}

/// A world of one's own: `SIM_SCOPE="delete,crash 1 2 0"` (what may happen, faults, acts, delays).
#[test]
fn a_world_of_ones_own() {
    let Ok(asked) = std::env::var("SIM_SCOPE") else {
        println!("set SIM_SCOPE to search a world of your own");
        return;
    };
    let words: Vec<&str> = asked.split(' ').collect();
    let [what, numbers @ ..] = words.as_slice() else {
        panic!("SIM_SCOPE is empty");
    };
    let numbers: Vec<u32> = numbers.iter().map(|n| n.parse().unwrap()).collect();
    let [faults, acts, delays] = numbers[..] else {
        panic!("SIM_SCOPE needs faults, acts and delays");
    };
    searched(&scope(String::from(*what).leak(), faults, acts, delays));
}

/// The bug of this name, in the smallest world that has it.
fn with_bug(name: &str, scope: Scope) -> Scope {
    let row = ROWS.iter().find(|row| row.name == name).unwrap();
    let bug: Bug = row.bug;
    Scope {
        bug: Some(bug),
        most: 300_000,
        ..scope
    }
}

#[test]
fn planted_bugs_are_found_by_the_shortest_way() {
    let bugs = [
        ("done after one look", "I3", scope("delete,race", 1, 2, 0)),
        (
            "stripped taken as no intent",
            "I3",
            scope("delete,strip", 0, 3, 0),
        ),
        (
            "finalizer off before the end is confirmed",
            "I3",
            scope("delete,slowdelete", 0, 2, 0),
        ),
    ];
    for (name, invariant, scope) in bugs {
        let scope = with_bug(name, scope);
        let found = scope.search();
        let Some((broken, way)) = &found.broken else {
            panic!("{name} is not found in {} states", found.states);
        };
        println!(
            "{name}: {broken}, {} steps, {} states",
            way.len(),
            found.states
        );
        for line in scope.told(way) {
            println!("  {line}");
        }
        assert!(broken.starts_with(invariant), "{name}: {broken}");
    }
}
