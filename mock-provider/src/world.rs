//! The cloud itself: accounts, VMs, keys and the changes between them.
//!
//! [`World::handle`] answers one call and [`World::advance`] lets time pass; both take the time as a value. Nothing in
//! here reads a clock, waits, logs or draws a number that the seed does not determine.

mod account;
mod act;
mod address;
mod answer;
mod bucket;
mod call;
mod create;
mod feed;
mod keys;
mod list;
mod record;
mod saved;
mod settings;
mod spec;
mod tags;
mod text;
mod vm;

#[cfg(test)]
mod tests;

pub use act::{Act, ActError, Inventory, Listed};
pub use answer::{Answer, Capabilities, Change, ChangeKind, Code, Feed, Page, Refusal, Response};
pub use call::{Call, Create, Digest, ListQuery, Operation, Request};
pub use saved::{LoadError, Loaded, Saved};
pub use settings::{Latency, Rate, Settings, Spread};
pub use spec::NewVm;
pub use text::Text;
pub use vm::{Phase, Vm, VmId};

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use jiff::Timestamp;

use account::Account;
use address::AddressPool;
use text::Interner;

/// When a VM has something to do by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Timestamp,
    number: u64,
    account: Text,
}

/// The whole cloud.
#[derive(Debug)]
pub struct World {
    settings: Settings,
    now: Timestamp,
    next_number: u64,
    accounts: BTreeMap<Text, Account>,
    due: BinaryHeap<Reverse<Due>>,
    addresses: AddressPool,
    interner: Interner,
    rng: fastrand::Rng,
    version: u64,
}

impl World {
    /// An empty cloud. Two worlds with the same settings and seed that get the same calls at the same times are equal.
    #[must_use]
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            now: Timestamp::UNIX_EPOCH,
            next_number: 1,
            accounts: BTreeMap::new(),
            due: BinaryHeap::new(),
            addresses: AddressPool::default(),
            interner: Interner::default(),
            rng: fastrand::Rng::with_seed(seed),
            version: 0,
        }
    }

    /// Answers one call at `now`. Whatever fell due before happens first. The answer says how long it is to be held
    /// back; its effect, if any, is there at once.
    pub fn handle(&mut self, request: Request, now: Timestamp) -> Response {
        self.advance(now);
        let delay = self
            .settings
            .latency
            .sample(&mut self.rng)
            .saturating_add(request.hold);
        let before = self.version;
        let outcome = self.answer(&request.account, request.call, delay);
        Response {
            outcome,
            applied: self.version != before,
            delay,
        }
    }

    /// Lets time pass until `now`: provisioning ends, deletions complete, keys expire. Time never runs backwards here:
    /// an earlier `now` changes nothing.
    pub fn advance(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        while let Some(Reverse(due)) = self.due.peek()
            && due.at <= self.now
        {
            if let Some(Reverse(due)) = self.due.pop() {
                self.happen(&due);
            }
        }
        for account in self.accounts.values_mut() {
            account.keys.expire(self.now);
        }
    }

    /// When [`Self::advance`] has something to do next.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.due.peek().map(|Reverse(due)| due.at)
    }

    /// A number that grows with every change of what a restart must preserve.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Replaces the settings that may change while the cloud runs; the key lifetime and basic mode stay as they were.
    pub fn set_settings(&mut self, settings: Settings) {
        let Settings {
            basic,
            key_lifetime,
            ..
        } = self.settings;
        self.settings = Settings {
            basic,
            key_lifetime,
            ..settings
        };
    }

    /// The latest revision of an account; 0 when it never changed.
    #[must_use]
    pub fn revision(&self, account: &str) -> u64 {
        self.accounts
            .get(account)
            .map_or(0, |account| account.revision)
    }

    /// The tags of a VM of this account, dead ones included while they are remembered.
    #[must_use]
    pub fn tags_of(&self, account: &str, id: &str) -> Option<&[(Text, Text)]> {
        let number = VmId::parse(id)?.number();
        let account = self.accounts.get(account)?;
        let record = account
            .live
            .get(&number)
            .or_else(|| account.gone.get(&number))?;
        Some(&record.vm.tags)
    }

    /// The changes of an account after `since`, without counting as a call: how a long poll looks again.
    ///
    /// # Errors
    /// `RevisionExpired` when the changes after `since` are no longer known.
    pub fn changes(&self, account: &str, since: u64) -> Result<Feed, Refusal> {
        match self.accounts.get(account) {
            Some(account) => account.feed(since, self.settings.change_history),
            None => Account::default().feed(since, self.settings.change_history),
        }
    }

    fn answer(&mut self, name: &Text, call: Call, delay: Duration) -> Result<Answer, Refusal> {
        let (now, rate) = (self.now, self.settings.rate);
        let account = self.accounts.entry(name.clone()).or_default();
        account.bucket.admit(rate, now)?;
        if self.settings.basic && !call.is_basic() {
            return Err(Refusal::new(
                Code::NotFound,
                "a basic provider has only POST /vms, GET /vms/{id}, DELETE /vms/{id}",
            ));
        }
        match call {
            Call::Invalid(_, refusal) => Err(refusal),
            Call::Capabilities => Ok(Answer::Capabilities(self.capabilities(name))),
            Call::Create(create) => self.create(name, create, delay),
            Call::Get { id } => self.get(name, &id).map(Answer::Found),
            Call::List(query) => self.list(name, &query).map(Answer::Page),
            Call::Changes { since } => self.changes(name, since).map(Answer::Changes),
            Call::Delete { id } => Ok(self.delete(name, &id)),
        }
    }

    fn capabilities(&self, account: &Text) -> Capabilities {
        Capabilities {
            account: account.clone(),
            list_lag: self.settings.list_lag,
            key_lifetime: self.settings.key_lifetime,
            delete_is_async: !self.settings.delete_delay.is_zero(),
        }
    }

    fn get(&self, account: &Text, id: &str) -> Result<Vm, Refusal> {
        VmId::parse(id)
            .and_then(|id| self.accounts.get(account)?.live.get(&id.number()))
            .map(|record| record.vm.clone())
            .ok_or_else(|| Refusal::new(Code::NotFound, format!("no VM {id:?} in this account")))
    }

    fn delete(&mut self, name: &Text, id: &str) -> Answer {
        let Some(number) = VmId::parse(id).map(VmId::number) else {
            return Answer::Deleted;
        };
        let Some(record) = self
            .accounts
            .get(name)
            .and_then(|account| account.live.get(&number))
        else {
            return Answer::Deleted;
        };
        if record.vm.phase == Phase::Deleting {
            return Answer::Deleting(record.vm.clone());
        }
        if self.settings.delete_delay.is_zero() {
            self.remove(name, number);
            return Answer::Deleted;
        }
        let at = later(self.now, self.settings.delete_delay);
        self.edit(name, number, Some(at), |vm| vm.phase = Phase::Deleting)
            .map_or(Answer::Deleted, Answer::Deleting)
    }

    /// Changes a live VM, sets when it acts by itself next, and gives it as it is then.
    fn edit(
        &mut self,
        name: &Text,
        number: u64,
        due: Option<Timestamp>,
        change: impl FnOnce(&mut Vm),
    ) -> Option<Vm> {
        let vm = self.accounts.get_mut(name)?.edit(
            number,
            self.now,
            self.settings.list_lag,
            due,
            change,
        )?;
        self.version += 1;
        if let Some(at) = due {
            self.due.push(Reverse(Due {
                at,
                number,
                account: name.clone(),
            }));
        }
        Some(vm)
    }

    fn remove(&mut self, name: &Text, number: u64) -> Option<Vm> {
        let Settings {
            list_lag,
            tombstones,
            ..
        } = self.settings;
        let vm = self
            .accounts
            .get_mut(name)?
            .remove(number, self.now, list_lag, tombstones)?;
        self.version += 1;
        self.addresses.free(vm.address);
        Some(vm)
    }

    fn happen(&mut self, due: &Due) {
        let Some(record) = self
            .accounts
            .get(&due.account)
            .and_then(|account| account.live.get(&due.number))
        else {
            return;
        };
        // An entry that the VM itself no longer waits for is left over from a plan that something overtook.
        if record.due != Some(due.at) {
            return;
        }
        match record.vm.phase {
            Phase::Provisioning => self.come_up(&due.account, due.number),
            Phase::Deleting => drop(self.remove(&due.account, due.number)),
            Phase::Running | Phase::Stopped | Phase::Failed => {}
        }
    }

    fn come_up(&mut self, account: &Text, number: u64) {
        let address = self.addresses.take();
        self.edit(account, number, None, |vm| {
            vm.address = address;
            if address.is_some() {
                vm.phase = Phase::Running;
            } else {
                vm.phase = Phase::Failed;
                vm.message = Some(Text::from("no free address in 198.18.0.0/15"));
            }
        });
    }
}

/// `at` + `by`, never beyond the last instant that can be written.
fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// `at` − `by`, never before the first instant that can be written.
fn earlier(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}
