//! Conditions of status: a list of `metav1.Condition`, one per type.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Most conditions in a list; the schema holds the same bound.
pub const MAX_CONDITIONS: usize = 32;
/// Longest message in characters; a longer one is cut. The schema holds the same bound.
pub const MAX_MESSAGE: usize = 2048;

/// The condition types that this operator writes. Conditions of other types belong to others and are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionType {
    /// The object is as its spec says, now.
    Ready,
    /// The instance exists at the provider.
    Provisioned,
    /// Size, power and tags equal the spec.
    Synced,
    /// The ProviderConfig of a VirtualMachine is usable.
    ProviderReady,
    /// Deletion is under way; absent otherwise.
    Deleting,
    /// Paused by annotation here or at the ProviderConfig; absent otherwise.
    Paused,
    /// The operator is at work; absent otherwise.
    Reconciling,
    /// Waits for a person; absent otherwise.
    Stalled,
    /// ProviderConfig: the endpoint answers.
    Reachable,
    /// ProviderConfig: the credentials were accepted.
    Authenticated,
    /// ProviderConfig: a create may be repeated without making a second VM.
    SafeCreate,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody can say.
    Unknown,
}

/// A condition as it should be. When it came to be so is for [`merge`] to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which condition.
    pub kind: ConditionType,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// CamelCase word for programs.
    pub reason: String,
    /// A sentence for people: what is wrong and what to do.
    pub message: String,
}

impl ConditionType {
    /// Every type.
    pub const ALL: [Self; 11] = [
        Self::Ready,
        Self::Provisioned,
        Self::Synced,
        Self::ProviderReady,
        Self::Deleting,
        Self::Paused,
        Self::Reconciling,
        Self::Stalled,
        Self::Reachable,
        Self::Authenticated,
        Self::SafeCreate,
    ];

    /// The word in `type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Provisioned => "Provisioned",
            Self::Synced => "Synced",
            Self::ProviderReady => "ProviderReady",
            Self::Deleting => "Deleting",
            Self::Paused => "Paused",
            Self::Reconciling => "Reconciling",
            Self::Stalled => "Stalled",
            Self::Reachable => "Reachable",
            Self::Authenticated => "Authenticated",
            Self::SafeCreate => "SafeCreate",
        }
    }

    /// The type of that name, if it is one of ours.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl ConditionStatus {
    /// The word in `status`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// The list that follows on `old` when our conditions are to be `wanted`, seen at `now` for `generation`.
///
/// Our conditions that are not wanted go, those of others stay as they are. What was there keeps its place, new ones
/// follow in the order of `wanted`; of two with one type in `wanted` the last counts. `lastTransitionTime` moves only
/// when `status` does, and is cut to whole seconds, as the API server stores it. Nothing new means an equal list.
#[must_use]
pub fn merge(
    old: &[Condition],
    wanted: &[Wanted],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let mut merged: Vec<Condition> = Vec::with_capacity(old.len() + wanted.len());
    for condition in old {
        if merged.iter().any(|seen| seen.type_ == condition.type_) {
            continue;
        }
        match ConditionType::from_name(&condition.type_) {
            None => merged.push(condition.clone()),
            Some(kind) => {
                if let Some(wanted) = wanted.iter().rfind(|wanted| wanted.kind == kind) {
                    merged.push(condition_of(wanted, Some(condition), generation, now));
                }
            }
        }
    }
    for one in wanted {
        if find(&merged, one.kind).is_none()
            && let Some(last) = wanted.iter().rfind(|wanted| wanted.kind == one.kind)
        {
            merged.push(condition_of(last, None, generation, now));
        }
    }
    merged
}

/// The condition of that type.
#[must_use]
pub fn find(conditions: &[Condition], kind: ConditionType) -> Option<&Condition> {
    conditions.iter().find(|one| one.type_ == kind.as_str())
}

/// Whether the condition is there and `True`.
#[must_use]
pub fn is_true(conditions: &[Condition], kind: ConditionType) -> bool {
    find(conditions, kind).is_some_and(|one| one.status == ConditionStatus::True.as_str())
}

fn condition_of(
    wanted: &Wanted,
    old: Option<&Condition>,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let since = match old {
        Some(old) if old.status == wanted.status.as_str() => old.last_transition_time.clone(),
        Some(_) | None => Time(whole_seconds(now)),
    };
    Condition {
        type_: wanted.kind.as_str().to_owned(),
        status: wanted.status.as_str().to_owned(),
        reason: wanted.reason.clone(),
        message: cut(&wanted.message),
        observed_generation: generation,
        last_transition_time: since,
    }
}

fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// The API server counts characters, and refuses the whole status for one too long message.
fn cut(message: &str) -> String {
    if message.chars().count() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let kept = message.chars().take(MAX_MESSAGE - 1);
    kept.chain("…".chars()).collect()
}

#[cfg(test)]
mod tests;
