//! What the status says of owned objects.

use super::*;

#[test]
fn what_is_in_the_way_is_named_and_the_rest_goes_on() {
    let mut case = Case::new();
    let obstacle = |until| {
        let (reason, message) = conflict(ChildKind::Service, "web-1");
        Obstacle {
            reason,
            message,
            generation: 1,
            until,
        }
    };
    let later = NOW + std::time::Duration::from_secs(1);
    case.memory
        .children_mut()
        .met(ChildKind::Service, obstacle(later));
    assert_eq!(
        case.settle(),
        creates(&ALL[..1]),
        "and no endpoints for a stranger's Service"
    );
    let (ready, message) = case.ready();
    assert_eq!(ready, "False/OwnedObjectConflict");
    assert!(
        message.contains("Service web-1 ") && message.contains("spec.service.enabled"),
        "{message}"
    );
    let told = case.told(&VirtualMachineStatus::default()).unwrap();
    assert_eq!(told.phase, Some(crate::api::Phase::Running));
    assert!(
        told.conditions.iter().any(|one| one.type_ == "Stalled"),
        "a person is waited for"
    );
    // Tried again after a while, and at once for a new spec.
    let mut expired = Case::new();
    expired
        .memory
        .children_mut()
        .met(ChildKind::Service, obstacle(NOW));
    assert_eq!(expired.settle(), creates(&ALL));
    case.object.generation = 2;
    assert_eq!(case.settle(), creates(&ALL[1..]));
}

#[test]
fn nothing_is_done_and_ready_stays_as_it_was_before_it_is_known_what_is_there() {
    let unknown = Case::with(|case| case.children = None);
    let soon = NOW + unknown.policy.children_again;
    assert_eq!(unknown.plan().action, Action::Hold(Some(soon)));
    assert_eq!(unknown.ready().0, "False/Pending", "not Ready before");
    let mut complete = Case::new();
    complete.settle();
    let ready = complete.told(&VirtualMachineStatus::default()).unwrap();
    assert_eq!(unknown.told(&ready), Some(ready), "Ready after a restart");
}

#[test]
fn a_pass_that_writes_an_object_tells_nothing_and_is_followed_at_once() {
    let case = Case::new();
    let none = VirtualMachineStatus::default();
    for outcome in [Outcome::Written, Outcome::Outdated] {
        let told = case.look(case.present(), |seen| {
            report(&case.policy, seen, &none, &case.plan(), &outcome)
        });
        assert_eq!(
            (told.status, told.requeue),
            (None, Requeue::Now),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_vm_that_does_not_run_is_not_ready_for_that_reason_and_no_other() {
    let case = Case::with(|case| case.instance = instance(1, InstancePhase::Stopped));
    assert_eq!(case.ready().0, "False/Stopped");
}
