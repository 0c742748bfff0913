//! The objects that a VirtualMachine owns: what each should be, and the next step towards it.
//!
//! What is there is known by its metadata alone: a mark (the fingerprint of what we wrote last) and whether every
//! field that we wrote is still ours. So an edit by hand is seen without reading what an object holds, also after a
//! restart, and nothing is read or written at rest.

mod addresses;
mod content;
mod memory;

pub use content::{Content, protocol_word};
pub use memory::{ChildMemory, Obstacle};

use super::observed::Observed;
use super::plan::{Action, Plan};
use super::policy::Policy;
use crate::api::virtual_machine::ServiceSpec;
use crate::domain::{Instance, InstancePhase, Moment, Reason, Uid};
use addresses::{Family, first, first_of};

/// What can be owned, in the order in which it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChildKind {
    /// The Secret that tells other workloads how to reach the VM.
    Connection,
    /// The headless Service.
    Service,
    /// The EndpointSlice of IPv4 addresses.
    Ipv4,
    /// The EndpointSlice of IPv6 addresses.
    Ipv6,
}

/// What the spec says of owned objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// Whether there is a connection Secret.
    pub connection: bool,
    /// Service and EndpointSlices.
    pub service: ServiceSpec,
}

/// One owned object as its metadata show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// Its uid and version: what a write to it is guarded by.
    pub held: Held,
    /// The fingerprint of what we wrote last.
    pub mark: String,
    /// Whether all that we wrote is as we wrote it.
    pub intact: bool,
    /// How many ports of a Service are as we wrote them; 0 for other kinds.
    pub ports: usize,
    /// Whether it is being deleted.
    pub going: bool,
}

/// Uid and version of an owned object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: String,
}

/// The owned objects of one VirtualMachine that are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Children([Option<Present>; ChildKind::ALL.len()]);

/// A write of an owned object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildWrite {
    /// Which one.
    pub kind: ChildKind,
    /// What it is to hold.
    pub content: Content,
    /// The version to write over; `None` makes it, and fails where anything of that name exists.
    pub over: Option<Held>,
}

/// How one owned object is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Want {
    /// There, like this.
    Made(Content),
    /// Like this where it is there: what it should hold is not known in full yet.
    Kept(Content),
    /// Not there.
    Gone,
    /// As it is.
    AsItIs,
}

/// What is to be done about one owned object.
enum Step {
    Nothing,
    Later(Moment),
    Do(Action),
}

/// Why owned objects keep a VM from being Ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lacking {
    /// One or more are not written yet, or it is not known yet which are there.
    Unwritten,
    /// One cannot be written.
    Blocked(Reason, String),
}

impl ChildKind {
    /// Every kind, in the order in which they are made. The Service goes before what points to it.
    pub const ALL: [Self; 4] = [Self::Connection, Self::Service, Self::Ipv4, Self::Ipv6];

    /// Its name for a VirtualMachine of this name.
    #[must_use]
    pub fn name(self, vm: &str) -> String {
        match self {
            Self::Connection => format!("{vm}-connection"),
            Self::Service => vm.to_owned(),
            Self::Ipv4 => format!("{vm}-ipv4"),
            Self::Ipv6 => format!("{vm}-ipv6"),
        }
    }

    /// The kind in Kubernetes' word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Connection => "Secret",
            Self::Service => "Service",
            Self::Ipv4 | Self::Ipv6 => "EndpointSlice",
        }
    }

    /// What in the spec switches it off.
    fn switch(self) -> &'static str {
        match self {
            Self::Connection => "spec.connectionSecret.enabled",
            Self::Service | Self::Ipv4 | Self::Ipv6 => "spec.service.enabled",
        }
    }

    fn place(self) -> usize {
        match self {
            Self::Connection => 0,
            Self::Service => 1,
            Self::Ipv4 => 2,
            Self::Ipv6 => 3,
        }
    }
}

impl Children {
    /// The one of this kind.
    #[must_use]
    pub fn get(&self, kind: ChildKind) -> Option<&Present> {
        self.0[kind.place()].as_ref()
    }

    /// Puts one in, or takes it out.
    pub fn set(&mut self, kind: ChildKind, present: Option<Present>) {
        self.0[kind.place()] = present;
    }
}

impl Present {
    fn holds(&self, content: &Content) -> bool {
        self.intact && self.mark == content.mark() && self.ports == content.service_ports()
    }
}

/// The next write of an owned object, or when to look again for one. `instance` is the current one, where it is seen;
/// where it is known to be absent its endpoints go, and what else leads to it once it is given up.
pub(super) fn next(
    policy: &Policy,
    seen: &Observed<'_>,
    instance: Option<&Instance>,
) -> Option<Plan> {
    let wishes = seen.object.owned.as_ref()?;
    let Some(children) = seen.children else {
        let soon = seen.now + policy.children_again;
        return Some(Plan::wait(soon, Reason::Created));
    };
    let mut later: Option<Moment> = None;
    for kind in ChildKind::ALL {
        match step(
            policy,
            seen,
            children,
            want(policy, seen, wishes, children, kind, instance),
            kind,
        ) {
            Step::Nothing => {}
            Step::Later(at) => later = Some(later.map_or(at, |other| other.min(at))),
            Step::Do(action) => return Some(Plan::new(action, Reason::Created)),
        }
    }
    later.map(|at| Plan::wait(at, Reason::Created))
}

/// What keeps a running VM from being Ready; `None` where every owned object is as it should be.
pub(super) fn lacking(
    policy: &Policy,
    seen: &Observed<'_>,
    instance: &Instance,
) -> Option<Lacking> {
    let wishes = seen.object.owned.as_ref()?;
    let Some(children) = seen.children else {
        return Some(Lacking::Unwritten);
    };
    let mut unwritten = false;
    for kind in ChildKind::ALL {
        if let Some(obstacle) = obstacle(seen, kind) {
            return Some(Lacking::Blocked(obstacle.reason, obstacle.message.clone()));
        }
        let want = want(policy, seen, wishes, children, kind, Some(instance));
        unwritten |= match (want, children.get(kind)) {
            (Want::Made(_), None) => true,
            (Want::Made(content) | Want::Kept(content), Some(there)) => !there.holds(&content),
            (Want::Gone, there) => there.is_some_and(|there| !there.going),
            (Want::Kept(_), None) | (Want::AsItIs, _) => false,
        };
    }
    unwritten.then_some(Lacking::Unwritten)
}

/// What a name that belongs to somebody else comes to.
#[must_use]
pub fn conflict(kind: ChildKind, vm: &str) -> (Reason, String) {
    let message = format!(
        "{} {} exists and belongs to somebody else: rename or delete it, or set {}: false; the VM itself goes on",
        kind.word(),
        kind.name(vm),
        kind.switch()
    );
    (Reason::OwnedObjectConflict, message)
}

/// What a refusal by the API server comes to.
#[must_use]
pub fn refusal(kind: ChildKind, vm: &str, why: &str) -> (Reason, String) {
    let why: String = why.chars().take(300).collect();
    let (word, name) = (kind.word(), kind.name(vm));
    let message = format!("the API server refuses {word} {name}: {why}");
    (Reason::OwnedObjectRefused, message)
}

fn want(
    policy: &Policy,
    seen: &Observed<'_>,
    wishes: &Wishes,
    children: &Children,
    kind: ChildKind,
    instance: Option<&Instance>,
) -> Want {
    match kind {
        ChildKind::Connection if !wishes.connection => Want::Gone,
        ChildKind::Connection => connection(policy, seen, wishes, instance),
        ChildKind::Service | ChildKind::Ipv4 | ChildKind::Ipv6 if !wishes.service.enabled => {
            Want::Gone
        }
        ChildKind::Service if instance.is_none() => Want::AsItIs,
        ChildKind::Service => Want::Made(Content::Service {
            ports: wishes.service.ports.clone(),
        }),
        ChildKind::Ipv4 => slice(policy, seen, wishes, children, Family::V4, instance),
        ChildKind::Ipv6 => slice(policy, seen, wishes, children, Family::V6, instance),
    }
}

/// Made when it can be complete, so that whoever waits for it finds all of it.
fn connection(
    policy: &Policy,
    seen: &Observed<'_>,
    wishes: &Wishes,
    instance: Option<&Instance>,
) -> Want {
    let Some(instance) = instance else {
        // Whoever starts meanwhile must not be sent to an address that may be somebody else's by now.
        return if seen.object.lost_its_own() {
            Want::Gone
        } else {
            Want::AsItIs
        };
    };
    let address = first(&policy.instance_addresses, &instance.addresses);
    let complete = address.is_some() || instance.phase == InstancePhase::Running;
    let content = Content::Connection {
        id: instance.id.clone(),
        provider: seen.object.provider_ref.clone(),
        address,
        port: wishes.service.ports.first().map_or(22, |port| port.port),
    };
    if complete {
        Want::Made(content)
    } else {
        Want::Kept(content)
    }
}

/// Endpoints belong to the Service of that name, so never to one that is somebody else's.
fn slice(
    policy: &Policy,
    seen: &Observed<'_>,
    wishes: &Wishes,
    children: &Children,
    family: Family,
    instance: Option<&Instance>,
) -> Want {
    let service = children.get(ChildKind::Service).is_some();
    if !service && instance.is_some() && obstacle(seen, ChildKind::Service).is_none() {
        // It is made first.
        return Want::AsItIs;
    }
    let address = instance
        .filter(|_| service)
        .and_then(|instance| first_of(&policy.instance_addresses, &instance.addresses, family));
    let (Some(address), Some(instance)) = (address, instance) else {
        return Want::Gone;
    };
    Want::Made(Content::Endpoints {
        service: seen.object.key.name.to_string(),
        ports: wishes.service.ports.clone(),
        address,
        ready: instance.phase == InstancePhase::Running,
    })
}

fn obstacle<'a>(seen: &'a Observed<'_>, kind: ChildKind) -> Option<&'a Obstacle> {
    let memory = seen.memory.children();
    memory.obstacle(kind, seen.object.generation, seen.now)
}

fn step(
    policy: &Policy,
    seen: &Observed<'_>,
    children: &Children,
    want: Want,
    kind: ChildKind,
) -> Step {
    if obstacle(seen, kind).is_some() {
        return Step::Nothing;
    }
    let action = match (want, children.get(kind)) {
        // What goes is waited for: its end wakes us.
        (_, Some(there)) if there.going => return Step::Nothing,
        (Want::Gone, None) | (Want::Kept(_), None) | (Want::AsItIs, _) => return Step::Nothing,
        (Want::Gone, Some(there)) => Action::DeleteChild(kind, there.held.clone()),
        (Want::Made(content) | Want::Kept(content), Some(there)) => {
            if there.holds(&content) {
                return Step::Nothing;
            }
            apply(kind, content, Some(there.held.clone()))
        }
        (Want::Made(content), None) => apply(kind, content, None),
    };
    // Somebody who undoes what we write in a loop gets it back at most once a second.
    let next = seen
        .memory
        .children()
        .written_at(kind)
        .map(|at| at + policy.children_again);
    match next {
        Some(next) if seen.now < next => Step::Later(next),
        Some(_) | None => Step::Do(action),
    }
}

fn apply(kind: ChildKind, content: Content, over: Option<Held>) -> Action {
    Action::ApplyChild(Box::new(ChildWrite {
        kind,
        content,
        over,
    }))
}

#[cfg(test)]
mod tests;
