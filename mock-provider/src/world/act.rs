//! What happens to VMs without their owner asking: the part of a cloud that tests play.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::{Phase, Text, Vm, VmId, World};

/// Something that happens to a VM by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// It is gone, without a call that deleted it.
    Vanish,
    /// It breaks for good.
    Fail {
        /// What the VM says about it.
        message: String,
    },
    /// It is not what was ordered any more. What is left out stays.
    Drift {
        /// Other CPUs.
        cpu: Option<u32>,
        /// Other memory.
        memory: Option<String>,
        /// Another image.
        image: Option<String>,
    },
    /// It loses all of its tags.
    StripTags,
    /// It bears these tags and no others.
    Tag {
        /// The tags.
        tags: BTreeMap<String, String>,
    },
    /// It stops running.
    Stop,
    /// It runs (again); a provisioning one at once.
    Run,
    /// It was made at another time.
    CreatedAt(Timestamp),
    /// It is gone, and its id was given again, to a VM that somebody else made at the same moment.
    Reuse {
        /// The tags of the other VM.
        tags: BTreeMap<String, String>,
    },
}

/// Why nothing happened.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// No live VM has this id.
    #[error("no live VM {id:?} in any account; list them with GET /vms")]
    NotFound {
        /// The id as given.
        id: String,
    },
    /// A VM that is being deleted does nothing else.
    #[error("{id} is being deleted; only vanish and created-at do anything to it")]
    Deleting {
        /// The VM.
        id: VmId,
    },
    /// All addresses are taken.
    #[error("{id} cannot run: no free address in 198.18.0.0/15; delete VMs first")]
    NoAddress {
        /// The VM.
        id: VmId,
    },
}

/// Which VMs of all accounts to show.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Inventory {
    /// Only this account's.
    pub account: Option<String>,
    /// Only the deleted (`true`) or the live (`false`).
    pub deleted: Option<bool>,
    /// Only ids after this one.
    pub after: Option<String>,
    /// At most so many; default 1000.
    pub limit: Option<usize>,
}

/// A VM as the cloud's owner sees it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Whose it is.
    pub account: Text,
    /// The VM, or what it was last.
    pub vm: Vm,
    /// When it went away.
    pub deleted_at: Option<Timestamp>,
}

impl World {
    /// Lets something happen to a live VM of any account.
    ///
    /// # Errors
    /// See [`ActError`].
    pub fn act(&mut self, id: &str, act: Act, now: Timestamp) -> Result<Vm, ActError> {
        self.advance(now);
        let not_found = || ActError::NotFound { id: id.into() };
        let (account, vm, due) = self.find(id).ok_or_else(not_found)?;
        let number = vm.id.number();
        let keeps_going = matches!(act, Act::Vanish | Act::CreatedAt(_));
        if vm.phase == Phase::Deleting && !keeps_going {
            return Err(ActError::Deleting { id: vm.id });
        }
        let changed = match act {
            Act::Vanish => self.remove(&account, number),
            Act::Run => {
                let address = vm.address.or_else(|| self.addresses.take());
                let address = address.ok_or(ActError::NoAddress { id: vm.id })?;
                self.edit(&account, number, None, |vm| {
                    vm.address = Some(address);
                    vm.phase = Phase::Running;
                    vm.message = None;
                })
            }
            Act::Fail { message } => self.edit(&account, number, None, |vm| {
                vm.phase = Phase::Failed;
                vm.message = Some(Text::from(message));
            }),
            Act::Stop => self.edit(&account, number, None, |vm| vm.phase = Phase::Stopped),
            Act::StripTags => self.edit(&account, number, due, |vm| vm.tags = Arc::from([])),
            Act::Tag { tags } => self.edit(&account, number, due, |vm| vm.tags = texts(&tags)),
            Act::CreatedAt(at) => self.edit(&account, number, due, |vm| vm.created_at = at),
            Act::Reuse { tags } => self.reuse(&account, number, tags),
            Act::Drift { cpu, memory, image } => self.edit(&account, number, due, |vm| {
                vm.cpu = cpu.unwrap_or(vm.cpu);
                vm.memory = memory.map_or_else(|| vm.memory.clone(), Text::from);
                vm.image = image.map_or_else(|| vm.image.clone(), Text::from);
            }),
        };
        changed.ok_or_else(not_found)
    }

    fn reuse(&mut self, account: &Text, number: u64, tags: BTreeMap<String, String>) -> Option<Vm> {
        self.accounts.get_mut(account)?.keys.orphan(number);
        let now = self.now;
        self.edit(account, number, None, |vm| {
            // A client that compares times must see that it is another one.
            vm.created_at = now.max(vm.created_at + SignedDuration::from_secs(1));
            vm.name = None;
            vm.tags = texts(&tags);
        })
    }

    /// Forgets idempotency keys: of one account or of all, one key or all; says how many.
    pub fn forget_keys(&mut self, account: Option<&str>, key: Option<&str>) -> usize {
        let accounts = self
            .accounts
            .iter_mut()
            .filter(|(name, _)| account.is_none_or(|wanted| wanted == &***name));
        let forgotten = accounts.map(|(_, account)| account.keys.forget(key)).sum();
        self.version += u64::from(forgotten > 0);
        forgotten
    }

    /// VMs of all accounts by account and id, the remembered deleted ones included.
    #[must_use]
    pub fn inventory(&self, query: &Inventory) -> Vec<Listed> {
        let after = query
            .after
            .as_deref()
            .and_then(VmId::parse)
            .map_or(0, VmId::number);
        let mut found = Vec::new();
        for (name, account) in &self.accounts {
            if query
                .account
                .as_ref()
                .is_some_and(|wanted| **wanted != **name)
            {
                continue;
            }
            let live = account
                .live
                .values()
                .filter(|_| query.deleted != Some(true));
            let gone = account
                .gone
                .values()
                .filter(|_| query.deleted != Some(false));
            let both = live
                .chain(gone)
                .filter(|record| record.vm.id.number() > after);
            found.extend(both.map(|record| (name, &**record)));
        }
        found.sort_unstable_by_key(|(_, record)| record.vm.id);
        found.truncate(query.limit.unwrap_or(1000));
        let listed = |(account, record): (&Text, &super::record::Record)| Listed {
            account: account.clone(),
            vm: record.vm.clone(),
            deleted_at: record.deleted_at,
        };
        found.into_iter().map(listed).collect()
    }

    /// Live VMs, remembered deleted VMs and remembered keys of each account.
    pub fn census(&self) -> impl Iterator<Item = (&Text, usize, usize, usize)> {
        self.accounts.iter().map(|(name, account)| {
            (
                name,
                account.live.len(),
                account.gone.len(),
                account.keys.len(),
            )
        })
    }

    fn find(&self, id: &str) -> Option<(Text, Vm, Option<Timestamp>)> {
        let number = VmId::parse(id)?.number();
        let found = self
            .accounts
            .iter()
            .find_map(|(name, account)| Some((name, account.live.get(&number)?)));
        found.map(|(name, record)| (name.clone(), record.vm.clone(), record.due))
    }
}

fn texts(tags: &BTreeMap<String, String>) -> Arc<[(Text, Text)]> {
    let text =
        |(key, value): (&String, &String)| (Text::from(key.as_str()), Text::from(value.as_str()));
    tags.iter().map(text).collect()
}
