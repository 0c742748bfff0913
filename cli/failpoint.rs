//! Named points of `up` at which a test build ends itself by a signal, to prove that being cut off there loses nothing.
//!
//! Without the feature `failpoints` a point compiles to nothing. With it, `VMCTL_FAILPOINT=STEP:SIGNAL` sends that
//! signal (`INT`, `TERM` or `KILL`) to ourselves behind the step, which then does not go on by itself.

use crate::hint::{Exit, Failure};

/// The environment variable that names the point.
const VARIABLE: &str = "VMCTL_FAILPOINT";

/// Holds that the variable is not set where it would do nothing.
///
/// # Errors
/// It is.
pub(crate) fn check() -> Result<(), Failure> {
    if cfg!(feature = "failpoints") || std::env::var_os(VARIABLE).is_none() {
        return Ok(());
    }
    let cause = format!("{VARIABLE} is set, but this build has no fail points");
    Err(Failure::new(Exit::Usage, "VMC-USAGE", cause).fix(format!("unset {VARIABLE}")))
}

/// Marks a point. Does nothing unless the feature is on and the environment names this point.
#[cfg(not(feature = "failpoints"))]
pub(crate) async fn reach(_name: &str) {}

/// Marks a point. Sends ourselves the signal that the environment names, and waits for its effect.
#[cfg(feature = "failpoints")]
pub(crate) async fn reach(name: &str) {
    use rustix::process::{Signal, getpid, kill_process};

    let wanted = std::env::var(VARIABLE).unwrap_or_default();
    let signal = match wanted.strip_prefix(name) {
        Some(":INT") => Signal::INT,
        Some(":TERM") => Signal::TERM,
        Some(":KILL") => Signal::KILL,
        Some(_) | None => return,
    };
    let _ = kill_process(getpid(), signal);
    std::future::pending::<()>().await;
}
