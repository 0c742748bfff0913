//! What the provider showed. Failing to see is something seen.

use super::memory::Sureness;
use super::object::Object;
use crate::domain::{ErrorKind, Incarnation, Instance, Owner, ProviderError};

/// What one look at the provider showed of an object's instances.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// The instance that counts: of the intent's incarnation or a higher one.
    pub current: Current,
    /// Further instances with this owner's tags: older incarnations and doubles.
    pub others: Vec<Instance>,
}

/// The instance that counts.
#[derive(Clone, Debug, PartialEq)]
pub enum Current {
    /// No look was due.
    Unasked,
    /// None is there, as far as can be seen.
    Absent(Sureness),
    /// It is there, and its tags name this object.
    Present(Instance),
    /// The recorded id is there with the recorded creation time but without owner tags: perhaps ours.
    Unproven(Instance),
    /// The look failed.
    Unknown(ProviderError),
}

/// The raw answers of a look, before they are judged.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// GET of the recorded id, where it was asked.
    pub got: Option<Result<Instance, ProviderError>>,
    /// The complete find by owner, where it was asked.
    pub found: Option<Result<Vec<Instance>, ProviderError>>,
}

/// Answers judged, except how sure an absence is.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives for one call; a box would be an allocation for each look"
)]
pub enum Judged {
    /// Something definite, or a failure.
    Seen(Sighting),
    /// Nothing that counts is there, in a look that was complete; `others` are older incarnations.
    Nothing(Vec<Instance>),
}

impl Sighting {
    /// No look was due.
    #[must_use]
    pub fn unasked() -> Self {
        Self {
            current: Current::Unasked,
            others: Vec::new(),
        }
    }

    /// The instance, if it is there and ours.
    #[must_use]
    pub fn present(&self) -> Option<&Instance> {
        match &self.current {
            Current::Present(instance) => Some(instance),
            Current::Unasked | Current::Absent(_) | Current::Unproven(_) | Current::Unknown(_) => {
                None
            }
        }
    }

    /// Every instance that bears our tags, the current one first.
    pub fn ours(&self) -> impl Iterator<Item = &Instance> {
        self.present().into_iter().chain(&self.others)
    }
}

impl Answers {
    /// Judges the answers for an object: `least` is the lowest incarnation that counts.
    #[must_use]
    pub fn judge(self, object: &Object, owner: &Owner, least: Incarnation) -> Judged {
        let unknown = |error: ProviderError| {
            Judged::Seen(Sighting {
                current: Current::Unknown(error),
                others: Vec::new(),
            })
        };
        let mut ours = match self.found {
            Some(Err(error)) => return unknown(error),
            Some(Ok(found)) => found.into_iter().filter(|i| i.belongs_to(owner)).collect(),
            None => Vec::new(),
        };
        match self.got {
            Some(Err(error)) if error.kind != ErrorKind::NotFound => return unknown(error),
            Some(Ok(instance)) if instance.belongs_to(owner) => {
                // The answer by id is consistent, the list may lag: the former wins.
                ours.retain(|other| other.id != instance.id);
                ours.push(instance);
            }
            Some(Ok(instance)) if is_unproven(object, &instance) => {
                return Judged::Seen(Sighting {
                    current: Current::Unproven(instance),
                    others: ours,
                });
            }
            // Somebody else's tags, or another creation time under our id: ours is gone.
            Some(Ok(_) | Err(_)) | None => {}
        }
        choose(object, ours, least)
    }
}

/// The recorded id, the recorded creation time, but no owner tags: somebody removed them, or it never was ours.
fn is_unproven(object: &Object, instance: &Instance) -> bool {
    let then = object.recorded.as_ref().and_then(|r| r.created_at);
    instance.owner.is_none() && then.is_some() && then == instance.created_at.parse().ok()
}

/// Picks the instance that counts: the highest incarnation; among equals the recorded one, else the lowest id.
fn choose(object: &Object, mut ours: Vec<Instance>, least: Incarnation) -> Judged {
    let recorded = object.recorded.as_ref().map(|r| &r.id);
    ours.sort_by(|a, b| {
        (b.incarnation(), Some(&b.id) == recorded, &a.id).cmp(&(
            a.incarnation(),
            Some(&a.id) == recorded,
            &b.id,
        ))
    });
    match ours.first() {
        Some(first) if first.incarnation() >= least => {
            let current = ours.remove(0);
            Judged::Seen(Sighting {
                current: Current::Present(current),
                others: ours,
            })
        }
        Some(_) | None => Judged::Nothing(ours),
    }
}

#[cfg(test)]
mod tests;
