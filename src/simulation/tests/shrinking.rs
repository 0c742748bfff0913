//! Failing runs become small, and stay failing.

use crate::simulation::planted::{ROWS, Row};
use crate::simulation::runner::{Setting, play_in, run, shortest, world};
use crate::simulation::shrink::invariant;
use crate::simulation::tape::Tape;

fn row(name: &str) -> &'static Row {
    ROWS.iter().find(|row| row.name == name).unwrap()
}

/// The first seed that finds a bug.
fn first(setting: Setting) -> (u64, String) {
    (1..5_000)
        .find_map(|seed| Some((seed, run(seed, setting).err()?)))
        .unwrap()
}

#[test]
fn a_tape_plays_what_the_seed_did() {
    for name in ["done after one look", "new key on retry"] {
        let setting = Setting::of(row(name));
        let (seed, broken) = first(setting);
        let mut ran = world(seed, setting, true);
        ran.tape = Some(Tape::default());
        let _ = ran.run();
        let tape = ran.tape.take().unwrap();
        let mut played = world(seed, setting, true);
        let again = play_in(&mut played, setting, &tape).unwrap_err();
        assert_eq!(again, broken, "{name}");
        assert_eq!(played.trace.lines(), ran.trace.lines(), "{name}");
    }
}

#[test]
fn a_failing_run_is_cut_down_until_nothing_can_be_left_out() {
    let setting = Setting::of(row("done after one look"));
    let (seed, broken) = first(setting);
    let (tape, what) = shortest(seed, setting).unwrap();
    assert_eq!(invariant(&what), invariant(&broken));
    assert!(tape.steps.len() <= 40, "{} steps", tape.steps.len());
    assert!(tape.steps.iter().any(|step| step.is_adverse()));
    for at in 0..tape.steps.len() {
        let mut shorter = tape.clone();
        shorter.steps.remove(at);
        let mut world = world(seed, setting, false);
        let fails = play_in(&mut world, setting, &shorter).err();
        let same = fails.is_some_and(|new| invariant(&new) == invariant(&broken));
        assert!(!same, "step {at} could be left out");
    }
}

#[test]
fn a_seed_that_does_not_fail_has_nothing_to_cut_down() {
    assert!(shortest(1, Setting::drawn()).is_none());
}
