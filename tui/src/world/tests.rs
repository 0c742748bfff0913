use super::*;
use crate::fixtures::{Counted, NOON, after, live, machine, told};

fn lease(holder: &str, renewed: i64, at: i64) -> Message {
    Message::Lease(Lease {
        holder: holder.to_owned(),
        renewed: after(renewed),
        duration_secs: 15,
        transitions: 1,
        at: after(at),
    })
}

fn scrape(replica: &str, leading: bool) -> Message {
    let counted = Counted {
        start: 1.0,
        leading,
        ready: 2.0,
        passes: 0.0,
        errors: 0.0,
        creates: [0.0; 3],
    };
    Message::Scrape {
        replica: replica.to_owned(),
        at: NOON,
        text: counted.text(),
    }
}

fn leader(messages: Vec<Message>) -> Leader {
    let mut all = vec![Message::Tick { now: NOON }];
    all.extend(messages);
    told(all).world().leader()
}

#[test]
fn lease_and_replicas_together_say_who_leads() {
    assert_eq!(leader(vec![]), Leader::Unknown);
    assert_eq!(
        leader(vec![lease("a", 0, 0)]),
        Leader::Holder("a".to_owned())
    );
    assert_eq!(
        leader(vec![lease("a", 0, 0), scrape("x", true)]),
        Leader::Agreed("a".to_owned())
    );
    assert_eq!(
        leader(vec![lease("a", 0, 0), scrape("x", false)]),
        Leader::Unconfirmed("a".to_owned())
    );
    assert_eq!(
        leader(vec![lease("a", 0, 0), scrape("x", true), scrape("y", true)]),
        Leader::Disputed(vec!["x".to_owned(), "y".to_owned()])
    );
    assert_eq!(
        leader(vec![lease("a", -20, 0)]),
        Leader::Nobody { expired: Some(5.0) }
    );
    assert_eq!(
        leader(vec![lease("", 0, 0)]),
        Leader::Nobody { expired: None }
    );
}

#[test]
fn the_queue_is_the_leaders_whatever_a_standby_says() {
    let model = told(vec![
        scrape("a", false),
        scrape("z", true),
        scrape("zz", false),
    ]);
    assert_eq!(model.world().leading().map(|(name, _)| name), Some("z"));
}

#[test]
fn a_change_of_leader_is_kept_with_both_names() {
    let model = told(vec![lease("a", 0, 0), lease("a", 2, 2), lease("b", 4, 4)]);
    let seen: Vec<_> = model
        .world()
        .handovers
        .iter()
        .map(|one| (one.from.as_str(), one.to.as_str()))
        .collect();
    assert_eq!(seen, [("a", "b")]);
}

#[test]
fn phases_are_counted_as_machines_come_change_and_go() {
    let mut deleting = machine(2, "Running");
    deleting.deleting = true;
    let model = told(vec![
        Message::Machines {
            list: vec![machine(1, ""), machine(2, "Running"), machine(3, "Unheard")],
        },
        Message::Machines {
            list: vec![deleting],
        },
        Message::Gone {
            uid: "uid-00001".to_owned(),
        },
        Message::Gone {
            uid: "uid-00001".to_owned(),
        },
    ]);
    assert_eq!(model.world().phases(), [("Deleting", 1), ("Unheard", 1)]);
}

#[test]
fn what_is_lost_says_why_and_since_when_it_was_good() {
    let lost = |at| Message::Source {
        source: Source::Metrics("a".to_owned()),
        health: Health::Lost {
            why: "connection refused".to_owned(),
        },
        at: after(at),
    };
    let model = told(vec![
        live(Source::Metrics("a".to_owned())),
        scrape("a", true),
        lost(3),
        lost(9),
    ]);
    let standing = &model.world().sources[&Source::Metrics("a".to_owned())];
    assert_eq!((standing.since, standing.good), (after(3), Some(NOON)));
    assert_eq!(
        model.world().no_numbers().as_deref(),
        Some("connection refused")
    );
}

#[test]
fn memory_is_bounded_whatever_comes() {
    let mut world = World::default();
    for number in 0..3000 {
        world.take(Message::Event(Event {
            uid: format!("{number}"),
            at: after(number),
            ..Event::default()
        }));
        world.take(Message::Logs {
            lines: vec![LogLine::default(); 3],
            dropped: 1,
        });
        let phase = if number % 2 == 0 {
            "Running"
        } else {
            "Stopped"
        };
        world.take(Message::Machines {
            list: vec![machine(1, phase)],
        });
    }
    assert_eq!(world.events.len(), EVENTS);
    assert_eq!(
        world.events.back().map(|event| event.uid.as_str()),
        Some("2999")
    );
    assert_eq!((world.logs.len(), world.dropped), (LOGS, 3000));
    assert_eq!(world.turns["uid-00001"].len(), TURNS);
}
