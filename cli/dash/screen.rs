//! The dashboard on a terminal: one loop that takes keys, messages and signals, and draws when something has changed.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::tcgetwinsize;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal as Stream, SignalKind};
use tokio::sync::mpsc::{Receiver, Sender};
use vm_tui::terminal::{Decoder, Modes, Screen, abandon, restore};
use vm_tui::{Effect, Key, Message, Model, Target, update};

use super::act;
use super::clock::Clock;
use super::once::note;
use super::record::Recorder;
use super::writer::Writer;
use crate::clock;
use crate::cluster::Cluster;
use crate::hint::{Exit, Failure};
use crate::runtime::embedded::foreground::listen;

/// Least time between two frames, but for keys: 20 frames a second.
const FRAME: Duration = Duration::from_millis(50);
/// The same after a key.
const AFTER_KEY: Duration = Duration::from_millis(12);
/// How long an escape may be the begin of something longer.
const ESCAPE: Duration = Duration::from_millis(40);
/// Time passes in steps of a second.
const TICK: Duration = Duration::from_secs(1);
/// Messages that are taken before keys are looked at again.
const AT_ONCE: usize = 256;
/// How long a frame may take to leave when the program ends.
const LAST_FRAME: Duration = Duration::from_millis(150);

/// What the screen asks its other side to do.
pub(super) enum Ask {
    /// An effect that needs the cluster.
    Effect(Effect),
}

/// Everything that the loop holds.
pub(super) struct Session {
    pub(super) model: Model,
    pub(super) messages: Receiver<Message>,
    pub(super) asks: Sender<Ask>,
    pub(super) recorder: Option<Recorder>,
    pub(super) clock: Clock,
    /// Where objects are edited; nowhere in a replay.
    pub(super) cluster: Option<Cluster>,
    /// Whether time comes with the messages.
    pub(super) replay: bool,
}

struct Terminal {
    input: AsyncFd<OwnedFd>,
    decoder: Decoder,
    modes: Option<Modes>,
    screen: Screen,
    writer: Writer,
}

struct Signals {
    resize: Stream,
    resume: Stream,
    stop: Stream,
    interrupt: Stream,
    terminate: Stream,
    hang_up: Stream,
}

/// What happened.
enum Event {
    Keys(Vec<Key>),
    Message(Option<Message>),
    Resize,
    Resume,
    Suspend,
    Tick,
    Frame,
    Written,
    Gone,
    End(Exit),
}

/// Whether the dashboard can be shown here.
pub(super) fn is_possible() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// Shows the dashboard until the user quits, a signal comes, or the terminal has gone.
///
/// # Errors
/// The terminal cannot be used, or the recording not be written; ended by a signal.
pub(super) async fn run(mut session: Session) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let mut terminal = Terminal::open().map_err(|error| unusable(&error))?;
    let outcome = drive(&mut session, &mut terminal, &mut signals).await;
    terminal.leave().await;
    if let Some(recorder) = &mut session.recorder {
        recorder.flush()?;
    }
    outcome
}

async fn drive(
    session: &mut Session,
    terminal: &mut Terminal,
    signals: &mut Signals,
) -> Result<(), Failure> {
    terminal.resize(session);
    let (mut dirty, mut keyed) = (true, true);
    let mut drawn: Option<Instant> = None;
    let mut ticked = clock::now();
    loop {
        let pause = if keyed { AFTER_KEY } else { FRAME };
        let due = drawn.map_or_else(clock::now, |drawn| drawn + pause);
        let frame = (dirty && !terminal.writer.is_busy()).then_some(due);
        let event = next(session, terminal, signals, frame, ticked + TICK).await;
        match event {
            Event::Keys(keys) => {
                for key in keys {
                    if take(session, terminal, Message::Key { key }).await? {
                        return Ok(());
                    }
                }
                (dirty, keyed) = (true, true);
            }
            Event::Message(message) => {
                messages(session, message)?;
                dirty = true;
            }
            Event::Resize => {
                terminal.resize(session);
                dirty = true;
            }
            Event::Resume => {
                terminal.enter().map_err(|error| unusable(&error))?;
                terminal.resize(session);
                (dirty, keyed) = (true, true);
            }
            Event::Suspend => {
                terminal.suspend(session).await?;
                dirty = true;
            }
            Event::Tick => {
                ticked = clock::now();
                if !session.replay {
                    let tick = Message::Tick {
                        now: session.clock.now(),
                    };
                    messages(session, Some(tick))?;
                }
                if let Some(recorder) = &mut session.recorder {
                    recorder.flush()?;
                }
                dirty = true;
            }
            Event::Frame => {
                let bytes = terminal
                    .screen
                    .frame(&mut session.model)
                    .map_err(|error| unusable(&error))?;
                terminal.writer.send(bytes);
                drawn = Some(clock::now());
                (dirty, keyed) = (false, false);
            }
            Event::Written => {}
            Event::Gone => return Err(Failure::ended(Exit::HungUp)),
            Event::End(exit) => return Err(Failure::ended(exit)),
        }
    }
}

/// The next thing that happens; keys and signals before messages, however many these are.
async fn next(
    session: &mut Session,
    terminal: &mut Terminal,
    signals: &mut Signals,
    frame: Option<Instant>,
    tick: Instant,
) -> Event {
    let frame = async {
        match frame {
            Some(due) => clock::sleep(due.saturating_duration_since(clock::now())).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        event = signals.next() => event,
        keys = keys(&mut terminal.input, &mut terminal.decoder) => match keys {
            Some(keys) => Event::Keys(keys),
            None => Event::Gone,
        },
        well = terminal.writer.done() => if well { Event::Written } else { Event::Gone },
        () = frame => Event::Frame,
        () = clock::sleep(tick.saturating_duration_since(clock::now())) => Event::Tick,
        message = session.messages.recv(), if !session.messages.is_closed() || !session.messages.is_empty() => Event::Message(message),
    }
}

/// Keys from the terminal; `None` once it has gone. A terminal that vanished is readable for ever and gives nothing:
/// taking that for an end is what keeps the process from spinning.
async fn keys(input: &mut AsyncFd<OwnedFd>, decoder: &mut Decoder) -> Option<Vec<Key>> {
    loop {
        let ready = if decoder.is_waiting() {
            match tokio::time::timeout(ESCAPE, input.readable()).await {
                Ok(ready) => ready,
                Err(_nothing_more) => {
                    let keys = decoder.flush();
                    if keys.is_empty() {
                        continue;
                    }
                    return Some(keys);
                }
            }
        } else {
            input.readable().await
        };
        let mut ready = ready.ok()?;
        let mut bytes = [0; 1024];
        let length = match rustix::io::read(input.get_ref(), &mut bytes) {
            Ok(0) => return None,
            Ok(length) => length,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => 0,
            Err(_gone) => return None,
        };
        if length < bytes.len() {
            ready.clear_ready();
        }
        let keys = decoder.feed(bytes.get(..length).unwrap_or_default());
        if !keys.is_empty() {
            return Some(keys);
        }
    }
}

/// Takes a message and those that wait behind it.
fn messages(session: &mut Session, first: Option<Message>) -> Result<(), Failure> {
    let mut next = first;
    for _ in 0..AT_ONCE {
        let Some(message) = next else { break };
        note(&mut session.recorder, session.clock.now(), &message)?;
        update(&mut session.model, message);
        next = session.messages.try_recv().ok();
    }
    // What was received is taken, also when it was one too many.
    if let Some(message) = next {
        note(&mut session.recorder, session.clock.now(), &message)?;
        update(&mut session.model, message);
    }
    Ok(())
}

/// Takes a key and does what follows from it. True when that is the end.
async fn take(
    session: &mut Session,
    terminal: &mut Terminal,
    key: Message,
) -> Result<bool, Failure> {
    for effect in update(&mut session.model, key) {
        match effect {
            Effect::Quit => return Ok(true),
            Effect::Suspend => terminal.suspend(session).await?,
            Effect::Redraw => terminal.screen.forget(),
            Effect::Edit(target) => edit(session, terminal, &target).await?,
            Effect::Delete(_) | Effect::Show(..) => {
                // Full only if nobody does what is asked for: then it is not asked again.
                let asked = session.asks.try_send(Ask::Effect(effect));
                if asked.is_err() {
                    update(
                        &mut session.model,
                        act::done("not now: earlier ones are not done yet", false),
                    );
                }
            }
        }
    }
    Ok(false)
}

/// Leaves the terminal to kubectl and the user's editor.
async fn edit(
    session: &mut Session,
    terminal: &mut Terminal,
    target: &Target,
) -> Result<(), Failure> {
    let Some(cluster) = &session.cluster else {
        return Ok(());
    };
    terminal.leave().await;
    let resource = crate::cluster::kind::Kind::VirtualMachine.resource();
    let mut kubectl = act::kubectl(
        cluster,
        &["edit", &resource, &target.name],
        &target.namespace,
    );
    let outcome = kubectl.status().await;
    terminal.enter().map_err(|error| unusable(&error))?;
    terminal.resize(session);
    let done = match outcome {
        Ok(status) if status.success() => act::done("edited", true),
        Ok(_) => act::done(
            "kubectl edit ended without success; try it by hand to see why",
            false,
        ),
        Err(error) => act::done(&format!("cannot run kubectl: {error}"), false),
    };
    update(&mut session.model, done);
    Ok(())
}

impl Terminal {
    fn open() -> io::Result<Self> {
        let input = watched(io::stdin().as_fd().try_clone_to_owned()?)?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let mut terminal = Self {
            input,
            decoder: Decoder::default(),
            modes: None,
            screen: Screen::new(0, 0),
            writer: Writer::start(output),
        };
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            earlier(info);
        }));
        terminal.enter()?;
        Ok(terminal)
    }

    fn enter(&mut self) -> io::Result<()> {
        self.modes = Some(Modes::enter(io::stdout())?);
        self.screen.forget();
        Ok(())
    }

    /// Gives the terminal back, after the frame that is on its way. One that takes no bytes is not waited for.
    async fn leave(&mut self) {
        if self.writer.is_busy() {
            let last = tokio::time::timeout(LAST_FRAME, self.writer.done());
            if last.await.is_err() {
                abandon();
            }
        }
        self.modes = None;
    }

    /// Goes to the background, with the whole group that the shell knows.
    async fn suspend(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.leave().await;
        let _ = kill_current_process_group(Signal::STOP);
        self.enter().map_err(|error| unusable(&error))?;
        self.resize(session);
        Ok(())
    }

    fn resize(&mut self, session: &mut Session) {
        let size = tcgetwinsize(io::stdout());
        let (width, height) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        self.screen = Screen::new(width, height);
        update(&mut session.model, Message::Resize { width, height });
    }
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
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

    async fn next(&mut self) -> Event {
        tokio::select! {
            _ = self.terminate.recv() => Event::End(Exit::Terminated),
            _ = self.hang_up.recv() => Event::End(Exit::HungUp),
            _ = self.interrupt.recv() => Event::End(Exit::Interrupted),
            _ = self.stop.recv() => Event::Suspend,
            _ = self.resume.recv() => Event::Resume,
            _ = self.resize.recv() => Event::Resize,
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

fn unusable(error: &io::Error) -> Failure {
    Failure::new(
        Exit::Failure,
        "VMC-TERMINAL",
        format!("cannot use the terminal: {error}"),
    )
    .fix("print instead: vmctl dash --once")
}
