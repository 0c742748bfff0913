//! Named points at which a test build kills itself, panics or stops turning, to prove that dying there loses and
//! doubles nothing, and that the rest goes on or the process is given up, as it should be.
//!
//! Without the feature `failpoints` a point compiles to nothing. With it, `VMOPERATOR_FAILPOINT=name` ends the
//! process by SIGKILL, as the kernel would, the first time the point is reached; `name:N` the N-th time. `panic!name`
//! panics there, `hang!name` blocks its thread for ever. `VMOPERATOR_WALL_CLOCK=SECONDS` moves this process's wall clock
//! ahead, or back where it is negative, as no test may do with the machine's.

use jiff::Timestamp;
use thiserror::Error;

/// The environment variable that names the point.
pub const VARIABLE: &str = "VMOPERATOR_FAILPOINT";

/// The environment variable that moves the wall clock.
pub const WALL_CLOCK: &str = "VMOPERATOR_WALL_CLOCK";

/// Why a fail point cannot be set.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// The variable is set, but points are compiled to nothing.
    #[error(
        "{0} is set, but this build has no fail points: unset it, or build with --features failpoints"
    )]
    NotCompiledIn(&'static str),
    /// The variable cannot be read.
    #[error(
        "{VARIABLE}={0:?} is no fail point: write a name, or name:N with N from 1, with panic! or hang! in front or neither"
    )]
    Malformed(String),
    /// The other variable cannot be read.
    #[error("{WALL_CLOCK}={0:?} is no number of seconds")]
    NoSeconds(String),
}

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Kill,
    Panic,
    Hang,
}

/// A point, how often it must be reached, and what happens then.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spec {
    act: Act,
    name: String,
    times: u64,
}

impl Spec {
    fn parse(text: &str) -> Result<Self, Error> {
        let malformed = || Error::Malformed(text.to_owned());
        let (act, point) = match text.split_once('!') {
            Some(("panic", point)) => (Act::Panic, point),
            Some(("hang", point)) => (Act::Hang, point),
            Some(_) => return Err(malformed()),
            None => (Act::Kill, text),
        };
        let (name, times) = match point.split_once(':') {
            Some((name, times)) => (name, times.parse().map_err(|_| malformed())?),
            None => (point, 1),
        };
        if name.is_empty() || times == 0 {
            return Err(malformed());
        }
        Ok(Self {
            act,
            name: name.to_owned(),
            times,
        })
    }
}

/// Checks the environment once at the start, so that a misspelt value is an error and not a test that never dies.
///
/// # Errors
/// When the variable is malformed, or set in a build without fail points.
pub fn check_environment() -> Result<(), Error> {
    for name in [VARIABLE, WALL_CLOCK] {
        if std::env::var_os(name).is_some() && !cfg!(feature = "failpoints") {
            return Err(Error::NotCompiledIn(name));
        }
    }
    if let Ok(text) = std::env::var(VARIABLE) {
        Spec::parse(&text)?;
    }
    match std::env::var(WALL_CLOCK) {
        Ok(text) => text
            .parse::<i64>()
            .map(drop)
            .map_err(|_| Error::NoSeconds(text)),
        Err(_) => Ok(()),
    }
}

/// The wall clock's time as this process is to see it: as it is.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn wall_clock(now: Timestamp) -> Timestamp {
    now
}

/// The wall clock's time as this process is to see it.
#[cfg(feature = "failpoints")]
pub fn wall_clock(now: Timestamp) -> Timestamp {
    static AHEAD: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
    let ahead = AHEAD.get_or_init(|| {
        let text = std::env::var(WALL_CLOCK).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    });
    now.checked_add(jiff::SignedDuration::from_secs(*ahead))
        .unwrap_or(now)
}

/// Marks a point. Does nothing unless the feature `failpoints` is on and the environment names this point.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn reach(_name: &'static str) {}

/// Marks a point. Kills the process, panics or blocks for ever when the environment says so.
#[cfg(feature = "failpoints")]
pub fn reach(name: &'static str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static SPEC: OnceLock<Option<Spec>> = OnceLock::new();
    static REACHED: AtomicU64 = AtomicU64::new(0);

    let spec = SPEC.get_or_init(|| {
        std::env::var(VARIABLE)
            .ok()
            .and_then(|text| Spec::parse(&text).ok())
    });
    let Some(spec) = spec.as_ref().filter(|spec| spec.name == name) else {
        return;
    };
    if REACHED.fetch_add(1, Ordering::SeqCst) + 1 == spec.times {
        spec.act.strike();
    }
}

#[cfg(feature = "failpoints")]
impl Act {
    fn strike(self) {
        match self {
            // SIGKILL: no handler, no destructor, no flush. It cannot fail for the own process.
            Self::Kill => {
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
            }
            #[expect(clippy::panic, reason = "what this point is for")]
            Self::Panic => panic!("{PAYLOAD}"),
            Self::Hang => loop {
                std::thread::park();
            },
        }
    }
}

/// What a panic carries here: no log may show it.
#[cfg(feature = "failpoints")]
const PAYLOAD: &str = "a payload that may be a credential";

#[cfg(test)]
mod tests;
