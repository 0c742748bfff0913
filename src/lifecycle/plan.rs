//! What to do: at most one effect, and why.

use super::children::{ChildKind, ChildWrite, Held};
use crate::domain::{InstanceId, Intent, Moment, Reason};

/// The result of a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The one effect of this pass.
    pub action: Action,
    /// Why; goes into conditions and the log line.
    pub reason: Reason,
}

/// Effects. Each is one write, to Kubernetes or to the provider.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Do nothing now; look again at the moment, if one is named.
    Hold(Option<Moment>),
    /// Write finalizer and intent in one guarded write. `first`: nobody can have sent a create for it.
    Intend {
        /// The intent to write.
        intent: Box<Intent>,
        /// Whether nobody can have sent a create under its key.
        first: bool,
    },
    /// Write down that a create is about to be sent: our own write that goes before it.
    NoteAttempt,
    /// Send the create that the intent describes.
    Create,
    /// Send the create of an object that is being deleted, to use its key up.
    Settle,
    /// Delete an instance.
    Delete(InstanceId),
    /// Take our finalizer off.
    RemoveFinalizer {
        /// The user's reason, where the instance is let go of unseen.
        orphaned: Option<String>,
    },
    /// Make an owned object, or write it over.
    ApplyChild(Box<ChildWrite>),
    /// Delete an owned object in this version.
    DeleteChild(ChildKind, Held),
    /// A departed object is done with: nothing of it is left.
    Forget,
}

impl Plan {
    pub(super) fn new(action: Action, reason: Reason) -> Self {
        Self { action, reason }
    }
    pub(super) fn hold(reason: Reason) -> Self {
        Self::new(Action::Hold(None), reason)
    }
    pub(super) fn wait(until: Moment, reason: Reason) -> Self {
        Self::new(Action::Hold(Some(until)), reason)
    }
}

impl Action {
    /// Whether a create goes out now, or right after the write that this is: it needs its turn at the provider.
    #[must_use]
    pub fn needs_turn(&self) -> bool {
        match self {
            Self::NoteAttempt | Self::Create | Self::Settle => true,
            Self::Hold(_)
            | Self::Intend { .. }
            | Self::Delete(_)
            | Self::RemoveFinalizer { .. }
            | Self::ApplyChild(_)
            | Self::DeleteChild(..)
            | Self::Forget => false,
        }
    }

    /// The create itself, where this is the write before it: what waits for its turn.
    #[must_use]
    pub fn waiting(self, deleting: bool) -> Self {
        match self {
            Self::NoteAttempt if deleting => Self::Settle,
            Self::NoteAttempt => Self::Create,
            Self::Hold(_)
            | Self::Intend { .. }
            | Self::Create
            | Self::Settle
            | Self::Delete(_)
            | Self::RemoveFinalizer { .. }
            | Self::ApplyChild(_)
            | Self::DeleteChild(..)
            | Self::Forget => self,
        }
    }

    /// A short word for logs and traces.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Hold(_) => "hold",
            Self::Intend { .. } => "intend",
            Self::NoteAttempt => "note-attempt",
            Self::Create => "create",
            Self::Settle => "settle",
            Self::Delete(_) => "delete",
            Self::RemoveFinalizer { .. } => "remove-finalizer",
            Self::ApplyChild(_) => "apply-child",
            Self::DeleteChild(..) => "delete-child",
            Self::Forget => "forget",
        }
    }
}
