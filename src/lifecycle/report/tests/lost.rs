//! What is shown of an instance that is lost, and of its successor.

use super::*;

/// The status of a running VM, and the VM's object after it was lost and its intent raised.
fn lost() -> (VirtualMachineStatus, Object) {
    let mut instance = running(1);
    instance.addresses = vec![domain::Address {
        kind: domain::AddressType::InternalIp,
        address: "198.18.0.7".to_owned(),
    }];
    let status = Case::new(created(1), Current::Present(instance)).status();
    assert!(status.id.is_some() && status.instance.is_some() && !status.addresses.is_empty());
    (
        status,
        with(intended(2), |o| o.recorded = created(1).recorded),
    )
}

#[test]
fn a_lost_instance_is_not_shown_once_its_successor_cannot_be_made() {
    for kind in [
        ErrorKind::Invalid,
        ErrorKind::QuotaExceeded,
        ErrorKind::HeldBack,
        ErrorKind::TimedOut,
    ] {
        let (old, object) = lost();
        let mut case = Case::new(object, Current::Unasked);
        case.memory = wrote_first(&case.object);
        let failed = Outcome::Failed(failure(kind, Operation::Create));
        let new = case.pass(&old, &failed).status.unwrap();
        assert_eq!(
            (new.id, new.instance, new.addresses),
            (None, None, Vec::new())
        );
        assert_eq!(new.incarnation, Some(1), "a later one is never lower");
    }
}

#[test]
fn the_successor_of_a_lost_instance_is_shown_in_one_write() {
    let (old, object) = lost();
    let mut case = Case::new(object, Current::Unasked);
    case.memory = wrote_first(&case.object);
    let made = Outcome::Made(Box::new(running(2)));
    let new = case.pass(&old, &made).status.unwrap();
    assert_eq!((new.id.as_deref(), new.incarnation), (Some("i-2"), Some(2)));
    assert!(new.addresses.is_empty(), "those of the lost one are gone");
}

#[test]
fn an_instance_that_may_exist_stays_shown() {
    let (old, _) = lost();
    for current in [
        Current::Absent(Sureness::LookAgainAt(NOW + secs(9))),
        Current::Unproven(running(1)),
        Current::Unknown(failure(ErrorKind::Unauthorized, Operation::Get)),
    ] {
        let case = Case::new(created(1), current);
        let new = case.pass(&old, &Outcome::Nothing).status;
        assert!(new.is_none_or(|new| new.id == old.id && new.addresses == old.addresses));
    }
}
