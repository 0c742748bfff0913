//! Passes beside an inventory: what it may tell, and what it may not.

use std::collections::HashSet;
use std::sync::Arc;

use super::rig::Rig;
use crate::controller::Requeue;
use crate::domain::{InstanceId, InstancePhase, Moment};
use crate::lifecycle::fixtures::{config, policy, secs};
use crate::provider::inventory::{Inventory, InventoryOptions};
use crate::provider::time::Timers;
use crate::runtime::clock::Clock;

impl Rig {
    /// An inventory whose first list is still under way.
    fn unlisted(&self) -> Arc<Inventory> {
        let options = InventoryOptions {
            cluster: policy().cluster,
            capabilities: config().capabilities,
            poll: secs(30),
            timeout: secs(15),
        };
        Arc::new(Inventory::new(options).unwrap())
    }

    /// The cloud is listed: from now on there is an inventory, as it is at this moment.
    fn list(&self) {
        let inventory = self.unlisted();
        let lag = config().capabilities.list_lag;
        // A list of some time ago, so that the lag of lists is over.
        let now: Moment = self.time.0.now() + lag;
        let time = Timers(move || now);
        let mut following = Box::pin(inventory.follow(&self.cloud, &time, |_: HashSet<_>| {}));
        assert!(futures::FutureExt::now_or_never(&mut following).is_none());
        drop(following);
        *self.sky.inventory.lock().unwrap() = Some(inventory);
    }

    fn looks(&self) -> (usize, usize) {
        (self.cloud.count("get"), self.cloud.count("find"))
    }
}

async fn running() -> Rig {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    // The look that found it running.
    rig.pass().await;
    rig
}

#[tokio::test]
async fn a_steady_vm_is_looked_at_in_the_inventory_the_full_look_too() {
    let mut rig = running().await;
    let looks = rig.looks();
    for _ in 0..30 {
        rig.time.0.advance(secs(30));
        rig.list();
        let pass = rig.pass().await;
        assert_eq!(pass.requeue, Requeue::Steady(secs(30)));
    }
    assert_eq!(rig.looks(), looks);
    assert_eq!(rig.api.writes().len(), 3);
    rig.cloud.all_are(&InstancePhase::Stopped);
    rig.list();
    rig.pass().await;
    assert_eq!(
        (rig.status()["phase"].as_str(), rig.looks()),
        (Some("Stopped"), looks)
    );
}

#[tokio::test]
async fn an_instance_on_its_way_that_is_watched_is_not_polled() {
    let mut rig = Rig::with_object();
    rig.pass().await;
    let made = rig.pass().await;
    assert_eq!(
        (made.action, made.requeue),
        ("create", Requeue::After(secs(2)))
    );
    rig.list();
    let mut pass = rig.pass().await;
    if pass.requeue == Requeue::Now {
        assert_eq!(pass.action, "apply-child", "what it owns comes first");
        pass = rig.pass().await;
    }
    assert_eq!(pass.requeue, Requeue::Steady(secs(30)));
    assert_eq!(rig.looks(), (0, 0));
}

#[tokio::test]
async fn what_is_older_than_the_last_look_or_too_old_or_absent_is_asked_for() {
    let mut rig = running().await;
    rig.list();
    let shown = rig.sky.inventory.lock().unwrap().clone();
    rig.cloud.all_are(&InstancePhase::Stopped);
    *rig.sky.inventory.lock().unwrap() = None;
    rig.pass().await;
    let (gets, _) = rig.looks();
    *rig.sky.inventory.lock().unwrap() = shown;
    rig.pass().await;
    assert_eq!(
        rig.status()["phase"],
        "Stopped",
        "never back to what was before"
    );
    assert_eq!(rig.looks().0, gets + 1);
    rig.list();
    rig.time.0.advance(secs(120));
    rig.pass().await;
    assert_eq!(rig.looks().0, gets + 2, "too old");
    rig.cloud.lock().instances.clear();
    rig.list();
    let finds = rig.looks().1;
    rig.pass().await;
    assert_eq!(rig.looks(), (gets + 3, finds + 1), "absent");
}

#[tokio::test]
async fn a_second_instance_in_the_inventory_is_looked_for() {
    let mut rig = running().await;
    let mut double = rig.cloud.lock().instances[0].clone();
    double.id = InstanceId::new("i-9");
    rig.cloud.lock().instances.push(double);
    rig.list();
    let gets = rig.looks().0;
    rig.pass().await;
    assert_eq!(rig.looks().0, gets + 1);
}

#[tokio::test]
async fn a_deletion_takes_nothing_from_the_inventory() {
    let mut rig = running().await;
    rig.list();
    rig.api.delete();
    rig.deliver();
    let gets = rig.looks().0;
    assert_eq!(rig.settle().await, ["delete", "remove-finalizer"]);
    assert!(rig.looks().0 > gets);
    assert_eq!(rig.instances(), 0);
}

#[tokio::test]
async fn after_a_start_a_list_tells_of_what_is_at_rest_and_nobody_is_asked() {
    let mut rig = running().await;
    rig.crash();
    rig.list();
    let (looks, writes) = (rig.looks(), rig.api.writes().len());
    for _ in 0..3 {
        let pass = rig.pass().await;
        assert_eq!(pass.requeue, Requeue::Steady(secs(30)));
    }
    assert_eq!((rig.looks(), rig.api.writes().len()), (looks, writes));
    // What it shows otherwise than the status does is asked for: the list may be older than the status.
    rig.cloud.all_are(&InstancePhase::Stopped);
    rig.list();
    rig.pass().await;
    assert_eq!(rig.status()["phase"], "Stopped");
    assert_eq!(rig.looks().0, looks.0 + 1);
}

#[tokio::test]
async fn after_a_start_the_first_list_is_waited_for_by_what_is_at_rest_alone() {
    let mut rig = running().await;
    rig.crash();
    *rig.sky.inventory.lock().unwrap() = Some(rig.unlisted());
    let (looks, writes) = (rig.looks(), rig.api.writes().len());
    let pass = rig.pass().await;
    assert_eq!(pass.requeue, Requeue::After(secs(2)));
    assert_eq!((rig.looks(), rig.api.writes().len()), (looks, writes));
    rig.api.delete();
    rig.deliver();
    rig.pass().await;
    assert!(rig.looks().0 > looks.0, "a deletion waits for no list");
}

#[tokio::test]
async fn after_a_start_what_the_list_does_not_show_is_asked_for() {
    let mut rig = running().await;
    rig.crash();
    rig.cloud.lock().instances.clear();
    rig.list();
    let looks = rig.looks();
    rig.pass().await;
    assert_eq!(
        rig.looks(),
        (looks.0 + 1, looks.1 + 1),
        "absence is no proof"
    );
    assert_eq!(rig.reason("Provisioned"), "Lost");
}
