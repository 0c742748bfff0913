use super::*;
use crate::lifecycle::fixtures::secs;

const GRACE: Duration = Duration::from_secs(900);

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

fn shown(ids: &[(&str, &str)]) -> Vec<(InstanceId, Uid)> {
    let pair = |(id, uid): &(&str, &str)| (InstanceId::new(*id), Uid::new(*uid));
    ids.iter().map(pair).collect()
}

fn uids(uids: &[&str]) -> HashSet<Uid> {
    uids.iter().map(|uid| Uid::new(*uid)).collect()
}

fn orphans(suspects: &Suspects) -> Vec<&str> {
    suspects.orphans().map(InstanceId::as_str).collect()
}

/// Seen for the whole grace, so that only the live list is missing.
fn ripe() -> Suspects {
    let mut suspects = Suspects::default();
    suspects.look(at(1_000), shown(&[("i-1", "dead"), ("i-2", "living")]));
    suspects.look(at(1_900), shown(&[("i-1", "dead"), ("i-2", "living")]));
    suspects
}

#[test]
fn an_instance_is_an_orphan_after_the_grace_a_second_look_and_a_live_list() {
    let mut suspects = ripe();
    assert_eq!(suspects.ripe(GRACE), uids(&["dead", "living"]));
    assert_eq!(orphans(&suspects), [""; 0]);
    assert_eq!(suspects.confirm(&uids(&["dead"])), [InstanceId::new("i-1")]);
    assert_eq!((orphans(&suspects), suspects.count(None)), (vec!["i-1"], 1));
    // It is told once, and nothing has to be asked about it again.
    assert_eq!(suspects.confirm(&uids(&["dead"])), []);
    assert_eq!(suspects.ripe(GRACE), uids(&["living"]));
}

#[test]
fn a_younger_one_is_left_alone() {
    let mut suspects = Suspects::default();
    for second in [1_000, 1_100, 1_899] {
        suspects.look(at(second), shown(&[("i-1", "dead")]));
        assert_eq!(suspects.ripe(GRACE), uids(&[]), "after {second} s");
    }
}

#[test]
fn the_same_picture_twice_is_one_look() {
    let mut suspects = Suspects::default();
    suspects.look(at(1_000), shown(&[("i-1", "dead")]));
    suspects.look(at(1_000), shown(&[("i-1", "dead")]));
    assert_eq!(suspects.ripe(secs(0)), uids(&[]));
    suspects.look(at(1_001), shown(&[("i-1", "dead")]));
    assert_eq!(suspects.ripe(secs(0)), uids(&["dead"]));
}

#[test]
fn whoever_is_not_shown_once_or_gets_an_object_begins_anew() {
    let mut suspects = Suspects::default();
    suspects.look(at(1_000), shown(&[("i-1", "dead")]));
    suspects.look(at(1_500), shown(&[]));
    suspects.look(at(1_901), shown(&[("i-1", "dead")]));
    assert_eq!(suspects.ripe(GRACE), uids(&[]));
    suspects.look(at(2_801), shown(&[("i-1", "dead")]));
    assert_eq!(suspects.ripe(GRACE), uids(&["dead"]));
}

#[test]
fn an_id_that_is_used_again_is_another_instance() {
    let mut suspects = ripe();
    suspects.confirm(&uids(&["dead"]));
    suspects.look(at(1_901), shown(&[("i-1", "another"), ("i-2", "living")]));
    assert_eq!(orphans(&suspects), [""; 0]);
    assert_eq!(suspects.ripe(GRACE), uids(&["living"]));
}

#[test]
fn an_orphan_that_goes_is_counted_no_more() {
    let mut suspects = ripe();
    suspects.confirm(&uids(&["dead"]));
    suspects.look(at(1_901), shown(&[]));
    assert_eq!(suspects.count(Some(1)), 0);
}

#[test]
fn what_an_earlier_process_counted_stays_while_it_may_be_the_same() {
    let mut suspects = Suspects::default();
    assert_eq!(suspects.count(Some(2)), 0, "nothing was shown");
    suspects.look(at(1_000), shown(&[("i-1", "dead"), ("i-2", "dead")]));
    assert_eq!(suspects.count(Some(2)), 2);
    assert_eq!(suspects.count(Some(7)), 2, "there are not more suspects");
    assert_eq!(suspects.count(None), 0, "not told before the grace is over");
}
