mod holds;
mod tells;

use super::*;
use crate::api::virtual_machine::{Protocol, ServicePort, VirtualMachineStatus};
use crate::domain::{Address, AddressType, ErrorKind, Network, Operation};
use crate::lifecycle::fixtures::{
    NOW, answered, config, created, deleting, failure, instance, intended, met, no_config, policy,
    running, sees, wall, with, wrote_first,
};
use crate::lifecycle::memory::{Memory, Sureness};
use crate::lifecycle::object::Object;
use crate::lifecycle::observed::{Config, ConfigProblem};
use crate::lifecycle::sighting::Current;
use crate::lifecycle::{Outcome, Requeue, decide, report};

/// One VM that wants everything, with an address of each family, seen by a process that knows nothing else.
struct Case {
    object: Object,
    instance: Instance,
    children: Option<Children>,
    memory: Memory,
    policy: Policy,
}

impl Case {
    fn new() -> Self {
        let mut object = created(1);
        object.owned = Some(Wishes {
            connection: true,
            service: ServiceSpec::default(),
        });
        let mut instance = running(1);
        instance.addresses = ips(&["198.18.0.7", "2001:db8::7"]);
        Self {
            memory: met(&object),
            object,
            instance,
            children: Some(Children::default()),
            policy: policy(),
        }
    }

    fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut case = Self::new();
        change(&mut case);
        case
    }

    fn look<R>(&self, current: Current, judge: impl FnOnce(&Observed<'_>) -> R) -> R {
        self.look_with(&Ok(config()), current, judge)
    }

    fn look_with<R>(
        &self,
        config: &Result<Config, ConfigProblem>,
        current: Current,
        judge: impl FnOnce(&Observed<'_>) -> R,
    ) -> R {
        judge(&Observed {
            object: &self.object,
            config,
            sighting: &sees(current),
            memory: &self.memory,
            children: self.children.as_ref(),
            now: NOW,
            wall: wall(),
        })
    }

    fn present(&self) -> Current {
        Current::Present(self.instance.clone())
    }

    fn plan(&self) -> Plan {
        self.look(self.present(), |seen| decide(&self.policy, seen))
    }

    /// Carries out what is decided, as the API server would, until nothing is left to do.
    fn settle(&mut self) -> Vec<String> {
        let mut done = Vec::new();
        for version in 0..20 {
            match self.plan().action {
                Action::ApplyChild(write) => {
                    let verb = if write.over.is_some() {
                        "patch"
                    } else {
                        "create"
                    };
                    done.push(format!("{verb} {}", write.kind.name("web-1")));
                    let there = present_as(&write.content, version);
                    self.children.as_mut().unwrap().set(write.kind, Some(there));
                }
                Action::DeleteChild(kind, _) => {
                    done.push(format!("delete {}", kind.name("web-1")));
                    self.children.as_mut().unwrap().set(kind, None);
                }
                Action::Hold(None) => return done,
                other => panic!("{other:?} after {done:?}"),
            }
        }
        panic!("no end: {done:?}");
    }

    fn ready(&self) -> (String, String) {
        let none = VirtualMachineStatus::default();
        self.ready_after(&none)
    }

    fn ready_after(&self, old: &VirtualMachineStatus) -> (String, String) {
        let told = self.told(old).unwrap();
        let one = told
            .conditions
            .iter()
            .find(|one| one.type_ == "Ready")
            .unwrap();
        (
            format!("{}/{}", one.status, one.reason),
            one.message.clone(),
        )
    }

    fn told(&self, old: &VirtualMachineStatus) -> Option<VirtualMachineStatus> {
        self.look(self.present(), |seen| {
            let plan = Plan::hold(Reason::Created);
            report(&self.policy, seen, old, &plan, &Outcome::Nothing).status
        })
    }
}

fn ips(list: &[&str]) -> Vec<Address> {
    list.iter()
        .map(|address| Address {
            kind: AddressType::InternalIp,
            address: (*address).to_owned(),
        })
        .collect()
}

fn present_as(content: &Content, version: u32) -> Present {
    Present {
        held: Held {
            uid: Uid::new("c-1"),
            version: version.to_string(),
        },
        mark: content.mark(),
        intact: true,
        ports: content.service_ports(),
        going: false,
    }
}

const ALL: [&str; 4] = ["web-1-connection", "web-1", "web-1-ipv4", "web-1-ipv6"];

fn creates(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("create {name}")).collect()
}

#[test]
fn a_running_vm_gets_each_object_with_one_create_and_then_nothing() {
    let mut case = Case::new();
    assert_eq!(case.settle(), creates(&ALL));
    assert_eq!(case.settle(), [""; 0]);
    assert_eq!(case.ready().0, "True/Running");
}

#[test]
fn what_cannot_be_complete_yet_is_not_made() {
    let mut case = Case::with(|case| {
        case.instance.phase = InstancePhase::Provisioning;
        case.instance.addresses.clear();
    });
    assert_eq!(
        case.settle(),
        ["create web-1"],
        "the Service needs nothing of the instance"
    );
    case.instance = Case::new().instance;
    assert_eq!(case.settle(), creates(&[ALL[0], ALL[2], ALL[3]]));
}

#[test]
fn the_spec_switches_each_off_and_what_is_there_goes() {
    type Off = fn(&mut Wishes);
    let cases: [(Off, &[&str]); 3] = [
        (|w| w.connection = false, &ALL[..1]),
        (|w| w.service.enabled = false, &ALL[1..]),
        (|w| (w.connection, w.service.enabled) = (false, false), &ALL),
    ];
    for (off, gone) in cases {
        let mut case = Case::new();
        case.settle();
        off(case.object.owned.as_mut().unwrap());
        let mut deleted: Vec<_> = gone.iter().map(|name| format!("delete {name}")).collect();
        let mut done = case.settle();
        done.sort();
        deleted.sort();
        assert_eq!(done, deleted);
        assert_eq!(case.ready().0, "True/Running");
        let mut case = Case::with(|case| off(case.object.owned.as_mut().unwrap()));
        assert_eq!(case.settle().len(), ALL.len() - gone.len(), "never made");
    }
}

#[test]
fn each_difference_is_written_once_over_the_version_that_was_seen() {
    type Edit = fn(&mut Case);
    let port = |name: &str, port| ServicePort {
        name: name.to_owned(),
        port,
        protocol: Protocol::Udp,
    };
    let ports = vec![port("dns", 53)];
    let cases: [(&str, Edit, &[usize]); 6] = [
        (
            "another id",
            |c| c.instance.id = crate::domain::InstanceId::new("i-1b"),
            &[0],
        ),
        (
            "stopped",
            |c| c.instance.phase = InstancePhase::Stopped,
            &[2, 3],
        ),
        (
            "moved",
            |c| c.instance.addresses = ips(&["198.18.0.8", "2001:db8::7"]),
            &[0, 2],
        ),
        (
            "edited",
            |c| edit(c, ChildKind::Connection, |p| p.intact = false),
            &[0],
        ),
        (
            "a port of it edited",
            |c| edit(c, ChildKind::Service, |p| p.ports = 0),
            &[1],
        ),
        (
            "mark edited",
            |c| edit(c, ChildKind::Ipv6, |p| p.mark = "x".to_owned()),
            &[3],
        ),
    ];
    for (what, change, written) in cases {
        let mut case = Case::new();
        case.settle();
        change(&mut case);
        let expected: Vec<_> = written
            .iter()
            .map(|at| format!("patch {}", ALL[*at]))
            .collect();
        assert_eq!(case.settle(), expected, "{what}");
    }
    let mut case = Case::new();
    case.settle();
    case.object.owned.as_mut().unwrap().service.ports = ports;
    let Action::ApplyChild(write) = case.plan().action else {
        panic!("no write");
    };
    assert_eq!(write.over.unwrap().version, "0", "the version seen");
    assert_eq!(case.settle(), ALL.map(|name| format!("patch {name}")));
}

fn edit(case: &mut Case, kind: ChildKind, change: impl FnOnce(&mut Present)) {
    let children = case.children.as_mut().unwrap();
    let mut present = children.get(kind).unwrap().clone();
    change(&mut present);
    children.set(kind, Some(present));
}

#[test]
fn what_is_undone_in_a_loop_is_written_once_a_second() {
    let mut case = Case::new();
    case.settle();
    case.memory.children_mut().written(ChildKind::Service, NOW);
    case.children
        .as_mut()
        .unwrap()
        .set(ChildKind::Service, None);
    let next = NOW + case.policy.children_again;
    assert_eq!(case.plan().action, Action::Hold(Some(next)));
    let mut case = Case::new();
    case.settle();
    edit(&mut case, ChildKind::Service, |present| {
        present.intact = false
    });
    case.memory.children_mut().written(ChildKind::Service, NOW);
    let next = NOW + case.policy.children_again;
    assert_eq!(case.plan().action, Action::Hold(Some(next)));
}

#[test]
fn what_is_being_deleted_is_waited_for() {
    let mut case = Case::new();
    case.settle();
    edit(&mut case, ChildKind::Connection, |present| {
        present.going = true
    });
    assert_eq!(case.settle(), [""; 0]);
}

#[test]
fn a_lost_vm_takes_no_connections_and_keeps_the_rest() {
    let mut case = Case::new();
    case.settle();
    let later = NOW + std::time::Duration::from_secs(9);
    let absent = Current::Absent(Sureness::LookAgainAt(later));
    let plan = |case: &Case| case.look(absent.clone(), |seen| decide(&case.policy, seen));
    for kind in [ChildKind::Ipv4, ChildKind::Ipv6] {
        assert!(matches!(plan(&case).action, Action::DeleteChild(one, _) if one == kind));
        case.children.as_mut().unwrap().set(kind, None);
    }
    assert_eq!(plan(&case), Plan::wait(later, Reason::Lost));
    case.children = None;
    assert_eq!(
        plan(&case),
        Plan::wait(later, Reason::Lost),
        "never instead of the looks"
    );
}

/// A VM that was lost, whose successor's create this process knows to be refused.
fn refused_after_loss() -> Case {
    let mut case = Case::new();
    case.settle();
    let mut object = with(intended(2), |o| o.owned = case.object.owned.clone());
    object.recorded = created(1).recorded;
    case.memory = answered(&object, Err(ErrorKind::Invalid));
    case.object = object;
    case
}

#[test]
fn nothing_leads_to_a_lost_vm_whose_successor_is_refused() {
    let mut case = refused_after_loss();
    let plan = |case: &Case| case.look(Current::Unasked, |seen| decide(&case.policy, seen));
    for kind in [ChildKind::Connection, ChildKind::Ipv4, ChildKind::Ipv6] {
        let action = plan(&case).action;
        assert!(
            matches!(action, Action::DeleteChild(one, _) if one == kind),
            "{action:?}"
        );
        case.children.as_mut().unwrap().set(kind, None);
    }
    assert_eq!(plan(&case), Plan::hold(Reason::InvalidRequest));
    // The id is shown no more, and another process does not know yet which objects there are.
    case.object.given_up = case.object.recorded.take().map(|r| r.incarnation);
    case.children = None;
    let later = NOW + policy().children_again;
    assert_eq!(plan(&case), Plan::wait(later, Reason::InvalidRequest));
}

#[test]
fn a_lost_vm_s_successor_is_made_once_nothing_leads_to_the_lost_one() {
    let mut case = refused_after_loss();
    case.memory = wrote_first(&case.object);
    let plan = |case: &Case| case.look(Current::Unasked, |seen| decide(&case.policy, seen));
    let first = plan(&case).action;
    assert!(
        matches!(first, Action::DeleteChild(ChildKind::Connection, _)),
        "{first:?}"
    );
    case.children = Some(Children::default());
    assert_eq!(plan(&case).action, Action::Create);
    case.children = None;
    assert_eq!(
        plan(&case).action,
        Action::Create,
        "no create waits for that"
    );
}

#[test]
fn nothing_is_touched_where_the_vm_is_not_seen_paused_or_going() {
    let untouched =
        |what: &str, case: &Case, current: Current, config: &Result<Config, ConfigProblem>| {
            let plan = case.look_with(config, current, |seen| decide(&case.policy, seen));
            let child = matches!(plan.action, Action::ApplyChild(_) | Action::DeleteChild(..));
            assert!(!child, "{what}: {plan:?}");
        };
    let case = Case::new();
    let usable = Ok(config());
    let unknown = Current::Unknown(failure(ErrorKind::TimedOut, Operation::Get));
    untouched("unseen", &case, unknown, &usable);
    untouched("no config", &case, case.present(), &Err(no_config()));
    let paused = Case::with(|case| case.object.paused = true);
    untouched("paused", &paused, paused.present(), &usable);
    let going = Case::with(|case| case.object = deleting(case.object.clone()));
    untouched("deleting", &going, going.present(), &usable);
    let unreadable = Case::with(|case| case.object.owned = None);
    untouched("unreadable", &unreadable, unreadable.present(), &usable);
}
