//! The API server that the simulator uses answers as the real one: the same random requests to both, the same outcomes,
//! objects and watch events. The real one is asked through the operator's own client.

/// The simulator's own source, compiled once more.
#[expect(dead_code, reason = "the simulator uses parts that no request reaches")]
#[path = "../../src/simulation/api_server.rs"]
mod api_server;
mod pair;
mod real;
mod requests;

use futures::TryStreamExt;
use kube::api::{Api, WatchEvent, WatchParams};

use self::api_server::{ApiServer, Kind};
use self::pair::Pair;
use crate::api::VirtualMachine;
use crate::controller::View;
use crate::server::namespace;

/// Sequences in the gate; `CONFORMANCE_SEEDS` says how many else.
const SEEDS: u64 = 12;
/// Requests of a sequence.
const REQUESTS: usize = 60;

/// What is done to the double beforehand.
type Doctor = fn(&mut ApiServer);

/// Runs a sequence on both; gives what differed first.
async fn differing(seed: u64, doctor: Doctor) -> Option<String> {
    let asked = namespace("conformance").await;
    let mut pair = Pair::new(asked, seed);
    doctor(&mut pair.double);
    let begin = pair.version().await;
    for number in 0..REQUESTS {
        let request = pair.draw();
        if let Err(differs) = pair.send(&request).await {
            return Some(format!("request {number}, {request:?}: {differs}"));
        }
    }
    watched(&pair, &begin).await.err()
}

/// Both tell of the same versions in the same order.
async fn watched(pair: &Pair, begin: &str) -> Result<(), String> {
    let vms: Api<VirtualMachine> = pair.vms();
    let stream = vms
        .watch(&WatchParams::default().timeout(30), begin)
        .await
        .map_err(|error| error.to_string())?;
    let mut stream = std::pin::pin!(stream);
    let mut last = 0;
    for (number, expected) in pair.double.log.iter().enumerate() {
        let event = stream.try_next().await.map_err(|error| error.to_string())?;
        let (kind, vm) = match event {
            Some(WatchEvent::Added(vm)) => (Kind::Added, vm),
            Some(WatchEvent::Modified(vm)) => (Kind::Modified, vm),
            Some(WatchEvent::Deleted(vm)) => (Kind::Deleted, vm),
            other => return Err(format!("watch event {number}: {other:?}")),
        };
        let real = View::of(&vm, &pair.cluster);
        let version: u64 = real
            .object
            .version
            .parse()
            .map_err(|_| "a version is no number")?;
        if version <= last {
            return Err(format!(
                "watch event {number}: version {version} after {last}"
            ));
        }
        last = version;
        let (double, real) = (pair.shown_double(&expected.view), pair.shown_real(&real));
        if kind != expected.kind || double != real {
            let kinds = (expected.kind, kind);
            return Err(format!(
                "watch event {number}, {kinds:?}:\n{double}\n{real}"
            ));
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_simulated_api_server_answers_as_the_real_one() {
    let seeds = std::env::var("CONFORMANCE_SEEDS").ok();
    let seeds = seeds.map_or(SEEDS, |seeds| seeds.parse().expect("a number of seeds"));
    for seed in 1..=seeds {
        println!("seed {seed}");
        if let Some(differs) = differing(seed, |_| ()).await {
            panic!("seed {seed}: {differs}");
        }
    }
}

#[tokio::test]
async fn a_double_that_does_not_guard_writes_is_found_out() {
    let doctors: [(&str, Doctor); 2] = [
        ("metadata", |double| double.unguarded_metadata = true),
        ("status", |double| double.unguarded_status = true),
    ];
    for (what, doctor) in doctors {
        let mut found = None;
        for seed in 1..=SEEDS {
            found = differing(seed, doctor).await;
            if found.is_some() {
                println!("{what}: seed {seed}: {found:?}");
                break;
            }
        }
        assert!(found.is_some(), "unguarded {what} was not found out");
    }
}
