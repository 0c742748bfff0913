//! Which rule hits.

use super::*;

fn rule(change: impl FnOnce(&mut Rule)) -> Rule {
    let mut rule: Rule = serde_json::from_str(r#"{"effect":{"kind":"dropAfter"}}"#).unwrap();
    change(&mut rule);
    rule
}

fn hits(faults: &mut Faults, calls: usize) -> usize {
    let subject = Subject {
        operation: Some(Operation::Get),
        account: "a",
        ..Subject::default()
    };
    (0..calls)
        .filter(|_| faults.pick(&subject).is_some())
        .count()
}

#[test]
fn a_rule_spares_skip_calls_and_then_hits_count_times() {
    let mut faults = Faults::new(1);
    faults
        .add(rule(|rule| (rule.skip, rule.count) = (2, Some(3))))
        .unwrap();
    let subject = Subject {
        operation: Some(Operation::Get),
        account: "a",
        ..Subject::default()
    };
    let seen: Vec<_> = (0..7).map(|_| faults.pick(&subject).is_some()).collect();
    assert_eq!(seen, [false, false, true, true, true, false, false]);
    assert_eq!((faults.list()[0].matched, faults.list()[0].hits), (5, 3));
}

#[test]
fn probability_is_a_share_and_the_seed_decides() {
    let run = |seed| {
        let mut faults = Faults::new(seed);
        faults.add(rule(|rule| rule.probability = 0.25)).unwrap();
        hits(&mut faults, 1000)
    };
    assert!((150..=350).contains(&run(1)), "{}", run(1));
    assert_eq!(run(1), run(1));
    let mut never = Faults::new(1);
    never.add(rule(|rule| rule.probability = 0.0)).unwrap();
    assert_eq!(hits(&mut never, 1000), 0);
}

#[test]
fn the_first_rule_that_hits_is_the_one() {
    let mut faults = Faults::new(1);
    faults.add(rule(|rule| rule.count = Some(1))).unwrap();
    faults
        .add(rule(|rule| rule.effect = Effect::Malformed))
        .unwrap();
    let subject = Subject::default();
    let seen: Vec<_> = (0..3).map(|_| faults.pick(&subject).unwrap().0).collect();
    assert_eq!(seen, [1, 2, 2]);
    assert_eq!(
        (
            faults.clear(Some(2)),
            faults.clear(Some(2)),
            faults.clear(None)
        ),
        (1, 0, 1)
    );
    // Numbers are not given again.
    assert_eq!(faults.add(rule(|_| {})).unwrap().id, 3);
}
