//! The terminal as the loop sees it: keys, size, signals, and when it is ours.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::tcgetwinsize;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal as Stream, SignalKind};
use vm_tui::Key;
use vm_tui::terminal::{Decoder, Modes, Screen, abandon, restore};

use super::writer::Writer;
use crate::clock;
use crate::hint::{Exit, Failure};
use crate::runtime::embedded::foreground::listen;

/// How long an escape may be the begin of something longer.
const ESCAPE: Duration = Duration::from_millis(40);
/// How long a frame may take to leave when the terminal is given back.
const LAST_FRAME: Duration = Duration::from_millis(150);

/// The terminal.
pub(super) struct Terminal {
    pub(super) input: Input,
    pub(super) screen: Screen,
    pub(super) writer: Writer,
    modes: Option<Modes>,
}

/// Its keys.
pub(super) struct Input {
    terminal: AsyncFd<OwnedFd>,
    decoder: Decoder,
    /// Since when a key is not complete.
    waiting: Option<Instant>,
}

/// Signals that mean something to the dashboard.
pub(super) struct Signals {
    resize: Stream,
    resume: Stream,
    stop: Stream,
    interrupt: Stream,
    terminate: Stream,
    hang_up: Stream,
}

/// What a signal asks for.
pub(super) enum Call {
    /// The terminal has another size.
    Resize,
    /// We are back from the background.
    Resume,
    /// Go to the background.
    Suspend,
    /// End, with this exit code.
    End(Exit),
}

/// Whether the dashboard can be shown here.
pub(super) fn is_possible() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

impl Terminal {
    /// Takes the terminal. A panic anywhere gives it back before it speaks.
    ///
    /// # Errors
    /// It is none, or cannot be changed.
    pub(super) fn open() -> io::Result<Self> {
        let input = watched(io::stdin().as_fd().try_clone_to_owned()?)?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let mut terminal = Self {
            input: Input {
                terminal: input,
                decoder: Decoder::default(),
                waiting: None,
            },
            screen: Screen::new(0, 0),
            writer: Writer::start(output),
            modes: None,
        };
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            earlier(info);
        }));
        terminal.enter()?;
        Ok(terminal)
    }

    /// Takes the terminal, again if it was given back; nothing is known of what is on it.
    ///
    /// # Errors
    /// It cannot be changed any more.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let entered = Modes::enter(io::stdout())?;
        if let Some(earlier) = self.modes.replace(entered) {
            // Its end would give back what was just taken again.
            std::mem::forget(earlier);
        }
        self.screen.forget();
        Ok(())
    }

    /// Gives the terminal back, after the frame that is on its way. One that takes no bytes is not waited for.
    pub(super) async fn leave(&mut self) {
        if self.writer.is_busy() {
            let last = tokio::time::timeout(LAST_FRAME, self.writer.done());
            if last.await.is_err() {
                abandon();
            }
        }
        self.modes = None;
    }

    /// Goes to the background, with the whole group that the shell knows; returns when we are back.
    ///
    /// # Errors
    /// The terminal cannot be had again.
    pub(super) async fn suspend(&mut self) -> io::Result<()> {
        self.leave().await;
        let _ = kill_current_process_group(Signal::STOP);
        self.enter()
    }

    /// Takes the terminal's size anew, and returns it.
    pub(super) fn resize(&mut self) -> (u16, u16) {
        let size = tcgetwinsize(io::stdout());
        let (width, height) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        self.screen = Screen::new(width, height);
        (width, height)
    }
}

impl Input {
    /// Keys from the terminal; `None` once it has gone. A terminal that vanished is readable for ever and gives nothing:
    /// taking that for an end is what keeps the process from spinning. Dropping the future loses nothing.
    pub(super) async fn keys(&mut self) -> Option<Vec<Key>> {
        loop {
            let keys = match self.waiting {
                None => self.read().await?,
                Some(since) => {
                    let left = ESCAPE.saturating_sub(clock::now().saturating_duration_since(since));
                    match tokio::time::timeout(left, self.read()).await {
                        Ok(keys) => keys?,
                        Err(_nothing_more) => self.decoder.flush(),
                    }
                }
            };
            self.waiting = self.decoder.is_waiting().then(clock::now);
            if !keys.is_empty() {
                return Some(keys);
            }
        }
    }

    async fn read(&mut self) -> Option<Vec<Key>> {
        let mut ready = self.terminal.readable().await.ok()?;
        let mut bytes = [0; 1024];
        let length = match rustix::io::read(self.terminal.get_ref(), &mut bytes) {
            Ok(0) => return None,
            Ok(length) => length,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => 0,
            Err(_gone) => return None,
        };
        if length < bytes.len() {
            ready.clear_ready();
        }
        Some(self.decoder.feed(bytes.get(..length).unwrap_or_default()))
    }
}

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn listen() -> Result<Self, Failure> {
        let stop = SignalKind::from_raw(Signal::TSTP.as_raw());
        let resume = SignalKind::from_raw(Signal::CONT.as_raw());
        Ok(Self {
            resize: listen(SignalKind::window_change())?,
            resume: listen(resume)?,
            stop: listen(stop)?,
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Call {
        tokio::select! {
            _ = self.terminate.recv() => Call::End(Exit::Terminated),
            _ = self.hang_up.recv() => Call::End(Exit::HungUp),
            _ = self.interrupt.recv() => Call::End(Exit::Interrupted),
            _ = self.stop.recv() => Call::Suspend,
            _ = self.resume.recv() => Call::Resume,
            _ = self.resize.recv() => Call::Resize,
        }
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe, for owners that change their descriptor; an OwnedFd never does"
)]
fn watched(input: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(input, tokio::io::Interest::READABLE)
}
