//! What losses are counted by, and when a list is waited for.

use super::*;

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
