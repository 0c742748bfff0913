//! When to stop: once means finish what is under way, twice means now.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The wish to stop, shared by everybody who must hear of it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    now: CancellationToken,
}

impl Shutdown {
    /// A wish that nobody has had yet and that no signal raises.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens for SIGTERM and SIGINT: the first asks to drain, the second to stop at once.
    ///
    /// # Errors
    /// When the process may not listen for signals.
    #[expect(
        clippy::disallowed_methods,
        reason = "runtime is where tasks are spawned"
    )]
    pub fn on_signals() -> io::Result<Self> {
        let shutdown = Self::new();
        let (terminate, interrupt) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        tokio::spawn(shutdown.clone().listen(terminate, interrupt));
        Ok(shutdown)
    }

    /// Asks to stop: the first call to drain, every later one to stop at once.
    pub fn ask(&self) {
        if self.drain.is_cancelled() {
            self.now.cancel();
        } else {
            self.drain.cancel();
        }
    }

    /// Whether anybody has asked to stop.
    pub fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// Returns once somebody has asked to stop. Cancel safe.
    pub async fn draining(&self) {
        self.drain.cancelled().await;
    }

    /// Returns once somebody has asked twice. Cancel safe.
    pub async fn immediate(&self) {
        self.now.cancelled().await;
    }

    async fn listen(self, mut terminate: Signal, mut interrupt: Signal) {
        for _ in 0..2 {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            self.ask();
            if self.now.is_cancelled() {
                tracing::warn!(signal = name, "second signal: stopping at once");
            } else {
                tracing::info!(
                    signal = name,
                    "stopping: passes under way finish, a second signal stops at once"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests;
