use super::*;
use crate::domain::{ClusterId, InstancePhase, Operation, OwnerTag, Uid};
use crate::lifecycle::fixtures::{
    bare, created, failure, instance, intended, nth, owner, running, with,
};

fn named(id: &str, incarnation: u32) -> Instance {
    let mut one = running(incarnation);
    one.id = crate::domain::InstanceId::new(id);
    one
}

fn of_uid(uid: &str, mut instance: Instance) -> Instance {
    instance.owner = Some(OwnerTag {
        cluster: ClusterId::new("c-1"),
        uid: Uid::new(uid),
        incarnation: nth(1),
    });
    instance
}

fn untagged(mut instance: Instance) -> Instance {
    instance.owner = None;
    instance
}

type Got = Option<Result<Instance, ErrorKind>>;
type Found = Option<Result<Vec<Instance>, ErrorKind>>;

#[derive(Debug, PartialEq)]
enum Shown {
    Present(&'static str, Vec<&'static str>),
    Nothing(Vec<&'static str>),
    Unproven,
    Unknown(ErrorKind),
}

fn check(what: &str, object: &Object, least: u32, (got, found): (Got, Found), expected: &Shown) {
    let answers = Answers {
        got: got.map(|answer| answer.map_err(|kind| failure(kind, Operation::Get))),
        found: found.map(|answer| answer.map_err(|kind| failure(kind, Operation::List))),
    };
    let names = |all: &[Instance]| -> Vec<&'static str> {
        all.iter()
            .map(|i| &*i.id.as_str().to_owned().leak())
            .collect()
    };
    let shown = match answers.judge(object, &owner(), nth(least)) {
        Judged::Nothing(others) => Shown::Nothing(names(&others)),
        Judged::Seen(sighting) => match sighting.current {
            Current::Present(one) => Shown::Present(names(&[one])[0], names(&sighting.others)),
            Current::Unproven(_) => Shown::Unproven,
            Current::Unknown(error) => Shown::Unknown(error.kind),
            Current::Unasked | Current::Absent(_) => panic!("{what}: judged as not asked"),
        },
    };
    assert_eq!(&shown, expected, "{what}");
}

#[test]
fn the_instance_that_counts_is_of_the_highest_incarnation_then_the_recorded_then_the_lowest_id() {
    let found = |all: Vec<Instance>| (None, Some(Ok(all)));
    let present = Shown::Present;
    check(
        "none",
        &intended(1),
        1,
        found(vec![]),
        &Shown::Nothing(vec![]),
    );
    check(
        "one",
        &intended(1),
        1,
        found(vec![named("a", 1)]),
        &present("a", vec![]),
    );
    check(
        "a higher one beats the recorded",
        &created(1),
        1,
        found(vec![named("i-1", 1), named("z", 2)]),
        &present("z", vec!["i-1"]),
    );
    check(
        "among equals the recorded",
        &created(1),
        1,
        found(vec![named("a", 1), named("i-1", 1)]),
        &present("i-1", vec!["a"]),
    );
    check(
        "among equals without a record the same one every time",
        &intended(1),
        1,
        found(vec![named("b", 1), named("a", 1)]),
        &present("a", vec!["b"]),
    );
}

#[test]
fn an_instance_of_a_lower_incarnation_never_counts_and_is_named() {
    let found = (None, Some(Ok(vec![named("old", 1)])));
    check(
        "alone",
        &intended(2),
        2,
        found,
        &Shown::Nothing(vec!["old"]),
    );
    let both = (None, Some(Ok(vec![named("old", 1), named("new", 2)])));
    let expected = Shown::Present("new", vec!["old"]);
    check("beside the current", &intended(2), 2, both, &expected);
    let found = (None, Some(Ok(vec![named("old", 1)])));
    let expected = Shown::Present("old", vec![]);
    check("a deletion takes it", &intended(2), 1, found, &expected);
}

#[test]
fn what_others_own_is_never_ours() {
    let stranger = || of_uid("u-2", named("i-1", 1));
    let nothing = Shown::Nothing(vec![]);
    let object = created(1);
    let found = (None, Some(Ok(vec![stranger()])));
    check("found by a filter that lies", &object, 1, found, &nothing);
    let got = (Some(Ok(stranger())), Some(Ok(vec![])));
    check("under our id", &object, 1, got, &nothing);
    let mut other_cluster = named("i-1", 1);
    if let Some(tag) = &mut other_cluster.owner {
        tag.cluster = ClusterId::new("c-2");
    }
    let got = (Some(Ok(other_cluster)), Some(Ok(vec![])));
    check("of another cluster", &object, 1, got, &nothing);
}

#[test]
fn an_instance_without_tags_is_unproven_only_with_the_creation_time_that_was_recorded() {
    let empty = || Some(Ok(vec![]));
    let object = created(1);
    let same = (Some(Ok(untagged(running(1)))), empty());
    check("same time", &object, 1, same, &Shown::Unproven);
    let mut later = untagged(running(1));
    later.created_at = "2026-02-02T00:00:00Z".to_owned();
    let nothing = Shown::Nothing(vec![]);
    let reused = (Some(Ok(later)), empty());
    check("id used again", &object, 1, reused, &nothing);
    let mut unreadable = untagged(running(1));
    unreadable.created_at = "yesterday".to_owned();
    let unrecorded = with(created(1), |o| {
        o.recorded.as_mut().unwrap().created_at = None;
    });
    let got = (Some(Ok(unreadable)), empty());
    check(
        "two unknown times are not equal",
        &unrecorded,
        1,
        got,
        &nothing,
    );
}

#[test]
fn failing_to_see_is_never_an_absence() {
    for kind in ErrorKind::ALL {
        let found = (None, Some(Err(kind)));
        check("find", &intended(1), 1, found, &Shown::Unknown(kind));
        let got = (Some(Err(kind)), Some(Ok(vec![])));
        let expected = if kind == ErrorKind::NotFound {
            Shown::Nothing(vec![])
        } else {
            Shown::Unknown(kind)
        };
        check("get", &created(1), 1, got, &expected);
        let gone = (Some(Err(ErrorKind::NotFound)), Some(Err(kind)));
        check(
            "find after 404",
            &created(1),
            1,
            gone,
            &Shown::Unknown(kind),
        );
    }
}

#[test]
fn the_answer_by_id_beats_a_list_that_lags() {
    let deleting = instance(1, InstancePhase::Deleting);
    let answers = Answers {
        got: Some(Ok(deleting.clone())),
        found: Some(Ok(vec![running(1)])),
    };
    let judged = answers.judge(&created(1), &owner(), nth(1));
    let expected = Sighting {
        current: Current::Present(deleting),
        others: vec![],
    };
    assert_eq!(judged, Judged::Seen(expected));
    let missing = (Some(Ok(running(1))), Some(Ok(vec![])));
    let expected = Shown::Present("i-1", vec![]);
    check("not listed yet", &created(1), 1, missing, &expected);
}

#[test]
fn every_instance_with_our_tags_is_ours_to_delete_and_none_besides() {
    let sighting = Sighting {
        current: Current::Present(named("b", 2)),
        others: vec![named("a", 1)],
    };
    let ids: Vec<_> = sighting.ours().map(|i| i.id.as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
    let unproven = Sighting {
        current: Current::Unproven(untagged(running(1))),
        others: vec![],
    };
    assert_eq!(unproven.ours().count(), 0);
    assert_eq!(Sighting::unasked().ours().count(), 0);
    check(
        "an object without a record",
        &bare(),
        1,
        (None, Some(Ok(vec![]))),
        &Shown::Nothing(vec![]),
    );
}
