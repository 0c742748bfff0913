//! Making a VM, exactly once for each idempotency key.

use std::cmp::Reverse;
use std::time::Duration;

use jiff::SignedDuration;

use super::keys::Key;
use super::{Answer, Code, Create, Due, NewVm, Phase, Refusal, Text, Vm, VmId, World, later};

impl World {
    /// The order of the checks is part of the contract: a known key is answered before the body is judged and before
    /// the quota, and a refused create leaves its key unused.
    pub(super) fn create(
        &mut self,
        name: &Text,
        create: Create,
        delay: Duration,
    ) -> Result<Answer, Refusal> {
        let key = create
            .key
            .as_ref()
            .filter(|_| !self.settings.basic)
            .cloned();
        if let Some(known) = key
            .as_ref()
            .and_then(|key| self.accounts.get(name)?.keys.get(key, self.now))
        {
            return self.replay(name, known, &create);
        }
        let spec = create.spec?;
        spec.check()?;
        self.check_quota(name)?;
        let vm = self.make(name, spec);
        if let Some(key) = key {
            let known = Key {
                number: vm.id.number(),
                digest: create.digest,
                answered_at: later(self.now, delay),
                expires_at: later(self.now, self.settings.key_lifetime),
                orphaned: false,
            };
            if let Some(account) = self.accounts.get_mut(name) {
                account.keys.insert(key, known);
            }
        }
        Ok(Answer::Created(vm))
    }

    fn replay(&self, name: &Text, known: Key, create: &Create) -> Result<Answer, Refusal> {
        if known.digest != create.digest {
            return Err(Refusal::new(
                Code::IdempotencyKeyReused,
                "this Idempotency-Key came with another body before; send the same body, or use a new key",
            ));
        }
        if known.answered_at > self.now {
            let wait = whole_seconds(known.answered_at.duration_since(self.now));
            let refusal = Refusal::new(
                Code::IdempotencyKeyInUse,
                "an earlier request with this Idempotency-Key is in work",
            );
            return Err(Refusal {
                retry_after: Some(wait),
                ..refusal
            });
        }
        match self
            .accounts
            .get(name)
            .and_then(|account| account.live.get(&known.number))
            .filter(|_| !known.orphaned)
        {
            Some(record) => Ok(Answer::Replayed(record.vm.clone())),
            None => {
                let id = VmId::new(known.number);
                let message = format!(
                    "this Idempotency-Key made {id}, which has been deleted since; use a new key"
                );
                Err(Refusal {
                    id: Some(id),
                    ..Refusal::new(Code::KeyOfDeletedVm, message)
                })
            }
        }
    }

    fn check_quota(&self, name: &Text) -> Result<(), Refusal> {
        let live = self
            .accounts
            .get(name)
            .map_or(0, |account| account.live.len());
        match self.settings.quota {
            Some(quota) if live >= quota as usize => Err(Refusal::new(
                Code::QuotaExceeded,
                format!(
                    "the account has {live} VMs and may have {quota}; delete some, or raise the quota"
                ),
            )),
            Some(_) | None => Ok(()),
        }
    }

    fn make(&mut self, name: &Text, spec: NewVm) -> Vm {
        let number = self.next_number;
        self.next_number += 1;
        let mut tags = if self.settings.basic {
            Vec::new()
        } else {
            spec.tags
        };
        tags.sort_unstable();
        let vm = Vm {
            id: VmId::new(number),
            name: spec.name.map(Text::from),
            image: self.interner.share(&spec.image),
            cpu: u32::try_from(spec.cpu).unwrap_or(u32::MAX),
            memory: self.interner.share(&spec.memory),
            phase: Phase::Provisioning,
            tags: tags
                .into_iter()
                .map(|(key, value)| self.interner.share_tag(&key, &value))
                .collect(),
            address: None,
            created_at: self.now,
            revision: 0,
            message: None,
        };
        let due = later(self.now, self.settings.provisioning.sample(&mut self.rng));
        let account = self.accounts.entry(name.clone()).or_default();
        let vm = account.add(vm, self.now, self.settings.list_lag, Some(due));
        self.due.push(Reverse(Due {
            at: due,
            number,
            account: name.clone(),
        }));
        self.version += 1;
        vm
    }
}

/// Rounded up, at least 1: a client that comes back then finds the answer.
fn whole_seconds(wait: SignedDuration) -> u64 {
    let seconds = u64::try_from(wait.as_secs()).unwrap_or(0);
    (seconds + u64::from(wait.subsec_nanos() > 0)).max(1)
}
