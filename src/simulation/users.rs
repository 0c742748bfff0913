//! What users do.

use super::choice::{Cost, Events};
use super::world::{Event, World};
use crate::api;
use crate::domain::{InstanceSpec, ObjectKey};

/// A user's act on one of the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Create(usize),
    CreateCopy(usize, usize),
    Delete(usize),
    StripFinalizer(usize),
    StripAnnotation(usize),
    StripBoth(usize),
    StripStatus(usize),
    Edit(usize),
    Relabel(usize),
}

/// An act with all that chance had a say in: done again, it is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Makes an object, with the annotation of an exported manifest where there is one.
    Make(usize, InstanceSpec, Option<String>),
    /// Writes another spec.
    Respec(usize, InstanceSpec),
    /// Takes finalizer and annotation off, or one of them.
    Strip {
        at: usize,
        finalizer: bool,
        annotation: bool,
    },
    StripStatus(usize),
    Delete(usize),
    Relabel(usize),
}

pub(super) fn name(at: usize) -> ObjectKey {
    ObjectKey::new("ns", if at == 0 { "a" } else { "b" })
}

impl World {
    /// A user acts.
    pub(super) fn act(&mut self, act: Act) {
        self.trace.line(30, || format!("user: {act:?}"));
        let deed = self.deed(act);
        self.script.push(deed.clone());
        self.do_deed(deed);
    }

    fn deed(&mut self, act: Act) -> Deed {
        let strip = |at, finalizer, annotation| Deed::Strip {
            at,
            finalizer,
            annotation,
        };
        match act {
            Act::Create(at) => Deed::Make(at, self.spec(), None),
            Act::CreateCopy(at, which) => {
                Deed::Make(at, self.spec(), Some(self.exported[which].clone()))
            }
            Act::Delete(at) => Deed::Delete(at),
            Act::StripFinalizer(at) => strip(at, true, false),
            Act::StripAnnotation(at) => strip(at, false, true),
            Act::StripBoth(at) => strip(at, true, true),
            Act::StripStatus(at) => Deed::StripStatus(at),
            Act::Edit(at) => Deed::Respec(at, self.spec()),
            Act::Relabel(at) => Deed::Relabel(at),
        }
    }

    /// Does what a user did.
    pub(super) fn do_deed(&mut self, deed: Deed) {
        match deed {
            Deed::Make(at, spec, exported) => {
                let made = self.api.create(name(at), spec, exported);
                made.expect("a user takes a free name");
            }
            Deed::Respec(at, spec) => self.api.edit(&name(at), |view, _| {
                if view.object.spec.as_ref() != Some(&spec) {
                    view.object.spec = Some(spec);
                    view.object.generation += 1;
                }
            }),
            Deed::Strip {
                at,
                finalizer,
                annotation,
            } => self.api.edit(&name(at), |view, text| {
                if annotation {
                    *text = None;
                }
                if finalizer {
                    view.finalizers.retain(|f| f != api::FINALIZER);
                }
            }),
            Deed::StripStatus(at) => self.api.wipe_status(&name(at)),
            Deed::Delete(at) => {
                let deleted = self.api.delete(&name(at), None);
                deleted.expect("a user deletes what is there");
            }
            Deed::Relabel(at) => self.api.relabel(&name(at)),
        }
    }

    fn spec(&mut self) -> InstanceSpec {
        let bad = self.swarm.words.invalid && self.random.u8(..3) == 0;
        InstanceSpec {
            image: if bad { "bad" } else { "good" }.to_owned(),
            cpu: self.random.u32(1..=2),
            memory: "1Gi".to_owned(),
        }
    }

    pub(super) fn add_users(&self, list: &mut Events) {
        if self.acts == 0 {
            return;
        }
        let words = self.swarm.words;
        for at in 0..self.swarm.names {
            let mut act = |on: bool, weight: u32, act: Act| {
                if on {
                    list.0.push((weight * 4, Cost::Act, Event::User(act)));
                }
            };
            let Some(stored) = self.api.objects.get(&name(at)) else {
                let used = self.lives.iter().any(|l| l.key == name(at));
                act(
                    !used || words.recreate,
                    if used { 4 } else { 30 },
                    Act::Create(at),
                );
                for which in 0..self.exported.len() {
                    act(
                        words.copy && (!used || words.recreate),
                        4,
                        Act::CreateCopy(at, which),
                    );
                }
                continue;
            };
            let object = &stored.view.object;
            let marked = stored.annotation.is_some();
            act(words.delete && !object.deleting, 4, Act::Delete(at));
            act(words.strip && object.finalizer, 2, Act::StripFinalizer(at));
            act(words.strip && marked, 2, Act::StripAnnotation(at));
            act(
                words.strip && marked && object.finalizer,
                2,
                Act::StripBoth(at),
            );
            act(
                words.stripstatus && object.recorded.is_some(),
                3,
                Act::StripStatus(at),
            );
            let may_edit = object.recorded.is_none() && !object.deleting;
            act(words.edit && may_edit, 4, Act::Edit(at));
            act(words.relabel, 1, Act::Relabel(at));
        }
    }
}
