//! The client against servers of the provider API: the mock of this repository and, where it is there, a second
//! one that was written independently in Go. What only one of the three believes shows here.
#![cfg(test)]
#![cfg(feature = "cli")]

#[path = "provider_contract/servers.rs"]
mod servers;

use std::io::Write;
use std::time::Duration;

use servers::{Account, Client, Cloud, Kind, Server};
use vmoperator::domain::quantity::Quantity;
use vmoperator::domain::{
    Capabilities, ClusterId, CreateBody, ErrorKind, IdempotencyKey, Incarnation, Instance,
    InstanceId, InstancePhase, InstanceSpec, Moment, ObjectKey, Owner, ProviderError, Uid,
};
use vmoperator::provider::Provider;

/// Creates of this test may start at any time.
const WHENEVER: Moment = Moment::from_nanos(u64::MAX);

fn owner(uid: &str) -> Owner {
    Owner {
        cluster: ClusterId::new("cluster-1"),
        uid: Uid::new(uid),
    }
}

/// A create of this owner's incarnation with so many CPUs.
fn create(owner: &Owner, incarnation: u32, cpu: u32) -> (IdempotencyKey, CreateBody) {
    let incarnation = Incarnation::new(incarnation).unwrap();
    let spec = InstanceSpec {
        image: "ubuntu-24.04".to_owned(),
        cpu,
        memory: "2048Mi".to_owned(),
    };
    let object = ObjectKey::new("default", "vm");
    let body = CreateBody::new(&spec, &object, owner, incarnation);
    (IdempotencyKey::derive(owner, incarnation), body)
}

async fn made(provider: &Client, owner: &Owner, incarnation: u32) -> Instance {
    let (key, body) = create(owner, incarnation, 2);
    provider.create(&key, &body, WHENEVER).await.unwrap()
}

fn kind<T>(result: Result<T, ProviderError>) -> Result<T, ErrorKind> {
    result.map_err(|error| error.kind)
}

/// Looks until `done` says so; the bound is far beyond any delay of the servers.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> T, done: impl Fn(&T) -> bool) -> T {
    for _ in 0..600 {
        let seen = look().await;
        if done(&seen) {
            return seen;
        }
        servers::wait(Duration::from_millis(50)).await;
    }
    panic!("never seen: {what}")
}

/// Runs a test against each kind of server that is there.
async fn against_each(flags: &[(Cloud, &str)], test: impl AsyncFn(&Server)) {
    for kind in [Kind::Mock, Kind::Independent] {
        match Server::start(kind, flags).await {
            Ok(server) => test(&server).await,
            // Past the capture of a passing test, so that it is seen in each run.
            Err(reason) => {
                let line = format!("SKIPPED for {kind:?}: {reason}\n");
                std::io::stderr().write_all(line.as_bytes()).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_vm_is_made_once_seen_by_its_owner_and_deleted() {
    against_each(&[(Cloud::ProvisioningMillis, "200")], async |server| {
        let provider = server.client(Account::First);
        let can = provider.capabilities().await.unwrap();
        assert!(can.safe_create() && can.tag_filter, "{can:?}");
        let owner = owner("uid-1");
        assert_eq!(provider.find(&owner).await, Ok(Vec::new()));

        let vm = made(&provider, &owner, 1).await;
        assert!(vm.belongs_to(&owner), "{vm:?}");
        assert_eq!(vm.incarnation(), Incarnation::FIRST);
        assert_eq!((vm.image.as_str(), vm.cpu), ("ubuntu-24.04", 2));
        assert_eq!(vm.memory, Quantity::parse("2Gi").unwrap());
        assert!(!vm.created_at.is_empty());
        let again = made(&provider, &owner, 1).await;
        assert_eq!(
            (again.id.clone(), again.created_at),
            (vm.id.clone(), vm.created_at.clone())
        );

        let look = async || provider.get(&vm.id).await.unwrap();
        let running = until("Running", look, |vm| vm.phase == InstancePhase::Running).await;
        assert!(!running.addresses.is_empty(), "{running:?}");
        assert_eq!(running.created_at, vm.created_at);
        assert_eq!(provider.find(&owner).await, Ok(vec![running]));

        let (key, other_body) = create(&owner, 1, 4);
        let reused = provider.create(&key, &other_body, WHENEVER).await;
        assert_eq!(kind(reused), Err(ErrorKind::KeyReused));

        assert_eq!(provider.delete(&vm.id).await, Ok(()));
        let look = async || kind(provider.get(&vm.id).await);
        let _ = until("gone", look, |seen| *seen == Err(ErrorKind::NotFound)).await;
        assert_eq!(provider.find(&owner).await, Ok(Vec::new()));
        assert_eq!(provider.delete(&vm.id).await, Ok(()));
        let (key, body) = create(&owner, 1, 2);
        let late = provider.create(&key, &body, WHENEVER).await;
        assert_eq!(kind(late), Err(ErrorKind::KeyOfDeleted));
        let other_body = provider.create(&key, &other_body, WHENEVER).await;
        assert_eq!(kind(other_body), Err(ErrorKind::KeyReused));
    })
    .await;
}

#[tokio::test]
async fn a_delete_that_takes_its_time_is_accepted_and_ends() {
    against_each(&[(Cloud::DeleteMillis, "500")], async |server| {
        let provider = server.client(Account::First);
        assert!(provider.capabilities().await.unwrap().delete_is_async);
        let vm = made(&provider, &owner("uid-1"), 1).await;
        assert_eq!(provider.delete(&vm.id).await, Ok(()));
        assert_eq!(provider.delete(&vm.id).await, Ok(()));
        let look = async || kind(provider.get(&vm.id).await);
        let _ = until("gone", look, |seen| *seen == Err(ErrorKind::NotFound)).await;
    })
    .await;
}

#[tokio::test]
async fn a_find_reads_all_pages_and_nobody_elses_vms() {
    against_each(&[(Cloud::PageSize, "2")], async |server| {
        let provider = server.client(Account::First);
        let (mine, other) = (owner("uid-1"), owner("uid-2"));
        for incarnation in 1..=7 {
            made(&provider, &mine, incarnation).await;
        }
        made(&provider, &other, 1).await;
        let found = provider.find(&mine).await.unwrap();
        let mut seen: Vec<u32> = found.iter().map(|vm| vm.incarnation().get()).collect();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7]);
        assert!(found.iter().all(|vm| vm.belongs_to(&mine)));
        assert_eq!(provider.find(&other).await.unwrap().len(), 1);
        assert_eq!(provider.find(&owner("uid-3")).await, Ok(Vec::new()));
    })
    .await;
}

#[tokio::test]
async fn accounts_do_not_see_each_other_and_a_wrong_key_sees_nothing() {
    against_each(&[], async |server| {
        let (first, second) = (
            server.client(Account::First),
            server.client(Account::Second),
        );
        let accounts = (first.capabilities().await, second.capabilities().await);
        let accounts = (accounts.0.unwrap().account, accounts.1.unwrap().account);
        assert!(
            accounts.0.is_some() && accounts.0 != accounts.1,
            "{accounts:?}"
        );
        let owner = owner("uid-1");
        let vm = made(&first, &owner, 1).await;
        assert_eq!(kind(second.get(&vm.id).await), Err(ErrorKind::NotFound));
        assert_eq!(second.find(&owner).await, Ok(Vec::new()));
        assert_eq!(second.delete(&vm.id).await, Ok(()));
        assert!(first.get(&vm.id).await.is_ok());

        let (key, body) = create(&owner, 1, 2);
        for stranger in [server.client(Account::Wrong), server.client(Account::None)] {
            let refused = Err(ErrorKind::Unauthorized);
            assert_eq!(
                kind(stranger.capabilities().await),
                refused.map(|()| Capabilities::default())
            );
            assert_eq!(kind(stranger.delete(&vm.id).await), refused);
            assert_eq!(
                kind(stranger.get(&vm.id).await),
                Err(ErrorKind::Unauthorized)
            );
            let made = stranger.create(&key, &body, WHENEVER).await;
            assert_eq!(kind(made), Err(ErrorKind::Unauthorized));
        }
    })
    .await;
}

#[tokio::test]
async fn refusals_are_understood() {
    against_each(&[(Cloud::Quota, "1")], async |server| {
        let provider = server.client(Account::First);
        let owner = owner("uid-1");
        let (key, body) = create(&owner, 1, 0);
        let invalid = provider.create(&key, &body, WHENEVER).await.unwrap_err();
        assert_eq!(invalid.kind, ErrorKind::Invalid);
        assert!(
            invalid.request_id.is_some() && invalid.code.is_some(),
            "{invalid:?}"
        );
        // A refused request did not use its key up.
        let vm = made(&provider, &owner, 1).await;
        let (key, body) = create(&owner, 2, 2);
        let full = provider.create(&key, &body, WHENEVER).await;
        assert_eq!(kind(full), Err(ErrorKind::QuotaExceeded));
        // A known key is answered before the quota.
        assert_eq!(made(&provider, &owner, 1).await.id, vm.id);
        for id in ["vm-999999", "..%2f", "a/b", "%2e%2e", "x?y", "x#y"] {
            let seen = provider.get(&InstanceId::new(id)).await;
            assert_eq!(kind(seen), Err(ErrorKind::NotFound), "{id}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_full_rate_is_told_with_the_time_to_wait() {
    against_each(&[(Cloud::RatePerSecond, "1")], async |server| {
        let provider = server.client(Account::First);
        let look = async || provider.capabilities().await;
        let limited = until("429", look, Result::is_err).await.unwrap_err();
        assert_eq!(limited.kind, ErrorKind::RateLimited);
        assert_eq!(limited.status, Some(429));
        let wait = limited.retry_after.unwrap();
        assert!(wait >= Duration::from_secs(1) && wait <= Duration::from_secs(600));
    })
    .await;
}

#[tokio::test]
async fn a_basic_provider_makes_shows_and_deletes() {
    against_each(&[(Cloud::Basic, "")], async |server| {
        let provider = server.client(Account::First);
        assert_eq!(provider.capabilities().await, Ok(Capabilities::default()));
        let owner = owner("uid-1");
        let vm = made(&provider, &owner, 1).await;
        assert_eq!(provider.get(&vm.id).await.unwrap().id, vm.id);
        // Its keys are not honoured.
        assert_ne!(made(&provider, &owner, 1).await.id, vm.id);
        let found = provider.find(&owner).await;
        assert_eq!(kind(found), Err(ErrorKind::Malformed));
        assert_eq!(provider.delete(&vm.id).await, Ok(()));
        let look = async || kind(provider.get(&vm.id).await);
        let _ = until("gone", look, |seen| *seen == Err(ErrorKind::NotFound)).await;
        assert_eq!(provider.delete(&vm.id).await, Ok(()));
    })
    .await;
}
