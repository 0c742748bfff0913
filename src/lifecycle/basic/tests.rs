use super::*;
use crate::domain::{Capabilities, ErrorKind, InstanceId, InstancePhase};
use crate::lifecycle::fixtures::{
    KEY_LIFE, MADE_AT, NOW, answered, bare, born, config, created, deleting, edited, instance,
    intended, met, nth, owner, policy, recorded, secs, sees, wall, with, wrote_first,
};
use crate::lifecycle::memory::Arrival;
use crate::lifecycle::object::Tried;
use crate::lifecycle::observed::{ConfigProblem, Losses};
use crate::lifecycle::{decide, due};

type Resolved = Result<Config, ConfigProblem>;

/// Three endpoints and nothing else.
fn basic() -> Config {
    Config {
        capabilities: Capabilities::default(),
        ..config()
    }
}

fn unsafe_() -> Config {
    Config {
        allow_unsafe_create: true,
        ..basic()
    }
}

fn finding() -> Config {
    let mut config = basic();
    config.capabilities.list = true;
    config.capabilities.tag_filter = true;
    config
}

fn plan(object: &Object, memory: &Memory, config: &Config, current: Current) -> Plan {
    let config: Resolved = Ok(config.clone());
    let sighting = sees(current);
    let seen = Observed {
        object,
        config: &config,
        sighting: &sighting,
        memory,
        children: None,
        now: NOW,
        wall: wall(),
    };
    decide(&policy(), &seen)
}

fn looks(object: &Object, memory: &Memory, config: &Config) -> Due {
    due(&policy(), object, memory, &Ok(config.clone()), NOW, false)
}

fn by_id(id: &str, find: Find) -> Due {
    Due::Look(Some(InstanceId::new(id)), find)
}

const LATER: Moment = Moment::from_secs(10_009);

fn once() -> Current {
    Current::Absent(Sureness::LookAgainAt(LATER))
}

fn gone() -> Current {
    Current::Absent(Sureness::Confirmed)
}

fn refused() -> Object {
    with(intended(1), |o| {
        o.tried = Tried {
            attempts: 1,
            refused: true,
        };
    })
}

/// The process that wrote the intent sent a create that failed like this.
fn failed(object: &Object, kind: ErrorKind) -> Memory {
    let mut memory = answered(object, Err(kind));
    if !kind.may_have_happened() {
        memory.claim_mut().nothing_made();
    }
    memory
}

#[test]
fn whoever_wrote_the_intent_sends_one_create_and_asks_nothing_before() {
    let object = intended(1);
    let memory = wrote_first(&object);
    assert_eq!(looks(&bare(), &born(&bare()), &basic()), Due::Nothing);
    assert_eq!(looks(&object, &memory, &basic()), Due::Nothing);
    let made = plan(&object, &memory, &basic(), Current::Unasked);
    assert_eq!(made.action, Action::Create);
    let mut aged = wrote_first(&object);
    aged.write_acknowledged(NOW - secs(5));
    let noted = plan(&object, &aged, &basic(), Current::Unasked);
    assert_eq!(noted.action, Action::NoteAttempt, "a claim goes stale");
}

#[test]
fn an_object_that_was_there_before_and_shows_no_sign_is_begun_like_a_new_one() {
    let Action::Intend { first, .. } =
        plan(&bare(), &met(&bare()), &basic(), Current::Unasked).action
    else {
        panic!("no intent")
    };
    assert!(first);
    assert_eq!(looks(&bare(), &met(&bare()), &basic()), Due::Nothing);
    let mut stripped = met(&intended(1));
    stripped.saw(
        &policy(),
        &with(bare(), |o| o.version = "20".to_owned()),
        Arrival::Seen,
    );
    let Action::Intend { first, .. } = plan(&bare(), &stripped, &basic(), Current::Unasked).action
    else {
        panic!("no intent")
    };
    assert!(
        !first,
        "there was an intent: its create may have made something"
    );
}

#[test]
fn a_create_without_an_answer_is_repeated_only_where_that_is_allowed_or_can_be_found_out() {
    let object = intended(1);
    for memory in [failed(&object, ErrorKind::TimedOut), met(&object)] {
        for current in [once(), gone()] {
            let held = plan(&object, &memory, &basic(), current);
            assert_eq!(held, Plan::hold(Reason::CreateInDoubt));
        }
        for config in [unsafe_(), finding()] {
            assert_eq!(
                plan(&object, &memory, &config, once()),
                Plan::wait(LATER, Reason::CreateResultUnknown)
            );
            let again = plan(&object, &memory, &config, gone()).action;
            assert!(
                matches!(again, Action::Create | Action::NoteAttempt),
                "{again:?}"
            );
        }
    }
    let taken_over = plan(&object, &met(&object), &unsafe_(), gone());
    assert_eq!(taken_over.action, Action::NoteAttempt);
}

#[test]
fn a_refusal_leaves_the_right_to_try_again_and_a_restart_reads_it_in_the_status() {
    let object = intended(1);
    let quota = failed(&object, ErrorKind::QuotaExceeded);
    assert_eq!(
        plan(&object, &quota, &basic(), Current::Unasked).action,
        Action::Create
    );
    let told = plan(&refused(), &quota, &basic(), Current::Unasked);
    assert_eq!(
        told.action,
        Action::NoteAttempt,
        "the right is taken back first"
    );
    let restarted = plan(&refused(), &met(&refused()), &basic(), Current::Unasked);
    assert_eq!(restarted.action, Action::NoteAttempt);
    assert_eq!(looks(&refused(), &met(&refused()), &basic()), Due::Nothing);
    let invalid = failed(&object, ErrorKind::Invalid);
    let held = plan(&object, &invalid, &basic(), Current::Unasked);
    assert!(matches!(held.action, Action::Hold(None)), "{held:?}");
    let repaired = plan(&edited(refused()), &invalid, &basic(), Current::Unasked);
    assert!(
        matches!(&repaired.action, Action::Intend { intent, first: true } if intent.incarnation == nth(2)),
        "{repaired:?}"
    );
}

#[test]
fn a_claim_ends_where_somebody_else_notes_an_attempt_but_not_with_an_edit_of_a_user() {
    let object = intended(1);
    let newer = |tried| {
        with(object.clone(), |o| {
            o.version = "30".to_owned();
            o.tried = tried;
        })
    };
    let attempted = Tried {
        attempts: 1,
        refused: false,
    };
    let mut memory = wrote_first(&object);
    memory.saw(&policy(), &newer(Tried::default()), Arrival::Seen);
    assert!(memory.claim().is_clear(), "a user's edit");
    memory.saw(
        &policy(),
        &with(newer(attempted), |o| o.version = "31".to_owned()),
        Arrival::Seen,
    );
    assert!(!memory.claim().is_clear(), "another process's attempt");
    let mut ours = wrote_first(&object);
    ours.saw(&policy(), &newer(attempted), Arrival::Seen);
    assert!(!ours.claim().is_clear(), "perhaps our own, perhaps not");
    ours.claim_mut().noted(true);
    assert!(ours.claim().is_clear(), "our own");
}

#[test]
fn an_intent_whose_answer_was_lost_is_ours_all_the_same() {
    let mut policy = policy();
    policy.process = Some("p-1".to_owned());
    let by = |process: &str| {
        with(intended(1), |o| {
            if let IntentState::Valid(intent) = &mut o.intent {
                intent.by = Some(process.to_owned());
            }
        })
    };
    let seeing = |object: &Object| {
        let mut memory = born(&bare());
        memory.sending_intent(NOW);
        memory.saw(&policy, object, Arrival::Seen);
        memory
    };
    let ours = seeing(&by("p-1"));
    assert!(ours.claim().is_clear());
    let next = plan(&by("p-1"), &ours, &basic(), Current::Unasked);
    assert_eq!(next.action, Action::NoteAttempt);
    for other in [by("p-2"), intended(1)] {
        assert!(!seeing(&other).claim().is_clear(), "a predecessor's");
    }
    let mut posted = seeing(&by("p-1"));
    posted.sending_create(NOW, KEY_LIFE);
    posted.saw(
        &policy,
        &with(bare(), |o| o.version = "40".to_owned()),
        Arrival::Seen,
    );
    posted.saw(
        &policy,
        &with(by("p-1"), |o| o.version = "41".to_owned()),
        Arrival::Seen,
    );
    assert!(
        !posted.claim().is_clear(),
        "put back after its create was sent"
    );
}

#[test]
fn what_a_create_was_answered_with_is_ours_before_it_is_recorded() {
    let object = intended(1);
    let mut memory = answered(&object, Ok(()));
    memory.claim_mut().made_one(recorded(1));
    assert_eq!(
        looks(&object, &memory, &basic()),
        by_id("i-1", Find::Always)
    );
    let shown = plan(
        &object,
        &memory,
        &basic(),
        Current::Present(instance(1, InstancePhase::Running)),
    );
    assert_eq!(shown, Plan::hold(Reason::Created));
    let lost = plan(&object, &memory, &basic(), gone());
    assert!(
        matches!(&lost.action, Action::Intend { intent, first: true } if intent.incarnation == nth(2)),
        "{lost:?}"
    );
    let going = deleting(object);
    assert_eq!(
        looks(&going, &memory, &basic()),
        by_id("i-1", Find::IfNotGot)
    );
    assert!(!is_in_doubt(&going, &memory));
}

#[test]
fn an_instance_is_ours_by_its_id_unless_the_id_was_given_away() {
    let untagged = |made_at: &str| {
        let mut one = instance(1, InstancePhase::Running);
        one.owner = None;
        one.created_at = made_at.to_owned();
        one
    };
    let ours = recorded(1);
    let adopt = |one| adopted(Some(&ours), &owner(), one).belongs_to(&owner());
    assert!(adopt(untagged(MADE_AT)));
    assert!(adopt(untagged("")), "a basic provider tells little");
    assert!(!adopt(untagged("2026-02-02T00:00:00Z")));
    let mut other = untagged(MADE_AT);
    other.id = InstanceId::new("i-2");
    assert!(!adopt(other));
    let mut strangers = instance(1, InstancePhase::Running);
    strangers.owner.as_mut().unwrap().uid = crate::domain::Uid::new("u-9");
    assert!(!adopt(strangers), "tags count where there are some");
}

#[test]
fn a_deletion_needs_two_looks_by_id_and_lets_a_doubt_go_once_no_request_can_come() {
    let known = deleting(created(1));
    let memory = met(&known);
    assert_eq!(
        looks(&known, &memory, &basic()),
        by_id("i-1", Find::IfNotGot)
    );
    let short = gap(&policy(), &known, &memory, &basic(), NOW);
    assert_eq!(short, Duration::ZERO, "gone is twice 404");
    let off = |orphaned: Option<&str>| Action::RemoveFinalizer {
        orphaned: orphaned.map(ToOwned::to_owned),
    };
    assert_eq!(plan(&known, &memory, &basic(), gone()).action, off(None));
    let doubt = deleting(intended(1));
    for memory in [met(&doubt), failed(&doubt, ErrorKind::TimedOut)] {
        assert_eq!(
            plan(&doubt, &memory, &basic(), once()),
            Plan::wait(LATER, Reason::CreateInDoubt)
        );
        assert_eq!(
            plan(&doubt, &memory, &basic(), gone()).action,
            off(Some(LET_GO))
        );
        assert_eq!(plan(&doubt, &memory, &finding(), gone()).action, off(None));
        let long = gap(&policy(), &doubt, &memory, &basic(), NOW);
        assert_eq!(long, basic().timeout + policy().look_margin);
    }
    let untried = wrote_first(&doubt);
    assert_eq!(looks(&doubt, &untried, &basic()), Due::Nothing);
    assert_eq!(
        plan(&doubt, &untried, &basic(), Current::Unasked).action,
        off(None),
        "nothing was sent"
    );
}

#[test]
fn a_lost_instance_is_made_anew_as_elsewhere() {
    let object = created(1);
    let again = plan(&object, &met(&object), &basic(), gone());
    assert!(
        matches!(&again.action, Action::Intend { intent, first: true } if intent.incarnation == nth(2)),
        "{again:?}"
    );
    let many = Config {
        losses: Losses {
            users: 10,
            missing: 2,
            ..Losses::default()
        },
        ..basic()
    };
    let held = plan(&object, &met(&object), &many, gone());
    assert_eq!(held, Plan::hold(Reason::MassLossSuspected));
}

#[test]
fn a_create_is_never_sent_twice_without_leave_whatever_happened_before() {
    let mut creates = 0;
    let mut judge = |object: &Object, memory: &Memory, current: &Current| {
        let next = plan(object, memory, &basic(), current.clone());
        if next.action == Action::Create {
            creates += 1;
            assert!(is_clear(object, memory), "{memory:#?}");
            assert!(memory.own_write_stands(&policy(), NOW) && !object.tried.refused);
        }
        if next.action == Action::NoteAttempt {
            assert!(is_clear(object, memory), "{memory:#?}");
        }
        assert_ne!(next.action, Action::Settle, "a key settles nothing here");
    };
    for object in [
        bare(),
        intended(1),
        intended(2),
        created(1),
        refused(),
        deleting(refused()),
    ] {
        let mut memories = vec![met(&object), born(&object), wrote_first(&object)];
        for kind in ErrorKind::ALL {
            memories.push(failed(&object, kind));
        }
        let mut taken_over = met(&object);
        taken_over.write_acknowledged(NOW - secs(1));
        memories.push(taken_over);
        let mut twice = failed(&object, ErrorKind::TimedOut);
        twice.sending_create(NOW, KEY_LIFE);
        twice.claim_mut().nothing_made();
        memories.push(twice);
        for memory in &memories {
            for current in [Current::Unasked, once(), gone()] {
                judge(&object, memory, &current);
            }
        }
    }
    assert!(creates > 0);
}
