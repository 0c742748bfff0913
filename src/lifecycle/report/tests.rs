mod deletion;
mod doubts;
mod laws;
mod lost;
mod operation;
mod requeue;

use super::*;
use crate::api::condition::{ConditionType, find, is_true};
use crate::domain::{ClusterId, ErrorKind, InstancePhase, Operation};
use crate::lifecycle::due::{Due, Find, due};
use crate::lifecycle::fixtures::{
    KEY_LIFE, NOW, answered, bare, born, config, created, deleting, failure, instance, intended,
    met, no_config, policy, running, secs, sees, wall, with, wrote_first,
};
use crate::lifecycle::memory::{Memory, Sureness};
use crate::lifecycle::object::{IntentState, Object};
use crate::lifecycle::observed::{Config, ConfigProblem};
use crate::lifecycle::sighting::{Current, Sighting};

type Resolved = Result<Config, ConfigProblem>;

/// A world that owns its parts.
struct Case {
    object: Object,
    config: Resolved,
    sighting: Sighting,
    memory: Memory,
}

impl Case {
    fn new(object: Object, current: Current) -> Self {
        Self {
            config: Ok(config()),
            sighting: sees(current),
            memory: met(&object),
            object,
        }
    }

    fn seen(&self) -> Observed<'_> {
        Observed {
            object: &self.object,
            config: &self.config,
            sighting: &self.sighting,
            memory: &self.memory,
            children: None,
            now: NOW,
            wall: wall(),
        }
    }

    /// The pass with this outcome of the decided effect, over a status of before.
    fn pass(&self, old: &VirtualMachineStatus, outcome: &Outcome) -> Report {
        let plan = crate::lifecycle::decide(&policy(), &self.seen());
        report(&policy(), &self.seen(), old, &plan, outcome)
    }

    fn status(&self) -> VirtualMachineStatus {
        let none = VirtualMachineStatus::default();
        self.pass(&none, &Outcome::Nothing).status.unwrap()
    }
}

fn shows(status: &VirtualMachineStatus, kind: ConditionType) -> Option<(String, String)> {
    find(&status.conditions, kind).map(|c| (c.status.clone(), c.reason.clone()))
}

fn check(status: &VirtualMachineStatus, kind: ConditionType, value: &str, reason: Reason) {
    let expected = (value.to_owned(), reason.to_string());
    assert_eq!(
        shows(status, kind),
        Some(expected),
        "{kind:?} of {status:#?}"
    );
}

/// What `kubectl wait` and its like compute of an object.
#[derive(Debug, PartialEq)]
enum Kstatus {
    InProgress,
    Current,
    Failed,
    Terminating,
}

fn kstatus(object: &Object, status: &VirtualMachineStatus) -> Kstatus {
    let holds = |kind| is_true(&status.conditions, kind);
    if object.deleting {
        Kstatus::Terminating
    } else if status.observed_generation != Some(object.generation)
        || holds(ConditionType::Reconciling)
    {
        Kstatus::InProgress
    } else if holds(ConditionType::Stalled) {
        Kstatus::Failed
    } else if holds(ConditionType::Ready) {
        Kstatus::Current
    } else {
        Kstatus::InProgress
    }
}

#[test]
fn every_phase_of_the_provider_is_what_kstatus_expects() {
    let check = |phase: InstancePhase, shown: Phase, expected: Kstatus| {
        let case = Case::new(created(1), Current::Present(instance(1, phase.clone())));
        let status = case.status();
        assert_eq!(status.phase, Some(shown), "{phase:?}");
        assert_eq!(kstatus(&case.object, &status), expected, "{phase:?}");
        let case = Case::new(deleting(created(1)), case.sighting.current);
        assert_eq!(case.pass(&status, &Outcome::DeleteAccepted).status, None);
        let refused = Outcome::Failed(failure(ErrorKind::Conflict, Operation::Delete));
        let status = case.pass(&status, &refused).status.unwrap();
        assert_eq!(
            kstatus(&case.object, &status),
            Kstatus::Terminating,
            "{phase:?}"
        );
        assert_eq!(status.phase, Some(Phase::Deleting), "{phase:?}");
    };
    check(
        InstancePhase::Provisioning,
        Phase::Provisioning,
        Kstatus::InProgress,
    );
    check(
        InstancePhase::Starting,
        Phase::Starting,
        Kstatus::InProgress,
    );
    check(InstancePhase::Running, Phase::Running, Kstatus::Current);
    check(
        InstancePhase::Stopping,
        Phase::Stopping,
        Kstatus::InProgress,
    );
    check(InstancePhase::Stopped, Phase::Stopped, Kstatus::InProgress);
    check(
        InstancePhase::Resizing,
        Phase::Resizing,
        Kstatus::InProgress,
    );
    check(InstancePhase::Failed, Phase::Failed, Kstatus::Failed);
    let melting = InstancePhase::Other("Melting".to_owned());
    check(melting, Phase::Unknown, Kstatus::InProgress);
}

#[test]
fn an_edit_is_never_taken_for_done_before_it_was_seen() {
    let case = Case::new(created(1), Current::Present(running(1)));
    let status = case.status();
    let edited = with(created(1), |o| o.generation = 2);
    assert_eq!(kstatus(&edited, &status), Kstatus::InProgress);
}

#[test]
fn what_is_not_ready_says_why() {
    use ConditionType::{ProviderReady, Provisioned, Ready};
    let no_config = Case {
        config: Err(no_config()),
        ..Case::new(bare(), Current::Unasked)
    };
    let status = no_config.status();
    check(&status, Ready, "False", Reason::ProviderConfigNotFound);
    check(
        &status,
        ProviderReady,
        "False",
        Reason::ProviderConfigNotFound,
    );
    check(&status, Provisioned, "False", Reason::CreatePending);
    let pending = |change: fn(&mut Config), reason| {
        let mut case = Case::new(bare(), Current::Unasked);
        case.config.as_mut().map(change).unwrap();
        check(&case.status(), Ready, "False", reason);
    };
    pending(|c| c.protected = false, Reason::ProviderConfigPending);
    pending(|c| c.terminating = true, Reason::ProviderConfigDeleting);
    let foreign = with(created(1), |o| {
        o.intent = IntentState::OtherCluster(ClusterId::new("c-2"));
    });
    let status = Case::new(foreign, Current::Unasked).status();
    check(&status, Provisioned, "Unknown", Reason::ClusterIdChanged);
    assert!(is_true(&status.conditions, ConditionType::Stalled));
    let absent = Current::Absent(Sureness::LookAgainAt(NOW + secs(9)));
    let lost = Case::new(created(1), absent).status();
    check(&lost, Provisioned, "False", Reason::Lost);
    assert_eq!(lost.phase, Some(Phase::Lost));
}

#[test]
fn a_refused_create_says_what_to_correct_and_waits_for_a_person() {
    let object = intended(1);
    let mut error = failure(ErrorKind::Invalid, Operation::Create);
    error.code = Some("InvalidImage".to_owned());
    let mut case = Case::new(object.clone(), Current::Unasked);
    case.memory = wrote_first(&object);
    let plan = Plan {
        action: Action::Create,
        reason: Reason::CreatePending,
    };
    case.memory.sending_create(NOW, KEY_LIFE);
    case.memory.create_answered(Err(ErrorKind::Invalid), 1);
    case.memory.failed(&error, NOW);
    let none = VirtualMachineStatus::default();
    let first = report(
        &policy(),
        &case.seen(),
        &none,
        &plan,
        &Outcome::Failed(error),
    );
    assert_eq!(first.requeue, Requeue::Steady(policy().longest_backoff));
    let status = first.status.unwrap();
    check(
        &status,
        ConditionType::Provisioned,
        "False",
        Reason::InvalidImage,
    );
    assert_eq!(kstatus(&object, &status), Kstatus::Failed);
    let next = case.pass(&status, &Outcome::Nothing);
    assert_eq!(next.status, Some(status), "nothing is written again");
    assert_eq!(next.requeue, Requeue::Steady(policy().longest_backoff));
}

#[test]
fn one_failed_look_writes_nothing_and_three_in_a_row_are_an_outage() {
    let mut case = Case::new(created(1), Current::Present(running(1)));
    let calm = case.status();
    let error = failure(ErrorKind::Unavailable, Operation::Get);
    case.sighting = sees(Current::Unknown(error.clone()));
    for times in 1..=3 {
        case.memory.failed(&error, NOW);
        let shown = case.pass(&calm, &Outcome::Nothing).status;
        if times < 3 {
            assert!(shown.is_none_or(|s| s == calm), "after {times}");
        } else {
            let shown = shown.unwrap();
            check(
                &shown,
                ConditionType::ProviderReady,
                "False",
                Reason::ProviderUnreachable,
            );
            check(
                &shown,
                ConditionType::Ready,
                "False",
                Reason::ProviderUnreachable,
            );
            check(&shown, ConditionType::Provisioned, "True", Reason::Created);
            assert_eq!(
                shown.phase,
                Some(Phase::Running),
                "what it last showed stays"
            );
        }
    }
}

#[test]
fn throttling_is_told_after_half_a_minute_of_it() {
    for (ago, told) in [(0, false), (29, false), (30, true)] {
        let mut case = Case::new(created(1), Current::Present(running(1)));
        let calm = case.status();
        let error = failure(ErrorKind::RateLimited, Operation::Get);
        case.memory.failed(&error, NOW - secs(ago));
        case.sighting = sees(Current::Unknown(error));
        let shown = case.pass(&calm, &Outcome::Nothing).status.unwrap_or(calm);
        let limited = !is_true(&shown.conditions, ConditionType::ProviderReady);
        assert_eq!(limited, told, "after {ago} s");
    }
}

#[test]
fn a_look_that_is_refused_is_not_taken_for_not_seen_yet() {
    for (kind, reason) in [
        (ErrorKind::Forbidden, Reason::Forbidden),
        (ErrorKind::Malformed, Reason::MalformedAnswer),
        (ErrorKind::Unauthorized, Reason::CredentialsRejected),
    ] {
        let error = failure(kind, Operation::Get);
        let mut case = Case::new(created(1), Current::Unknown(error.clone()));
        case.memory.failed(&error, NOW);
        let shown = shows(&case.status(), ConditionType::Ready).unwrap();
        assert_eq!(shown.1, reason.to_string(), "{kind:?}");
        assert_ne!(shown.0, "True", "{kind:?}");
    }
}

#[test]
fn doubles_are_named_while_they_are_there_and_looked_for_again() {
    let mut case = Case::new(created(1), Current::Present(running(1)));
    case.sighting.others = vec![instance(2, InstancePhase::Running)];
    let status = case.status();
    check(
        &status,
        ConditionType::Provisioned,
        "True",
        Reason::Duplicate,
    );
    case.memory.found(&case.sighting.others);
    let config = Ok(config());
    let next = due(&policy(), &case.object, &case.memory, &config, NOW, false);
    assert!(
        matches!(next, Due::Look(_, Find::Always)),
        "else the condition flaps"
    );
    case.memory.found(&[]);
    let next = due(&policy(), &case.object, &case.memory, &config, NOW, false);
    assert!(matches!(next, Due::Look(_, Find::IfNotGot)));
}

#[test]
fn the_id_goes_in_with_its_incarnation_and_never_of_an_older_one() {
    let pass = |object: Object, made: u32| {
        let mut case = Case::new(object.clone(), Current::Unasked);
        case.memory = wrote_first(&object);
        let made = Outcome::Made(Box::new(running(made)));
        case.pass(&VirtualMachineStatus::default(), &made)
            .status
            .unwrap()
    };
    let status = pass(intended(1), 1);
    assert_eq!(
        (status.id.as_deref(), status.incarnation),
        (Some("i-1"), Some(1))
    );
    let status = pass(intended(2), 1);
    assert_eq!((status.id.as_deref(), status.incarnation), (None, None));
}

#[test]
fn attempts_are_counted_and_the_operation_goes_when_the_instance_is_known() {
    let object = intended(1);
    let case = Case::new(object, Current::Absent(Sureness::Confirmed));
    let mut status = VirtualMachineStatus::default();
    for attempts in 1..=3 {
        let next = case.pass(&status, &Outcome::Nothing).status.unwrap();
        assert_ne!(
            next, status,
            "an attempt that writes nothing licenses nothing"
        );
        assert_eq!(next.operation.as_ref().map(|o| o.attempts), Some(attempts));
        status = next;
    }
    let found = Case::new(intended(1), Current::Present(running(1)));
    let status = found.pass(&status, &Outcome::Nothing).status.unwrap();
    assert_eq!(status.operation, None, "absent at rest");
}
