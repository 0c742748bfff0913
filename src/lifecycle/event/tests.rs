use super::*;
use crate::api::condition::{Wanted, merge};
use crate::domain::{Incarnation, InstanceId, Intent};
use crate::lifecycle::fixtures::{bare, created, deleting, intended, policy, wall, with};

fn wanted(kind: ConditionType, status: ConditionStatus, reason: Reason, message: &str) -> Wanted {
    Wanted {
        kind,
        status,
        reason: reason.to_string(),
        message: message.to_owned(),
    }
}

/// A status with an id and these conditions.
fn status(id: Option<&str>, conditions: &[Wanted]) -> VirtualMachineStatus {
    VirtualMachineStatus {
        id: id.map(ToOwned::to_owned),
        conditions: merge(&[], conditions, Some(1), wall()),
        ..VirtualMachineStatus::default()
    }
}

fn ready(reason: Reason) -> Wanted {
    let status = match reason {
        Reason::Running => ConditionStatus::True,
        _ => ConditionStatus::False,
    };
    wanted(ConditionType::Ready, status, reason, "as it is")
}

fn hold() -> Plan {
    Plan::hold(Reason::Created)
}

/// Words of the events between two statuses of a live object.
fn told(old: &VirtualMachineStatus, new: &VirtualMachineStatus) -> Vec<&'static str> {
    let events = of_status(&created(1), &hold(), old, new);
    events.iter().map(|event| event.reason.as_str()).collect()
}

#[test]
fn a_vm_tells_that_it_exists_and_that_it_runs() {
    let nothing = VirtualMachineStatus::default();
    let made = status(Some("i-1"), &[ready(Reason::Provisioning)]);
    let starts = status(Some("i-1"), &[ready(Reason::Starting)]);
    let runs = status(Some("i-1"), &[ready(Reason::Running)]);
    assert_eq!(told(&nothing, &made), ["Created"]);
    assert_eq!(told(&made, &starts), [""; 0]);
    assert_eq!(told(&starts, &runs), ["Running"]);
    // Both at once, where the provider is that quick.
    assert_eq!(told(&nothing, &runs), ["Created", "Running"]);
    assert_eq!(told(&runs, &runs), [""; 0]);
}

#[test]
fn why_it_is_not_ready_is_told_once_for_each_reason() {
    let runs = status(Some("i-1"), &[ready(Reason::Running)]);
    let down = status(Some("i-1"), &[ready(Reason::ProviderUnreachable)]);
    let keys = status(Some("i-1"), &[ready(Reason::CredentialsRejected)]);
    assert_eq!(told(&runs, &down), ["ProviderUnreachable"]);
    assert_eq!(told(&down, &keys), ["CredentialsRejected"]);
    assert_eq!(told(&keys, &runs), ["Running"]);
    // Other words for the same are no transition.
    let mut other = down.clone();
    other.conditions[0].message = "still".to_owned();
    other.conditions[0].status = "Unknown".to_owned();
    assert_eq!(told(&down, &other), [""; 0]);
}

#[test]
fn of_a_deletion_its_own_condition_speaks() {
    let runs = status(Some("i-1"), &[ready(Reason::Running)]);
    let going = |reason| {
        let yes = wanted(ConditionType::Deleting, ConditionStatus::True, reason, "m");
        status(Some("i-1"), &[ready(reason), yes])
    };
    let object = deleting(created(1));
    let told = |old: &_, new: &_| {
        let plan = Plan::new(Action::Delete(InstanceId::new("i-1")), Reason::Deleting);
        of_status(&object, &plan, old, new)
    };
    let begun = told(&runs, &going(Reason::Deleting));
    assert_eq!(begun, [Event::new(Reason::Deleting, Deed::Delete, "m")]);
    let blocked = told(&going(Reason::Deleting), &going(Reason::DeletionBlocked));
    assert_eq!(
        blocked,
        [Event::new(Reason::DeletionBlocked, Deed::Delete, "m")]
    );
    assert_eq!(blocked[0].tone, Tone::Warning);
}

#[test]
fn doubles_and_a_pause_are_told_though_the_vm_runs() {
    let runs = |more: &[Wanted]| {
        let all = [&[ready(Reason::Running)], more].concat();
        status(Some("i-1"), &all)
    };
    let yes = |kind, reason| wanted(kind, ConditionStatus::True, reason, "m");
    let double = yes(ConditionType::Provisioned, Reason::Duplicate);
    let alone = yes(ConditionType::Provisioned, Reason::Created);
    let paused = yes(ConditionType::Paused, Reason::Paused);
    let (one, two) = (runs(&[alone]), runs(&[double]));
    assert_eq!(told(&one, &two), ["Duplicate"]);
    assert_eq!(told(&two, &one), [""; 0]);
    assert_eq!(told(&one, &runs(&[paused])), ["Paused"]);
}

#[test]
fn what_waits_for_a_person_is_told_even_if_its_reason_alone_is_no_news() {
    let doubt = || ready(Reason::CreateInDoubt);
    let stalled = wanted(
        ConditionType::Stalled,
        ConditionStatus::True,
        Reason::CreateInDoubt,
        "look there",
    );
    let (waits, stands) = (status(None, &[doubt()]), status(None, &[doubt(), stalled]));
    assert_eq!(told(&VirtualMachineStatus::default(), &waits), [""; 0]);
    assert_eq!(told(&waits, &stands), ["CreateInDoubt"]);
    let refused = |more: &[Wanted]| {
        let all = [&[ready(Reason::InvalidImage)], more].concat();
        status(None, &all)
    };
    let stalled = wanted(
        ConditionType::Stalled,
        ConditionStatus::True,
        Reason::InvalidImage,
        "correct it",
    );
    assert_eq!(told(&waits, &refused(&[stalled])), ["InvalidImage"], "once");
}

#[test]
fn a_condition_of_an_unknown_word_tells_nothing() {
    let runs = status(Some("i-1"), &[ready(Reason::Running)]);
    let mut odd = status(Some("i-1"), &[ready(Reason::Stopped)]);
    odd.conditions[0].reason = "FromAnotherVersion".to_owned();
    assert_eq!(told(&runs, &odd), [""; 0]);
}

fn intend(reason: Reason) -> Plan {
    let intent: Option<Intent> = bare().fresh_intent(&policy().cluster, Incarnation::FIRST, None);
    let action = Action::Intend {
        intent: Box::new(intent.unwrap()),
        first: true,
    };
    Plan::new(action, reason)
}

#[test]
fn a_first_intent_is_no_news_and_a_replaced_or_repeated_one_is() {
    let reason = |object: &Object, plan: &Plan, foreign| {
        of_metadata(object, plan, foreign).map(|event| event.reason)
    };
    let first = intend(Reason::CreatePending);
    assert_eq!(reason(&bare(), &first, false), None);
    assert_eq!(reason(&bare(), &first, true), Some(Reason::IntentReplaced));
    let again = intend(Reason::Lost);
    let event = of_metadata(&created(1), &again, false).unwrap();
    assert_eq!(
        (event.reason, event.tone),
        (Reason::Recreating, Tone::Normal)
    );
    assert!(event.note.contains("i-1"), "{}", event.note);
}

#[test]
fn the_end_says_whether_an_instance_may_be_left() {
    let end = |orphaned: Option<&str>| {
        let orphaned = orphaned.map(ToOwned::to_owned);
        let plan = Plan::new(Action::RemoveFinalizer { orphaned }, Reason::Deleting);
        of_metadata(&deleting(created(1)), &plan, false).unwrap()
    };
    let gone = end(None);
    assert_eq!((gone.reason, gone.tone), (Reason::Deleted, Tone::Normal));
    let left = end(Some("the cloud is closed"));
    assert_eq!((left.reason, left.tone), (Reason::Orphaned, Tone::Warning));
    for part in ["i-1", "the cloud is closed"] {
        assert!(left.note.contains(part), "{}", left.note);
    }
    let unmade = of_metadata(
        &deleting(intended(1)),
        &Plan::new(Action::RemoveFinalizer { orphaned: None }, Reason::Deleting),
        false,
    );
    assert!(unmade.unwrap().note.contains("whatever was made"));
}

#[test]
fn a_note_is_cut_at_a_whole_character() {
    for note in ["x".repeat(5_000), "ß".repeat(2_000), "🚀".repeat(600)] {
        let cut = Event::new(Reason::InstanceFailed, Deed::Observe, &note).note;
        assert!(cut.len() <= MAX_NOTE && cut.len() > MAX_NOTE - 8, "{cut}");
        assert!(cut.ends_with('…'));
        assert!(note.starts_with(cut.trim_end_matches('…')));
    }
    let short = Event::new(Reason::InstanceFailed, Deed::Observe, "short").note;
    assert_eq!(short, "short");
}

/// A user's reason for letting go may be long.
#[test]
fn a_long_reason_of_a_user_fits() {
    let orphaned = Some("y".repeat(100_000));
    let plan = Plan::new(Action::RemoveFinalizer { orphaned }, Reason::Deleting);
    let object = with(deleting(created(1)), |_| ());
    let event = of_metadata(&object, &plan, false).unwrap();
    assert!(event.note.len() <= MAX_NOTE);
}

#[test]
fn words_of_deeds_and_tones_are_what_the_api_server_takes() {
    for (deed, _) in Deed::ALL {
        assert!((1..=128).contains(&deed.as_str().len()));
    }
    for (reason, _) in Reason::ALL {
        assert!(reason.as_str().len() <= 128);
        assert_eq!(Reason::from_name(reason.as_str()), Some(*reason));
    }
    assert_eq!(Reason::from_name("Nonsense"), None);
}
