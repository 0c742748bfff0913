use super::{Access, Authority, NO, NoAnswer, REMEMBERED, Refusal, User, YES};
use crate::runtime::clock::ManualClock;
use axum::http::{HeaderMap, Method, StatusCode, header};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Knows tokens that begin with `good`, gives the right to whoever is on the list, and counts what it is asked.
#[derive(Default)]
struct Book {
    tokens: AtomicUsize,
    rights: AtomicUsize,
    allowed: Mutex<Vec<String>>,
    away: AtomicBool,
    /// Moved on by each question, as if its answer took a moment.
    clock: Option<Arc<ManualClock>>,
}

impl Book {
    /// Others run meanwhile, and time goes on.
    async fn think(&self) {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        if let Some(clock) = &self.clock {
            clock.advance(Duration::from_millis(1));
        }
    }
}

impl Authority for Arc<Book> {
    async fn who(&self, token: &str) -> Result<Option<User>, NoAnswer> {
        self.tokens.fetch_add(1, Ordering::SeqCst);
        self.think().await;
        if self.away.load(Ordering::SeqCst) {
            return Err(NoAnswer("away".to_owned()));
        }
        Ok(token.starts_with("good").then(|| User {
            name: token.to_owned(),
            ..User::default()
        }))
    }

    async fn may(&self, user: &User, verb: &str, path: &str) -> Result<bool, NoAnswer> {
        self.rights.fetch_add(1, Ordering::SeqCst);
        self.think().await;
        let right = format!("{} {verb} {path}", user.name);
        Ok(self.allowed.lock().unwrap().contains(&right))
    }
}

struct Rig {
    book: Arc<Book>,
    clock: Arc<ManualClock>,
    access: Access<Arc<Book>>,
}

fn rig() -> Rig {
    let (book, clock) = (Arc::new(Book::default()), Arc::new(ManualClock::default()));
    let access = Access::new(Arc::clone(&book), Arc::clone(&clock) as _);
    Rig {
        book,
        clock,
        access,
    }
}

impl Rig {
    fn allow(&self, right: &str) {
        self.book.allowed.lock().unwrap().push(right.to_owned());
    }

    async fn get(&self, header: Option<&str>) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        if let Some(text) = header {
            headers.insert(header::AUTHORIZATION, text.parse().unwrap());
        }
        self.access.check(&headers, &Method::GET, "/metrics").await
    }

    fn asked(&self) -> (usize, usize) {
        let count = |of: &AtomicUsize| of.load(Ordering::SeqCst);
        (count(&self.book.tokens), count(&self.book.rights))
    }
}

#[tokio::test]
async fn only_a_known_token_with_the_right_gets_through() {
    let rig = rig();
    rig.allow("good-1 get /metrics");
    assert_eq!(rig.get(Some("Bearer good-1")).await, Ok(()));
    assert_eq!(rig.get(Some("bearer  good-1 ")).await, Ok(()));
    let forbidden = rig.get(Some("Bearer good-2")).await.unwrap_err();
    let words = "good-2 has no right to get /metrics\n".to_owned();
    assert_eq!(forbidden.words(), (StatusCode::FORBIDDEN, words));
    let long = format!("Bearer good-{}", "x".repeat(20_000));
    let none = [
        None,
        Some("Bearer bad"),
        Some("Basic good-1"),
        Some("Bearer"),
        Some(&long),
    ];
    for header in none {
        let refusal = rig.get(header).await.unwrap_err();
        assert_eq!(refusal.words().0, StatusCode::UNAUTHORIZED, "{header:?}");
    }
}

#[tokio::test]
async fn answers_are_remembered_and_a_no_is_forgotten_sooner_than_a_yes() {
    let rig = rig();
    rig.allow("good-1 get /metrics");
    for _ in 0..5 {
        assert!(rig.get(Some("Bearer good-1")).await.is_ok());
        assert!(rig.get(Some("Bearer bad")).await.is_err());
    }
    assert_eq!(rig.asked(), (2, 1), "one question for each");
    rig.clock.advance(NO);
    assert!(rig.get(Some("Bearer good-1")).await.is_ok());
    assert!(rig.get(Some("Bearer bad")).await.is_err());
    assert_eq!(rig.asked(), (3, 1));
    rig.book.allowed.lock().unwrap().clear();
    rig.clock.advance(YES - NO - Duration::from_secs(1));
    assert!(rig.get(Some("Bearer good-1")).await.is_ok(), "not yet");
    rig.clock.advance(Duration::from_secs(1));
    assert!(rig.get(Some("Bearer good-1")).await.is_err());
}

#[tokio::test]
async fn silence_of_the_api_server_is_told_and_not_remembered() {
    let rig = rig();
    rig.allow("good-1 get /metrics");
    rig.book.away.store(true, Ordering::SeqCst);
    let refusal = rig.get(Some("Bearer good-1")).await.unwrap_err();
    assert_eq!(refusal.words().0, StatusCode::SERVICE_UNAVAILABLE);
    rig.book.away.store(false, Ordering::SeqCst);
    assert_eq!(rig.get(Some("Bearer good-1")).await, Ok(()));
}

#[tokio::test]
async fn whoever_tries_tokens_fills_a_bounded_memory() {
    let rig = rig();
    for number in 0..2 * REMEMBERED {
        let header = format!("Bearer bad-{number}");
        assert!(rig.get(Some(&header)).await.is_err());
    }
    assert_eq!(rig.access.users.len(), REMEMBERED);
}

#[tokio::test]
async fn the_verb_is_the_method_and_the_path_counts() {
    let rig = rig();
    rig.allow("good-1 put /debug/log-level");
    let mut headers = HeaderMap::new();
    headers.insert(header::AUTHORIZATION, "Bearer good-1".parse().unwrap());
    let check = async |method: &Method, path: &str| rig.access.check(&headers, method, path).await;
    assert!(check(&Method::PUT, "/debug/log-level").await.is_ok());
    assert!(check(&Method::GET, "/debug/log-level").await.is_err());
    assert!(check(&Method::PUT, "/debug/state").await.is_err());
}

/// A rig whose authority needs a moment for each answer.
fn slow_rig() -> Rig {
    let clock = Arc::new(ManualClock::default());
    let book = Arc::new(Book {
        clock: Some(Arc::clone(&clock)),
        ..Book::default()
    });
    let access = Access::new(Arc::clone(&book), Arc::clone(&clock) as _);
    Rig {
        book,
        clock,
        access,
    }
}

#[tokio::test]
async fn a_burst_of_requests_with_one_token_asks_once() {
    let rig = slow_rig();
    rig.allow("good-1 get /metrics");
    let burst = (0..100).map(|_| rig.get(Some("Bearer good-1")));
    let answers = futures::future::join_all(burst).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(rig.asked(), (1, 1));
    let burst = (0..100).map(|_| rig.get(Some("Bearer good-2")));
    let answers = futures::future::join_all(burst).await;
    assert!(answers.iter().all(Result::is_err), "{answers:?}");
    assert_eq!(rig.asked(), (2, 2), "a no is shared like a yes");
}

#[tokio::test]
async fn a_burst_that_meets_silence_shares_it_and_the_next_request_asks_again() {
    let rig = slow_rig();
    rig.allow("good-1 get /metrics");
    rig.book.away.store(true, Ordering::SeqCst);
    let burst = (0..100).map(|_| rig.get(Some("Bearer good-1")));
    let answers = futures::future::join_all(burst).await;
    let silent = |answer: &Result<(), Refusal>| matches!(answer, Err(Refusal::NoAnswer(_)));
    assert!(answers.iter().all(silent), "{answers:?}");
    assert_eq!(rig.asked(), (1, 0));
    rig.book.away.store(false, Ordering::SeqCst);
    assert_eq!(rig.get(Some("Bearer good-1")).await, Ok(()));
    assert_eq!(rig.asked(), (2, 1));
}

#[tokio::test]
async fn whoever_gives_up_asking_leaves_the_question_to_the_next() {
    let rig = slow_rig();
    rig.allow("good-1 get /metrics");
    let mut first = Box::pin(rig.get(Some("Bearer good-1")));
    let second = rig.get(Some("Bearer good-1"));
    assert!(futures::poll!(&mut first).is_pending());
    drop(first);
    assert_eq!(second.await, Ok(()));
    assert_eq!(rig.asked(), (2, 1));
}
