//! Chaos with real processes: three operators that elect a leader, a real API server, a cloud, and between them all that
//! goes wrong in production, drawn by a seed. When it is over, every object must have its one VM and no VM may be left
//! without its object; what happened meanwhile is judged from the audit log, the Lease's history and the provider's log.
//!
//! ```text
//! cargo test --all-features --test operator_chaos                          two minutes of faults, a new seed each time
//! CHAOS_SECONDS=1800 CHAOS_SEED=7 cargo test --all-features --test operator_chaos -- --nocapture
//! ```
//!
//! A seed fixes which faults are drawn and in which order; when they meet the processes is up to the machine.
#![cfg(test)]

#[path = "../e2e/mod.rs"]
mod e2e;
mod fault;
mod storm;
#[path = "../support/mod.rs"]
mod support;
mod users;

use std::time::{Duration, Instant};

use storm::Storm;

/// Faults below which two minutes have shown nothing; a longer storm must have more in proportion.
const LEAST_FAULTS: u64 = 30;
/// How many times longer the storm may last until it has shown something.
const LONGER: u32 = 4;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the storm and its end are timed by the real clock"
)]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn after_the_storm_each_object_has_its_one_vm_and_no_vm_is_without_its_object() {
    let seconds = number("CHAOS_SECONDS").unwrap_or(120);
    let seed = number("CHAOS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("CHAOS_SEED={seed} CHAOS_SECONDS={seconds}");
    let least = (LEAST_FAULTS * seconds).div_ceil(120);
    let mut storm = Storm::gather(seed);
    let began = now();
    let lasts = |time: u32| now() < began + time * Duration::from_secs(seconds);
    // On a slow machine fewer meet anything in the same time: what counts is how many, not how fast.
    while lasts(1) || storm.faults() < least && lasts(LONGER) {
        storm.blow();
    }
    let blew = (now() - began).as_secs();
    let faults = storm.calm();
    let calm = now();
    storm.until_settled();
    println!(
        "{faults} effective faults in {blew} s; {} objects were made, {} deleted; settled {:.1} s after the last fault",
        storm.users.made,
        storm.users.deleted,
        (now() - calm).as_secs_f64()
    );
    storm.judge();
    assert!(
        faults >= least,
        "only {faults} faults met anything: the storm has shown nothing"
    );
}
