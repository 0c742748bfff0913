//! Laws of the report, in every world and over any pair of passes.

use proptest::prelude::*;

use super::{
    Action, Case, ConditionType, Observed, Outcome, Plan, VirtualMachineStatus, failure, is_true,
    policy, report, running,
};
use crate::api::condition::{MAX_CONDITIONS, MAX_MESSAGE, find};
use crate::domain::{ErrorKind, InstancePhase, Operation};
use crate::lifecycle::fixtures::{created, deleting, instance, worlds};
use crate::lifecycle::sighting::Current;

/// Every outcome that an effect can have.
fn outcomes(plan: &Plan) -> Vec<Outcome> {
    let call = |operation| {
        [
            ErrorKind::TimedOut,
            ErrorKind::Invalid,
            ErrorKind::QuotaExceeded,
        ]
        .map(|kind| Outcome::Failed(failure(kind, operation)))
        .to_vec()
    };
    match &plan.action {
        Action::Hold(_) | Action::NoteAttempt | Action::Forget => vec![Outcome::Nothing],
        Action::Intend { .. }
        | Action::RemoveFinalizer { .. }
        | Action::ApplyChild(_)
        | Action::DeleteChild(..) => {
            vec![Outcome::Written, Outcome::Outdated, Outcome::Unwritten]
        }
        Action::Create | Action::Settle => {
            let mut all = call(Operation::Create);
            all.push(Outcome::Made(Box::new(running(2))));
            all
        }
        Action::Delete(_) => {
            let mut all = call(Operation::Delete);
            all.push(Outcome::DeleteAccepted);
            all
        }
    }
}

fn is_valid_for_the_schema(status: &VirtualMachineStatus) {
    assert!(status.conditions.len() <= MAX_CONDITIONS);
    for one in &status.conditions {
        let camel = one.reason.starts_with(|c: char| c.is_ascii_uppercase())
            && one.reason.chars().all(|c| c.is_ascii_alphanumeric());
        assert!(camel && one.reason.len() <= 256, "reason {:?}", one.reason);
        assert!(one.message.chars().count() <= MAX_MESSAGE, "{one:?}");
        assert!(!one.message.is_empty(), "{one:?}");
        assert!(["True", "False", "Unknown"].contains(&one.status.as_str()));
    }
    for kind in [
        ConditionType::Ready,
        ConditionType::Provisioned,
        ConditionType::Synced,
        ConditionType::ProviderReady,
    ] {
        assert!(find(&status.conditions, kind).is_some(), "no {kind:?}");
    }
    assert!(status.id.is_none() || status.incarnation.is_some());
}

fn is_ready_exactly_where_all_is_well(seen: &Observed<'_>, status: &VirtualMachineStatus) {
    let instance = seen.sighting.present();
    let runs = instance.is_some_and(|i| i.phase == InstancePhase::Running);
    let as_written = instance
        .zip(seen.object.spec.as_ref())
        .is_some_and(|(i, s)| i.image == s.image && i.cpu == s.cpu);
    let well = seen.config.is_ok() && runs && as_written && !seen.object.deleting;
    let ready = is_true(&status.conditions, ConditionType::Ready);
    assert_eq!(ready, well, "{status:#?}");
}

fn work_and_waiting_exclude_each_other(status: &VirtualMachineStatus) {
    let holds = |kind| is_true(&status.conditions, kind);
    let [ready, working, stalled] = [
        ConditionType::Ready,
        ConditionType::Reconciling,
        ConditionType::Stalled,
    ]
    .map(holds);
    assert!(!(working && stalled), "{status:#?}");
    assert!(!(ready && (working || stalled)), "{status:#?}");
    if !ready && !working && !stalled {
        assert!(holds(ConditionType::Paused), "nobody says why: {status:#?}");
    }
}

#[test]
fn in_every_world_the_report_is_valid_and_told_once() {
    let policy = policy();
    let none = VirtualMachineStatus::default();
    let mut written = 0;
    let mut number = 0_usize;
    let count = worlds::each(|seen| {
        number += 1;
        // Every world is decided in the laws of `decide`; a report is dearer, so that every 11th has to do.
        if !number.is_multiple_of(11) {
            return;
        }
        let plan = crate::lifecycle::decide(&policy, seen);
        for outcome in outcomes(&plan) {
            let first = report(&policy, seen, &none, &plan, &outcome);
            let Some(status) = first.status else { continue };
            written += 1;
            is_valid_for_the_schema(&status);
            work_and_waiting_exclude_each_other(&status);
            if outcome == Outcome::Nothing {
                is_ready_exactly_where_all_is_well(seen, &status);
            }
            if plan.action != Action::NoteAttempt {
                let later = Observed {
                    wall: seen.wall + std::time::Duration::from_secs(3_600),
                    ..*seen
                };
                let slow = is_true(&status.conditions, ConditionType::Ready);
                let again = report(
                    &policy,
                    if slow { &later } else { seen },
                    &status,
                    &plan,
                    &outcome,
                );
                assert!(
                    again.status.is_none_or(|told| told == status),
                    "told twice\n{plan:?} {outcome:?}\n{seen:#?}"
                );
            }
        }
    });
    assert!(count > 100_000 && written > 10_000, "{count} {written}");
}

fn phases() -> impl Strategy<Value = Current> {
    let phase = prop_oneof![
        Just(InstancePhase::Provisioning),
        Just(InstancePhase::Running),
        Just(InstancePhase::Stopped),
        Just(InstancePhase::Failed),
        "[A-Z][a-z]{0,20}".prop_map(InstancePhase::Other),
    ];
    let kind = proptest::sample::select(ErrorKind::ALL.to_vec());
    prop_oneof![
        (phase, proptest::option::of("\\PC{0,4000}")).prop_map(|(phase, message)| {
            let mut one = instance(1, phase);
            one.message = message;
            Current::Present(one)
        }),
        kind.prop_map(|kind| Current::Unknown(failure(kind, Operation::Get))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn times_change_with_status_alone(
        steps in proptest::collection::vec((phases(), 0_i64..5_000, any::<bool>()), 2..8),
    ) {
        let mut old = VirtualMachineStatus::default();
        let mut wall = crate::lifecycle::fixtures::wall();
        for (current, secs, leaves) in steps {
            wall += jiff::SignedDuration::from_secs(secs);
            let object = if leaves { deleting(created(1)) } else { created(1) };
            let case = Case::new(object, current);
            let seen = Observed { wall, ..case.seen() };
            let plan = crate::lifecycle::decide(&policy(), &seen);
            let outcome = outcomes(&plan).pop().unwrap();
            let Some(new) = report(&policy(), &seen, &old, &plan, &outcome).status else { continue };
            is_valid_for_the_schema(&new);
            for one in &new.conditions {
                let before = old.conditions.iter().find(|c| c.type_ == one.type_);
                match before {
                    Some(before) if before.status == one.status => {
                        prop_assert_eq!(&before.last_transition_time, &one.last_transition_time);
                    }
                    _ => prop_assert_eq!(one.last_transition_time.0.as_second(), wall.as_second()),
                }
            }
            old = new;
        }
    }
}
