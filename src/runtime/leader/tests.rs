mod fake;
pub(crate) mod swarm;

use super::{Leader, Lost, Options, Watchdog, identity};
use crate::domain::term::Term;
use crate::domain::time::Moment;
use crate::runtime::clock::{Clock, ManualClock, TokioClock, wait_until};
use fake::{Fault, LeaseServer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// One machine: a clock and as many candidates as wanted.
struct Stage {
    server: LeaseServer,
    clock: Arc<TokioClock>,
    start: Moment,
}

impl Stage {
    fn new() -> Self {
        let clock = Arc::new(TokioClock::new());
        Self {
            server: LeaseServer::default(),
            start: clock.now(),
            clock,
        }
    }

    fn candidate(&self, name: &str) -> Leader {
        let random = fastrand::Rng::with_seed(3);
        Leader::new(
            self.server.api(),
            Options::new("vmoperator-leader", name),
            self.clock.clone(),
            random,
        )
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn elapsed(&self) -> Duration {
        self.now().since(self.start)
    }

    async fn wait(&self, time: Duration) {
        wait_until(self.clock.as_ref(), self.now() + time).await;
    }

    fn allows(&self, term: &Term) -> bool {
        term.allows(self.now())
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_candidate_makes_the_lease_and_leads_at_once() {
    let stage = Stage::new();
    let mut leader = stage.candidate("a");
    let term = leader.term();
    assert!(!stage.allows(&term));
    leader.acquire().await;
    assert_eq!(stage.elapsed(), Duration::ZERO);
    assert_eq!(
        term.until(),
        Some(stage.now() + 9 * SECOND),
        "renew deadline less the margin"
    );
    let spec = stage.server.spec().unwrap();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_duration_seconds),
        (Some("a"), Some(15))
    );
    assert_eq!(spec.lease_transitions, Some(0));
    assert!(leader.status().is_leading());
}

#[tokio::test(start_paused = true)]
async fn a_leader_renews_every_two_seconds_with_one_write_and_no_read() {
    let stage = Stage::new();
    let mut leader = stage.candidate("a");
    let term = leader.term();
    leader.acquire().await;
    let before = stage.server.requests();
    let held = tokio::time::timeout(60 * SECOND + SECOND / 2, leader.hold()).await;
    assert!(held.is_err(), "{held:?}");
    let requests = stage.server.requests().split_off(before.len());
    assert_eq!(requests, vec!["PUT"; 30]);
    assert!(stage.allows(&term));
}

#[tokio::test(start_paused = true)]
async fn a_follower_takes_over_once_the_lease_has_stood_still_for_its_whole_time() {
    let stage = Stage::new();
    let mut first = stage.candidate("a");
    first.acquire().await;
    // The first one dies here without a word.
    let mut second = stage.candidate("b");
    let term = second.term();
    let early = tokio::time::timeout(14 * SECOND, second.acquire()).await;
    assert!(
        early.is_err() && !stage.allows(&term),
        "15 s have not passed since it looked first"
    );
    assert_eq!(second.status().holder().as_deref(), Some("a"));
    second.acquire().await;
    assert!(
        stage.elapsed() >= 15 * SECOND && stage.elapsed() < 19 * SECOND,
        "{:?}",
        stage.elapsed()
    );
    assert_eq!(stage.server.spec().unwrap().lease_transitions, Some(1));
}

#[tokio::test(start_paused = true)]
async fn wall_clocks_decide_nothing() {
    let stage = Stage::new();
    let mut first = stage.candidate("a");
    first.acquire().await;
    stage.server.edit(|spec| spec.renew_time = None);
    let mut second = stage.candidate("b");
    assert!(
        tokio::time::timeout(10 * SECOND, second.acquire())
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn a_follower_waits_as_long_as_the_holder_asked_for_if_that_is_longer() {
    let stage = Stage::new();
    let mut first = stage.candidate("a");
    first.acquire().await;
    stage
        .server
        .edit(|spec| spec.lease_duration_seconds = Some(60));
    let mut second = stage.candidate("b");
    assert!(
        tokio::time::timeout(59 * SECOND, second.acquire())
            .await
            .is_err()
    );
    second.acquire().await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_cut_off_may_not_write_after_nine_seconds_and_is_lost_after_ten() {
    let stage = Stage::new();
    let mut leader = stage.candidate("a");
    let term = leader.term();
    leader.acquire().await;
    for fault in [Fault::Refuse(500), Fault::Silence, Fault::Refuse(429)] {
        leader.acquire().await;
        let start = stage.now();
        stage.server.set_fault(Some(fault));
        let watch = async {
            wait_until(stage.clock.as_ref(), start + Duration::from_millis(8999)).await;
            assert!(stage.allows(&term), "{fault:?}");
            wait_until(stage.clock.as_ref(), start + 9 * SECOND).await;
            assert!(!stage.allows(&term), "{fault:?}");
        };
        let (lost, ()) = tokio::join!(leader.hold(), watch);
        assert!(
            matches!(lost, Lost::Deadline { last: Some(_), .. }),
            "{lost:?}"
        );
        assert_eq!(stage.now().since(start), 10 * SECOND, "{fault:?}");
        assert!(!leader.status().is_leading());
        stage.server.set_fault(None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_term_counts_from_the_sending_of_a_renewal_and_not_from_its_answer() {
    let stage = Stage::new();
    stage.server.set_fault(Some(Fault::SlowAnswers));
    let mut leader = stage.candidate("a");
    let term = leader.term();
    leader.acquire().await;
    // Three seconds for the read that finds no lease, three more for the answer to its creation.
    assert_eq!(stage.elapsed(), 6 * SECOND);
    assert_eq!(term.until(), Some(stage.start + 12 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_costs_nothing() {
    let stage = Stage::new();
    let mut leader = stage.candidate("a");
    let term = leader.term();
    leader.acquire().await;
    let outages = async {
        for fault in [Fault::Refuse(503), Fault::Silence] {
            stage.server.set_fault(Some(fault));
            stage.wait(4 * SECOND).await;
            stage.server.set_fault(None);
            stage.wait(10 * SECOND).await;
            assert!(stage.allows(&term));
        }
    };
    tokio::select! {
        lost = leader.hold() => panic!("{lost}"),
        () = outages => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_arrived_without_an_answer_is_found_by_the_next_read() {
    let stage = Stage::new();
    let mut leader = stage.candidate("a");
    leader.acquire().await;
    stage.server.set_fault(Some(Fault::LoseAnswers));
    let outage = async {
        stage.wait(4 * SECOND).await;
        stage.server.set_fault(None);
        stage.wait(20 * SECOND).await;
    };
    tokio::select! {
        lost = leader.hold() => panic!("{lost}"),
        () = outage => {}
    }
    assert!(leader.status().is_leading());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_sees_another_name_in_its_lease_stops_at_once() {
    let stage = Stage::new();
    let mut leader = stage.candidate("a");
    let term = leader.term();
    leader.acquire().await;
    stage
        .server
        .edit(|spec| spec.holder_identity = Some("thief".to_owned()));
    let lost = leader.hold().await;
    assert!(
        matches!(lost, Lost::Taken { ref holder, .. } if holder == "thief"),
        "{lost}"
    );
    assert_eq!(stage.elapsed(), 2 * SECOND);
    assert!(!stage.allows(&term));
}

#[tokio::test(start_paused = true)]
async fn a_lease_deleted_by_hand_is_made_again() {
    let stage = Stage::new();
    let mut leader = stage.candidate("a");
    leader.acquire().await;
    stage.server.delete();
    let held = tokio::time::timeout(30 * SECOND, leader.hold()).await;
    assert!(held.is_err(), "{held:?}");
    assert_eq!(
        stage.server.spec().unwrap().holder_identity.as_deref(),
        Some("a")
    );
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_free_for_the_next_try() {
    let stage = Stage::new();
    let mut first = stage.candidate("a");
    let term = first.term();
    first.acquire().await;
    let mut second = stage.candidate("b");
    let hand_over = async {
        stage.wait(5 * SECOND).await;
        first.release().await;
        assert!(!stage.allows(&term));
    };
    let ((), ()) = tokio::join!(second.acquire(), hand_over);
    assert!(stage.elapsed() < 8 * SECOND, "{:?}", stage.elapsed());
    let spec = stage.server.spec().unwrap();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_transitions),
        (Some("b"), Some(1))
    );
}

#[tokio::test(start_paused = true)]
async fn a_release_leaves_a_lease_alone_that_is_not_ours_and_gives_up_in_time() {
    let stage = Stage::new();
    let mut leader = stage.candidate("a");
    leader.acquire().await;
    stage
        .server
        .edit(|spec| spec.holder_identity = Some("b".to_owned()));
    leader.release().await;
    assert_eq!(
        stage.server.spec().unwrap().holder_identity.as_deref(),
        Some("b")
    );
    let mut leader = stage.candidate("b");
    leader.acquire().await;
    stage.server.set_fault(Some(Fault::Silence));
    let start = stage.now();
    leader.release().await;
    assert!(stage.now().since(start) <= 6 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_follower_outlives_an_outage_of_an_hour() {
    let stage = Stage::new();
    stage.server.set_fault(Some(Fault::Silence));
    let mut leader = stage.candidate("a");
    let outage = async {
        stage.wait(3600 * SECOND).await;
        stage.server.set_fault(None);
    };
    let ((), ()) = tokio::join!(leader.acquire(), outage);
    assert!(leader.status().is_leading());
}

#[tokio::test(start_paused = true)]
async fn of_many_candidates_never_two_may_write() {
    let stage = Stage::new();
    let mut candidates: Vec<Leader> = ["a", "b", "c", "d"]
        .map(|name| stage.candidate(name))
        .into();
    let terms: Vec<Term> = candidates.iter().map(Leader::term).collect();
    let lives = candidates.iter_mut().map(|candidate| async {
        loop {
            candidate.acquire().await;
            drop(candidate.hold().await);
        }
    });
    let lives = futures::future::join_all(lives);
    let check = async {
        let mut leaders = std::collections::BTreeSet::new();
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..4000 {
            if random.u8(..) < 8 {
                let faults = [
                    None,
                    None,
                    Some(Fault::Silence),
                    Some(Fault::LoseAnswers),
                    Some(Fault::Refuse(500)),
                ];
                stage.server.set_fault(faults[random.usize(..faults.len())]);
            }
            stage.wait(Duration::from_millis(100)).await;
            let writing: Vec<usize> = (0..terms.len())
                .filter(|n| stage.allows(&terms[*n]))
                .collect();
            assert!(writing.len() <= 1, "{writing:?} at {:?}", stage.elapsed());
            leaders.extend(writing);
        }
        leaders.len()
    };
    let led = tokio::select! { _ = lives => unreachable!(), led = check => led };
    assert!(led >= 2, "the faults changed the leader at least once");
}

#[test]
fn two_processes_of_one_pod_have_two_identities() {
    let mut random = fastrand::Rng::with_seed(1);
    let (one, two) = (
        identity("pod-0", &mut random),
        identity("pod-0", &mut random),
    );
    assert!(one.starts_with("pod-0_") && one != two);
}

#[tokio::test]
async fn the_watchdog_bites_when_the_runtime_does_not_notice_the_deadline() {
    let server = LeaseServer::default();
    let clock = Arc::new(ManualClock::default());
    let random = fastrand::Rng::with_seed(1);
    let mut leader = Leader::new(server.api(), Options::new("l", "a"), clock.clone(), random);
    leader.acquire().await;
    let (bitten, seen) = (Arc::new(AtomicBool::new(false)), leader.status());
    let flag = Arc::clone(&bitten);
    let (tell, told) = std::sync::mpsc::channel();
    let _dog = Watchdog::start(leader.status(), clock.clone(), move || {
        flag.store(true, Ordering::SeqCst);
        tell.send(()).unwrap();
    })
    .unwrap();
    clock.advance(10 * SECOND);
    assert_eq!(seen.overdue(clock.now()), Duration::ZERO);
    assert!(!bitten.load(Ordering::SeqCst));
    clock.advance(Watchdog::PATIENCE);
    told.recv_timeout(30 * SECOND).unwrap();
}
