//! Work that a signal may end, with words about what that means.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::signal::unix::SignalKind;

use crate::clock;
use crate::hint::{Exit, Failure};
use crate::runtime::embedded::foreground::listen;

/// How often the reader of our output is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Does `work` until it ends or a signal comes; `ended` draws up the failure that goes with the signal.
///
/// # Errors
/// Those of the work, and that of `ended`.
pub(crate) async fn interruptible<T>(
    work: impl Future<Output = Result<T, Failure>>,
    ended: impl FnOnce(Exit) -> Failure,
) -> Result<T, Failure> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    let exit = tokio::select! {
        outcome = work => return outcome,
        _ = interrupt.recv() => Exit::Interrupted,
        _ = terminate.recv() => Exit::Terminated,
        _ = hang_up.recv() => Exit::HungUp,
    };
    Err(ended(exit))
}

/// Returns once nobody reads our stdout any more, be it a pipe or a terminal: a watch in which nothing happens would
/// not notice it by writing.
pub(crate) async fn reader_gone() -> Failure {
    let nothing = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    loop {
        let stdout = io::stdout();
        let mut wanted = [PollFd::new(&stdout, PollFlags::empty())];
        let looked = poll(&mut wanted, Some(&nothing));
        let [stdout] = wanted;
        if looked.is_ok() && stdout.revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return Failure::closed_pipe();
        }
        clock::sleep(LOOK).await;
    }
}
