//! Who may read what a secure server tells: whoever the API server knows by a token and allows the path.
//!
//! ```text
//! no token ───────────────────────────────► 401
//! token ── TokenReview ── unknown ────────► 401
//!               │ user
//!               └── SubjectAccessReview ── no ─► 403      no answer at either step ─► 503
//!                           └── yes ─► the page
//! ```
//!
//! Answers are remembered for a short while, refusals for less, in a bounded number: neither a scraper nor somebody who
//! tries tokens makes a request to the API server each time, nor does a burst of scrapers make more than one.

mod asked;
mod kube;
mod memory;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use self::kube::ApiServer;
use asked::Asked;
use axum::http::{HeaderMap, Method, StatusCode, header};
use ring::digest::{SHA256, digest};
use tokio::sync::Semaphore;

use crate::runtime::clock::Clock;

/// How long a yes is remembered: as late as this a right that was taken away is heeded.
const YES: Duration = Duration::from_secs(60);
/// How long a no is remembered: as late as this a right that was given is heeded.
const NO: Duration = Duration::from_secs(10);
/// Answers that are remembered, of each of the two questions.
const REMEMBERED: usize = 256;
/// Questions under way at the API server.
const QUESTIONS: usize = 4;
/// Longer than any token of Kubernetes.
const LONGEST_TOKEN: usize = 16 * 1024;

/// Somebody whom the API server knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct User {
    /// Name, `system:serviceaccount:NAMESPACE:NAME` for a ServiceAccount.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
    /// What else was said of them, for the authorizer.
    pub extra: Vec<(String, Vec<String>)>,
}

/// The API server gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the API server does not say who may read this: {0}")]
pub struct NoAnswer(pub String);

/// Whom to ask.
pub trait Authority: Send + Sync + 'static {
    /// Whose token it is; `None` when it is nobody's.
    fn who(&self, token: &str) -> impl Future<Output = Result<Option<User>, NoAnswer>> + Send;

    /// Whether they may do this to a path that is no resource. `verb` is the method in small letters.
    fn may(
        &self,
        user: &User,
        verb: &str,
        path: &str,
    ) -> impl Future<Output = Result<bool, NoAnswer>> + Send;
}

/// Why a request is turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody that the API server knows.
    Unknown,
    /// Known, but without the right.
    Forbidden(String),
    /// Nobody can say.
    NoAnswer(NoAnswer),
}

/// Asks an [`Authority`], and remembers.
pub struct Access<A> {
    authority: A,
    clock: Arc<dyn Clock>,
    users: Asked<[u8; 32], Option<User>>,
    rights: Asked<(User, String, String), bool>,
    questions: Semaphore,
}

impl<A: Authority> Access<A> {
    /// Nothing is remembered yet.
    pub fn new(authority: A, clock: Arc<dyn Clock>) -> Self {
        Self {
            authority,
            clock,
            users: Asked::new(REMEMBERED),
            rights: Asked::new(REMEMBERED),
            questions: Semaphore::new(QUESTIONS),
        }
    }

    /// Lets a request through, or says why not.
    ///
    /// # Errors
    /// [`Refusal`] with the status that the caller is to be given.
    pub async fn check(
        &self,
        headers: &HeaderMap,
        method: &Method,
        path: &str,
    ) -> Result<(), Refusal> {
        let token = bearer(headers).ok_or(Refusal::Unknown)?;
        let user = self.who(token).await.map_err(Refusal::NoAnswer)?;
        let user = user.ok_or(Refusal::Unknown)?;
        let verb = method.as_str().to_ascii_lowercase();
        let may = self.may(&user, &verb, path).await;
        if may.map_err(Refusal::NoAnswer)? {
            return Ok(());
        }
        let name = user.name;
        Err(Refusal::Forbidden(format!(
            "{name} has no right to {verb} {path}"
        )))
    }

    async fn who(&self, token: &str) -> Result<Option<User>, NoAnswer> {
        // The token itself is not kept.
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        let life = |user: &Option<User>| if user.is_some() { YES } else { NO };
        let question = async {
            let _turn = self.questions.acquire().await;
            self.authority.who(token).await
        };
        self.users.ask(key, &*self.clock, life, question).await
    }

    async fn may(&self, user: &User, verb: &str, path: &str) -> Result<bool, NoAnswer> {
        let key = (user.clone(), verb.to_owned(), path.to_owned());
        let life = |may: &bool| if *may { YES } else { NO };
        let question = async {
            let _turn = self.questions.acquire().await;
            self.authority.may(user, verb, path).await
        };
        self.rights.ask(key, &*self.clock, life, question).await
    }
}

impl Refusal {
    /// Status and text for the caller.
    #[must_use]
    pub fn words(&self) -> (StatusCode, String) {
        match self {
            Self::Unknown => (
                StatusCode::UNAUTHORIZED,
                "send a token that the API server knows: Authorization: Bearer TOKEN\n".to_owned(),
            ),
            Self::Forbidden(why) => (StatusCode::FORBIDDEN, format!("{why}\n")),
            Self::NoAnswer(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
        }
    }
}

/// The token of an `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    let fits =
        scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= LONGEST_TOKEN;
    fits.then_some(token)
}

#[cfg(test)]
mod tests;
