//! A restart with 5,000 VMs while 50 of them are changed 100 times a second. Queue and workers are the production ones;
//! passes are doubles that take as long as a look at the cluster does, or a call to a provider.

use super::{SECOND, wait};
use crate::domain::key::ObjectKey;
use crate::runtime::clock::TokioClock;
use crate::runtime::queue::{self, WorkQueue};
use crate::runtime::schedule::{self, Job, Lane, Outcome};
use crate::runtime::workers::{Options, Pass, Reconcile, Unobserved, Workers};
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::Span;

const NAMESPACES: usize = 50;
const VMS: usize = 5_000;
const HOT: usize = 50;
/// 100 changes a second.
const BETWEEN: Duration = Duration::from_millis(10);
const NEW: &str = "new";

/// A VM that is there takes a look; a new one takes an intent first and a call then.
#[derive(Default)]
struct Passes {
    log: Mutex<Vec<ObjectKey>>,
    intended: Mutex<HashSet<ObjectKey>>,
}

impl Reconcile<ObjectKey> for Passes {
    fn span(&self, _job: &Job<ObjectKey>, _pass: u64) -> Span {
        Span::none()
    }

    async fn reconcile(&self, job: &Job<ObjectKey>) -> Pass {
        self.log.lock().unwrap().push(job.key.clone());
        wait(Duration::from_millis(20)).await;
        let is_new = &*job.key.name == NEW;
        let first = is_new && self.intended.lock().unwrap().insert(job.key.clone());
        let outcome = if first {
            Outcome::Again(Duration::ZERO)
        } else {
            Outcome::Resync(600 * SECOND)
        };
        Pass {
            outcome,
            summary: String::new(),
            changed: false,
        }
    }
}

fn vm(number: usize) -> ObjectKey {
    ObjectKey::new(
        format!("tenant-{}", number % NAMESPACES),
        format!("vm-{number}"),
    )
}

/// How many passes of others begin between the wish and the `which`-th pass of the key.
fn passes_before(log: &[ObjectKey], from: usize, key: &ObjectKey, which: usize) -> usize {
    let of_it = log
        .iter()
        .enumerate()
        .skip(from)
        .filter(|(_, one)| *one == key);
    let (at, _) = of_it.take(which).last().expect("it ran");
    at - from
}

#[tokio::test(start_paused = true)]
async fn a_restart_under_fire_reconciles_every_vm_and_a_new_one_soon() {
    let clock = Arc::new(TokioClock::new());
    let (waits, random) = (schedule::Options::default(), fastrand::Rng::with_seed(5));
    let observer = Arc::new(queue::Unobserved);
    let queue = WorkQueue::new(waits, random, clock.clone(), observer);
    let passes = Arc::new(Passes::default());
    let options = Options {
        concurrency: NonZeroUsize::new(5).unwrap(),
        pass_limit: 300 * SECOND,
    };
    for number in 0..VMS {
        queue.add(vm(number), Lane::Low);
    }
    let workers = Workers::start(
        queue.clone(),
        options,
        passes.clone(),
        clock,
        Arc::new(Unobserved),
    );
    let new = ObjectKey::new("tenant-0", NEW);
    let (mut random, mut asked_at) = (fastrand::Rng::with_seed(9), None);
    let (mut seen, mut read) = (HashSet::new(), 0);
    // Five workers make 250 passes a second; the hot ones wish for 100 of them.
    for tick in 0..20_000 {
        // The hot ones are all of the new one's tenant: the worst place to be.
        queue.cut_short(vm(NAMESPACES * random.usize(..HOT)));
        if tick == 300 {
            asked_at = Some(passes.log.lock().unwrap().len());
            queue.cut_short(new.clone());
        }
        wait(BETWEEN).await;
        let log = passes.log.lock().unwrap();
        seen.extend(log[read..].iter().cloned());
        read = log.len();
        if seen.len() == VMS + 1 {
            break;
        }
    }
    let log = passes.log.lock().unwrap().clone();
    assert_eq!(seen.len(), VMS + 1, "some VM was never looked at");
    // Two turns of its own, each behind at most every hot one of its tenant, the turns of the low lane between them.
    let before = passes_before(&log, asked_at.expect("it came"), &new, 2);
    assert!(
        before <= 2 * HOT * 8 / 7,
        "{before} other passes came before the new one's call"
    );
    drop(workers);
}
