//! Raw mode and the other screen, and the way back from both, whatever happens.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// Other screen, nothing on it, no cursor, no line wrap.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[?25l\x1b[?7l";
/// The end of a frame that was cut, styles off, wrap and cursor back, the screen as it was.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

/// What to put back, while there is something: one per process, so that a panic anywhere finds it.
static ENTERED: Mutex<Option<Entered>> = Mutex::new(None);

struct Entered {
    terminal: OwnedFd,
    before: Termios,
}

/// The terminal is ours as long as this lives.
#[derive(Debug)]
pub struct Modes(());

impl Modes {
    /// Takes the terminal: keys come one by one and unseen, and what was on the screen comes back when it is left.
    ///
    /// # Errors
    /// It is no terminal, or it cannot be changed.
    pub fn enter(terminal: impl AsFd) -> io::Result<Self> {
        let terminal = terminal.as_fd().try_clone_to_owned()?;
        let mut entered = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match entered.take() {
            Some(entered) => entered.before,
            None => tcgetattr(&terminal)?,
        };
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw)?;
        write(&terminal, ENTER)?;
        *entered = Some(Entered { terminal, before });
        Ok(Self(()))
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        restore();
    }
}

/// Puts the terminal back as it was; does nothing when it is so already. For panic hooks and suspension; dropping
/// [`Modes`] does it, too.
pub fn restore() {
    let entered = ENTERED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(entered) = entered {
        // The terminal may have gone: there is nothing to put back then.
        let _ = write(&entered.terminal, LEAVE);
        let _ = tcsetattr(&entered.terminal, OptionalActions::Now, &entered.before);
    }
}

/// As [`restore`], but writes nothing: for a terminal that takes no bytes any more.
pub fn abandon() {
    let entered = ENTERED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(entered) = entered {
        let _ = tcsetattr(&entered.terminal, OptionalActions::Now, &entered.before);
    }
}

fn write(terminal: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let mut file = std::fs::File::from(terminal.try_clone()?);
    file.write_all(bytes)
}
