//! What to tell as events: what changed between the status before and the status that was written, and what a write of
//! finalizer or intent meant.
//!
//! Transitions alone, read off what is stored: a pass that writes nothing tells nothing, and neither does the first
//! look after a restart. On its way to Running an object tells twice, that its instance exists and that it runs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::object::Object;
use super::plan::{Action, Plan};
use crate::api::VirtualMachineStatus;
use crate::api::condition::{ConditionStatus, ConditionType, find};
use crate::domain::Reason;

/// Longest note in bytes; a longer one is cut. The API server refuses more.
pub const MAX_NOTE: usize = 1024;

/// Something that happened to an object, as people are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether it is as it should be.
    pub tone: Tone,
    /// Why: the word of the condition that changed, or one of the words that events have alone.
    pub reason: Reason,
    /// What was being done.
    pub deed: Deed,
    /// A sentence for people, at most [`MAX_NOTE`] bytes. No credentials, nothing of a provider's body.
    pub note: String,
}

/// The `type` of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tone {
    /// As it should be.
    Normal,
    /// Not as it should be.
    Warning,
}

/// The `action` of an event: what the operator was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Deed {
    /// Writing down what is to be made.
    Intend,
    /// Making the instance.
    Create,
    /// Looking at it.
    Observe,
    /// Deleting it.
    Delete,
    /// Taking the finalizer off the object.
    Release,
    /// Looking at a ProviderConfig and its provider.
    Check,
    /// Looking for instances without an object.
    Sweep,
}

impl Event {
    /// An event of the reason's own tone, with as much of the note as fits.
    #[must_use]
    pub fn new(reason: Reason, deed: Deed, note: &str) -> Self {
        Self {
            tone: tone(reason),
            reason,
            deed,
            note: cut(note),
        }
    }

    fn of(condition: &Condition, deed: Deed) -> Option<Self> {
        let reason = Reason::from_name(&condition.reason)?;
        Some(Self::new(reason, deed, &condition.message))
    }
}

impl Tone {
    /// The word in `type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl Deed {
    /// Every deed, with its meaning, for the reference page.
    pub const ALL: [(Self, &'static str); 7] = [
        (
            Self::Intend,
            "finalizer and intent are written to the object",
        ),
        (Self::Create, "the instance is made at the provider"),
        (Self::Observe, "the instance is looked at"),
        (Self::Delete, "the instance is deleted at the provider"),
        (Self::Release, "the finalizer is taken off the object"),
        (
            Self::Check,
            "the ProviderConfig and its provider are looked at",
        ),
        (
            Self::Sweep,
            "instances without an object are looked for at the provider",
        ),
    ];

    /// The word in `action`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intend => "Intend",
            Self::Create => "Create",
            Self::Observe => "Observe",
            Self::Delete => "Delete",
            Self::Release => "Release",
            Self::Check => "Check",
            Self::Sweep => "Sweep",
        }
    }
}

/// The events of an acknowledged status write.
#[must_use]
pub fn of_status(
    object: &Object,
    plan: &Plan,
    old: &VirtualMachineStatus,
    new: &VirtualMachineStatus,
) -> Vec<Event> {
    let changed = |kind| changed(&old.conditions, &new.conditions, kind);
    let created = new.id.as_ref().filter(|id| old.id.as_ref() != Some(id));
    let created = created.map(|id| {
        let note = format!("instance {id} exists");
        Event::new(Reason::Created, Deed::Create, &note)
    });
    let kind = if object.deleting {
        ConditionType::Deleting
    } else {
        ConditionType::Ready
    };
    let state = changed(kind).and_then(|one| Event::of(one, deed(plan)));
    // What waits for a person is told, whatever its reason.
    let state = state
        .filter(|event| is_told(event.reason))
        .or_else(|| changed(ConditionType::Stalled).and_then(|one| Event::of(one, deed(plan))));
    let doubles = changed(ConditionType::Provisioned)
        .filter(|one| one.reason == Reason::Duplicate.as_str())
        .and_then(|one| Event::of(one, Deed::Observe));
    let paused = changed(ConditionType::Paused).and_then(|one| Event::of(one, Deed::Observe));
    let mut told: Vec<Event> = Vec::new();
    for event in [created, state, doubles, paused].into_iter().flatten() {
        if !told.iter().any(|other| other.reason == event.reason) {
            told.push(event);
        }
    }
    told
}

/// The event of an acknowledged write of finalizer and intent. `foreign`: the object bore an intent that was not its
/// own.
#[must_use]
pub fn of_metadata(object: &Object, plan: &Plan, foreign: bool) -> Option<Event> {
    match &plan.action {
        Action::Intend { .. } if foreign => Some(Event::new(
            Reason::IntentReplaced,
            Deed::Intend,
            "the annotation compute.example.com/create was not written for this object and is replaced; leave it out of manifests that are copied or restored",
        )),
        Action::Intend { .. } if plan.reason == Reason::Lost => Some(Event::new(
            Reason::Recreating,
            Deed::Intend,
            &format!("{} is confirmed to be gone; it is made anew", named(object)),
        )),
        Action::RemoveFinalizer { orphaned: None } => Some(Event::new(
            Reason::Deleted,
            Deed::Release,
            &format!("{} is gone at the provider", named(object)),
        )),
        Action::RemoveFinalizer {
            orphaned: Some(why),
        } => Some(let_go(object, why)),
        Action::Intend { .. }
        | Action::Hold(_)
        | Action::NoteAttempt
        | Action::Create
        | Action::Settle
        | Action::Delete(_)
        | Action::ApplyChild(_)
        | Action::DeleteChild(..)
        | Action::Forget => None,
    }
}

/// The event of an object that goes though an instance may be left.
#[must_use]
pub fn let_go(object: &Object, why: &str) -> Event {
    let note = format!(
        "{} may be left at the provider, and the object goes: {why}",
        named(object)
    );
    Event::new(Reason::Orphaned, Deed::Release, &note)
}

/// The condition, where its reason or its being true is another than before. One that went tells nothing.
#[must_use]
pub fn changed<'a>(
    old: &[Condition],
    new: &'a [Condition],
    kind: ConditionType,
) -> Option<&'a Condition> {
    let holds = |one: &Condition| one.status == ConditionStatus::True.as_str();
    let now = find(new, kind)?;
    let before = find(old, kind);
    let same =
        before.is_some_and(|before| before.reason == now.reason && holds(before) == holds(now));
    (!same).then_some(now)
}

/// Whether a condition that comes to have this reason is worth an event. What an object passes through by itself on
/// its way is not, nor what every restart brings.
#[must_use]
pub fn is_told(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::CreatePending
            | Reason::CreateInDoubt
            | Reason::CreateInProgress
            | Reason::Provisioning
            | Reason::Starting
            | Reason::Stopping
            | Reason::Resizing
            | Reason::Busy
            | Reason::ProviderConfigPending
            | Reason::Reachable
            | Reason::Accepted
            | Reason::SafeCreateSupported
            | Reason::SafeCreateUnsupported
            | Reason::InSync
            | Reason::Pending
    )
}

/// Whether an event of this reason is as it should be.
#[must_use]
pub fn tone(reason: Reason) -> Tone {
    let normal = matches!(
        reason,
        Reason::Running
            | Reason::Created
            | Reason::Usable
            | Reason::Paused
            | Reason::Deleting
            | Reason::Deleted
            | Reason::Recreating
    );
    if normal { Tone::Normal } else { Tone::Warning }
}

fn deed(plan: &Plan) -> Deed {
    match &plan.action {
        Action::Create | Action::NoteAttempt | Action::Settle => Deed::Create,
        Action::Delete(_) => Deed::Delete,
        Action::Intend { .. } => Deed::Intend,
        Action::RemoveFinalizer { .. } => Deed::Release,
        Action::Hold(_) | Action::ApplyChild(_) | Action::DeleteChild(..) | Action::Forget => {
            Deed::Observe
        }
    }
}

fn named(object: &Object) -> String {
    match &object.recorded {
        Some(recorded) => format!("instance {}", recorded.id),
        None => "whatever was made for the object".to_owned(),
    }
}

/// At most [`MAX_NOTE`] bytes, whole characters, with a sign that something is missing.
fn cut(note: &str) -> String {
    const SIGN: &str = "…";
    if note.len() <= MAX_NOTE {
        return note.to_owned();
    }
    let kept = note.floor_char_boundary(MAX_NOTE - SIGN.len());
    format!("{}{SIGN}", &note[..kept])
}

#[cfg(test)]
mod tests;
