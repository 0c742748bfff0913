//! The task under paused time, against a provider that answers by script.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::domain::{CreateBody, IdempotencyKey, Incarnation, InstancePhase, OwnerTag, Quantity};
use crate::provider::testing::{owner, tokio_time};
use crate::provider::{Changes, Page};

const POLL: Duration = Duration::from_secs(20);
const CALL: Duration = Duration::from_secs(5);

/// An account with a list and a feed, each of which can be broken.
#[derive(Default)]
struct Account {
    vms: Mutex<Vec<Instance>>,
    deleted: Mutex<Vec<(u64, InstanceId)>>,
    revision: AtomicU64,
    calls: Mutex<Vec<(Operation, Moment)>>,
    broken: Mutex<Vec<(Operation, ErrorKind)>>,
}

struct Rig {
    account: Arc<Account>,
    inventory: Arc<Inventory>,
    woken: Arc<Mutex<Vec<Uid>>>,
    time: Arc<dyn Time>,
    task: tokio::task::JoinHandle<Infallible>,
}

struct Shared(Arc<Account>, Arc<dyn Time>);

impl Account {
    fn put(&self, id: &str, phase: InstancePhase) {
        let revision = self.revision.fetch_add(1, Ordering::SeqCst) + 1;
        let mut vms = self.vms.lock().unwrap();
        vms.retain(|vm| vm.id.as_str() != id);
        vms.push(instance(id, phase, revision));
    }

    fn vanish(&self, id: &str) {
        let revision = self.revision.fetch_add(1, Ordering::SeqCst) + 1;
        let id = InstanceId::new(id);
        self.vms.lock().unwrap().retain(|vm| vm.id != id);
        self.deleted.lock().unwrap().push((revision, id));
    }

    fn broken(&self, rules: &[(Operation, ErrorKind)]) {
        *self.broken.lock().unwrap() = rules.to_vec();
    }

    fn count(&self, operation: Operation) -> usize {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|(made, _)| *made == operation).count()
    }

    fn called(&self, operation: Operation, now: Moment) -> Result<(), ProviderError> {
        self.calls.lock().unwrap().push((operation, now));
        let broken = self.broken.lock().unwrap();
        match broken.iter().find(|(which, _)| *which == operation) {
            Some((_, kind)) => Err(ProviderError::without_answer(*kind, operation)),
            None => Ok(()),
        }
    }

    fn since(&self, since: u64) -> Changes {
        let vms = self.vms.lock().unwrap();
        let deleted = self.deleted.lock().unwrap();
        Changes {
            upserts: vms
                .iter()
                .filter(|vm| vm.revision > Some(since))
                .cloned()
                .collect(),
            deletions: deleted
                .iter()
                .filter(|(at, _)| *at > since)
                .map(|(_, id)| id.clone())
                .collect(),
            revision: self.revision.load(Ordering::SeqCst),
        }
    }
}

impl Provider for Shared {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        unreachable!("an inventory asks for lists and changes alone")
    }
    async fn create(
        &self,
        _: &IdempotencyKey,
        _: &CreateBody,
        _: Moment,
    ) -> Result<Instance, ProviderError> {
        unreachable!("an inventory asks for lists and changes alone")
    }
    async fn get(&self, _: &InstanceId) -> Result<Instance, ProviderError> {
        unreachable!("an inventory asks for lists and changes alone")
    }
    async fn find(&self, _: &Owner) -> Result<Vec<Instance>, ProviderError> {
        unreachable!("an inventory asks for lists and changes alone")
    }
    async fn delete(&self, _: &InstanceId) -> Result<(), ProviderError> {
        unreachable!("an inventory asks for lists and changes alone")
    }

    /// Two on a page.
    async fn page(&self, token: Option<&str>) -> Result<Page, ProviderError> {
        let Self(account, time) = self;
        account.called(Operation::List, time.now())?;
        let from: usize = token.map_or(0, |token| token.parse().unwrap());
        let vms = account.vms.lock().unwrap();
        let items: Vec<Instance> = vms.iter().skip(from).take(2).cloned().collect();
        Ok(Page {
            items,
            next: (from + 2 < vms.len()).then(|| (from + 2).to_string()),
            revision: Some(account.revision.load(Ordering::SeqCst)),
        })
    }

    async fn changes(&self, since: u64, wait: Duration) -> Result<Changes, ProviderError> {
        let Self(account, time) = self;
        account.called(Operation::Changes, time.now())?;
        if since > account.revision.load(Ordering::SeqCst) {
            return Err(ProviderError::without_answer(
                ErrorKind::Expired,
                Operation::Changes,
            ));
        }
        let until = time.now() + wait;
        loop {
            let changes = account.since(since);
            if changes.revision > since || time.now() >= until {
                return Ok(changes);
            }
            time.sleep(Duration::from_millis(100)).await;
        }
    }
}

fn instance(id: &str, phase: InstancePhase, revision: u64) -> Instance {
    let owner = owner();
    Instance {
        id: InstanceId::new(id),
        image: "i".to_owned(),
        cpu: 1,
        memory: Quantity::from_bytes(1),
        phase,
        owner: Some(OwnerTag {
            cluster: owner.cluster,
            uid: Uid::new(format!("uid-{}", id.trim_start_matches("vm-"))),
            incarnation: Incarnation::FIRST,
        }),
        addresses: Vec::new(),
        created_at: String::new(),
        message: None,
        revision: Some(revision),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the task of a test runs beside it"
)]
fn rig(feed: bool, lag: Duration, vms: &[&str]) -> Rig {
    let account = Arc::new(Account::default());
    for id in vms {
        account.put(id, InstancePhase::Running);
    }
    let options = InventoryOptions {
        cluster: owner().cluster,
        capabilities: Capabilities {
            list: true,
            changes: feed,
            list_lag: lag,
            ..Capabilities::default()
        },
        poll: POLL,
        timeout: CALL,
    };
    let inventory = Arc::new(Inventory::new(options).unwrap());
    let (time, woken) = (tokio_time(), Arc::new(Mutex::default()));
    let task = {
        let cloud = Shared(Arc::clone(&account), Arc::clone(&time));
        let (inventory, time) = (Arc::clone(&inventory), Arc::clone(&time));
        let woken: Arc<Mutex<Vec<Uid>>> = Arc::clone(&woken);
        tokio::spawn(async move {
            let wake = |uids: HashSet<Uid>| woken.lock().unwrap().extend(uids);
            inventory.follow(&cloud, time.as_ref(), wake).await
        })
    };
    Rig {
        account,
        inventory,
        woken,
        time,
        task,
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Rig {
    async fn pass(&self, secs: u64) {
        self.time.sleep(Duration::from_secs(secs)).await;
    }

    fn woken(&self) -> Vec<String> {
        let mut woken: Vec<String> = std::mem::take(&mut *self.woken.lock().unwrap())
            .iter()
            .map(|uid| uid.as_str().to_owned())
            .collect();
        woken.sort();
        woken
    }

    fn fact(&self, id: &str) -> Option<Fact> {
        let owner = Owner {
            uid: Uid::new(format!("uid-{}", id.trim_start_matches("vm-"))),
            ..owner()
        };
        self.inventory
            .fact(&owner, &InstanceId::new(id), self.time.now())
    }
}

#[test]
fn a_provider_without_a_list_has_no_inventory() {
    let options = InventoryOptions {
        cluster: owner().cluster,
        capabilities: Capabilities::default(),
        poll: POLL,
        timeout: CALL,
    };
    assert!(Inventory::new(options).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_feed_is_followed_from_one_list_and_tells_a_change_at_once() {
    let rig = rig(true, Duration::ZERO, &["vm-1", "vm-2", "vm-3"]);
    rig.pass(1).await;
    assert!(rig.fact("vm-1").unwrap().watched);
    assert_eq!(rig.woken(), Vec::<String>::new());
    rig.account.put("vm-2", InstancePhase::Stopped);
    rig.account.vanish("vm-3");
    rig.pass(1).await;
    assert_eq!(rig.woken(), ["uid-2", "uid-3"]);
    assert_eq!(
        rig.fact("vm-2").unwrap().instance.phase,
        InstancePhase::Stopped
    );
    assert!(rig.fact("vm-3").is_none());
    // An hour of quiet: never a list again, and at no time too old to be used.
    for _ in 0..360 {
        rig.pass(10).await;
        assert!(rig.fact("vm-1").is_some());
    }
    assert_eq!(
        rig.account.count(Operation::List),
        2,
        "the two pages of the start"
    );
    let polls = rig.account.count(Operation::Changes);
    assert!(
        (360..=370).contains(&polls),
        "{polls} polls of half a poll interval"
    );
    assert_eq!(rig.woken(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn without_a_feed_it_lists_once_in_a_poll_interval() {
    let rig = rig(false, Duration::ZERO, &["vm-1", "vm-2", "vm-3"]);
    for _ in 0..120 {
        rig.pass(10).await;
        assert!(!rig.fact("vm-1").unwrap().watched);
    }
    let pages = rig.account.count(Operation::List);
    assert!(
        (120..=136).contains(&pages),
        "{pages} pages in 60 intervals"
    );
    assert_eq!(rig.account.count(Operation::Changes), 0);
    rig.account.vanish("vm-1");
    rig.account.put("vm-2", InstancePhase::Failed);
    rig.pass(20).await;
    assert_eq!(rig.woken(), ["uid-1", "uid-2"]);
}

#[tokio::test(start_paused = true)]
async fn lists_are_quick_while_as_many_are_on_their_way_as_a_list_has_pages() {
    let rig = rig(false, Duration::ZERO, &["vm-1", "vm-2"]);
    rig.account.put("vm-2", InstancePhase::Provisioning);
    rig.pass(1).await;
    assert!(rig.fact("vm-2").unwrap().watched);
    rig.account.put("vm-2", InstancePhase::Running);
    rig.pass(2).await;
    assert_eq!(rig.woken(), ["uid-2"]);
    let before = rig.account.count(Operation::List);
    rig.pass(10).await;
    assert_eq!(rig.account.count(Operation::List), before, "slow again");
    // One on its way among many is cheaper asked for by itself.
    for number in 3..9 {
        rig.account
            .put(&format!("vm-{number}"), InstancePhase::Running);
    }
    rig.account.put("vm-9", InstancePhase::Provisioning);
    rig.pass(20).await;
    assert!(!rig.fact("vm-9").unwrap().watched);
}

#[tokio::test(start_paused = true)]
async fn a_broken_feed_leaves_lists_in_their_rhythm_and_is_taken_up_again() {
    let rig = rig(true, Duration::ZERO, &["vm-1"]);
    rig.account
        .broken(&[(Operation::Changes, ErrorKind::Unavailable)]);
    for _ in 0..60 {
        rig.pass(10).await;
        let fact = rig.fact("vm-1").unwrap();
        assert!(!fact.watched);
    }
    let (lists, polls) = (
        rig.account.count(Operation::List),
        rig.account.count(Operation::Changes),
    );
    assert!(
        lists <= 34 && polls <= lists,
        "{lists} lists, {polls} polls in 30 intervals"
    );
    rig.account.broken(&[]);
    rig.pass(20).await;
    assert!(rig.fact("vm-1").unwrap().watched);
}

#[tokio::test(start_paused = true)]
async fn an_expired_revision_is_followed_by_a_list() {
    let rig = rig(true, Duration::ZERO, &["vm-1"]);
    rig.pass(60).await;
    rig.account
        .broken(&[(Operation::Changes, ErrorKind::Expired)]);
    rig.pass(12).await;
    rig.account.put("vm-1", InstancePhase::Stopped);
    rig.account.broken(&[]);
    rig.pass(22).await;
    assert_eq!(rig.woken(), ["uid-1"]);
    assert!(rig.fact("vm-1").unwrap().watched);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_lost_its_state_is_listed_anew_and_everybody_looks_for_himself() {
    let rig = rig(true, Duration::ZERO, &["vm-1", "vm-2"]);
    rig.pass(60).await;
    rig.account.revision.store(1, Ordering::SeqCst);
    *rig.account.vms.lock().unwrap() = vec![instance("vm-1", InstancePhase::Running, 1)];
    rig.pass(15).await;
    assert_eq!(rig.woken(), ["uid-1", "uid-2"]);
    assert_eq!(rig.fact("vm-1").unwrap().revision, 1);
    assert!(rig.fact("vm-2").is_none());
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_is_no_fact_and_failing_lists_back_off() {
    let rig = rig(false, Duration::ZERO, &["vm-1"]);
    rig.pass(1).await;
    rig.account
        .broken(&[(Operation::List, ErrorKind::Unavailable)]);
    rig.pass(23).await;
    assert!(rig.fact("vm-1").is_some());
    rig.pass(2).await;
    assert!(rig.fact("vm-1").is_none());
    let before = rig.account.count(Operation::List);
    rig.pass(3600).await;
    let tries = rig.account.count(Operation::List) - before;
    assert!((60..=80).contains(&tries), "{tries} tries in an hour");
    rig.account.broken(&[]);
    rig.pass(60).await;
    assert!(rig.fact("vm-1").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_lags_is_as_old_as_it_may_lag() {
    let rig = rig(false, Duration::from_secs(60), &["vm-1"]);
    rig.pass(1).await;
    assert!(
        rig.fact("vm-1").is_none(),
        "a list of a minute ago proves nothing now"
    );
    rig.account.put("vm-1", InstancePhase::Stopped);
    rig.pass(20).await;
    assert_eq!(rig.woken(), ["uid-1"], "but it wakes");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_went_back_in_time_is_not_trusted_before_somebody_says_so() {
    let rig = rig(false, Duration::ZERO, &["vm-1", "vm-2"]);
    assert!(rig.inventory.is_awaited(), "nothing was listed yet");
    rig.pass(1).await;
    assert!(!rig.inventory.is_awaited() && !rig.inventory.went_back());
    rig.account.revision.store(1, Ordering::SeqCst);
    rig.pass(POLL.as_secs() + 1).await;
    assert!(rig.inventory.went_back());
    rig.pass(POLL.as_secs() + 1).await;
    assert!(
        rig.inventory.went_back(),
        "a list of the new state changes nothing"
    );
    rig.inventory.trust();
    assert!(!rig.inventory.went_back());
}

#[tokio::test(start_paused = true)]
async fn losses_are_counted_by_what_is_known_since_then_alone() {
    let rig = rig(false, Duration::ZERO, &["vm-1"]);
    rig.pass(1).await;
    let shows = |id: &str, since| {
        let owner = Owner {
            uid: Uid::new(format!("uid-{}", id.trim_start_matches("vm-"))),
            ..owner()
        };
        rig.inventory.shows(&owner, &InstanceId::new(id), since)
    };
    let now = rig.time.now();
    assert_eq!(shows("vm-1", Moment::START), Some(true));
    assert_eq!(shows("vm-2", Moment::START), Some(false));
    assert_eq!(shows("vm-1", now), None, "the list is older");
    rig.pass(POLL.as_secs() + 1).await;
    assert_eq!(shows("vm-1", now), Some(true));
}

#[tokio::test(start_paused = true)]
async fn a_first_list_that_fails_is_waited_for_no_longer() {
    let rig = rig(false, Duration::ZERO, &["vm-1"]);
    rig.account
        .broken(&[(Operation::List, ErrorKind::Unavailable)]);
    rig.pass(1).await;
    assert!(!rig.inventory.is_awaited());
}
