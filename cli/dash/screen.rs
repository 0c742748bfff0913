//! The dashboard on a terminal: one loop that takes keys, messages and signals, and draws when something has changed.

use std::io;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, Sender};
use vm_tui::{Effect, Key, Message, Model, Target, update};

use super::act;
use super::clock::Clock;
use super::once::note;
use super::record::Recorder;
use super::terminal::{Call, Signals, Terminal};
use crate::clock;
use crate::cluster::Cluster;
use crate::hint::{Exit, Failure};

/// Least time between two frames, but for keys: 20 frames a second.
const FRAME: Duration = Duration::from_millis(50);
/// The same after a key.
const AFTER_KEY: Duration = Duration::from_millis(12);
/// Time passes in steps of a second.
const TICK: Duration = Duration::from_secs(1);
/// Messages that are taken before keys are looked at again.
const AT_ONCE: usize = 256;

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

/// What happened.
enum Event {
    Keys(Vec<Key>),
    Message(Option<Message>),
    Call(Call),
    Tick,
    Frame,
    Written,
    Gone,
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
    // The process is about to end, and to let go of ten thousand machines one by one would only hold that up.
    std::mem::forget(session.model);
    outcome
}

async fn drive(
    session: &mut Session,
    terminal: &mut Terminal,
    signals: &mut Signals,
) -> Result<(), Failure> {
    resize(session, terminal);
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
                    if take(session, terminal, signals, Message::Key { key }).await? {
                        return Ok(());
                    }
                }
                (dirty, keyed) = (true, true);
            }
            Event::Message(message) => {
                messages(session, message)?;
                dirty = true;
            }
            Event::Call(call) => {
                heed(session, terminal, signals, call).await?;
                (dirty, keyed) = (true, true);
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
        }
    }
}

/// Does what a signal asks for.
async fn heed(
    session: &mut Session,
    terminal: &mut Terminal,
    signals: &mut Signals,
    call: Call,
) -> Result<(), Failure> {
    match call {
        Call::End(exit) => return Err(Failure::ended(exit)),
        Call::Suspend => suspend(session, terminal, signals).await?,
        Call::Resume => {
            terminal.enter().map_err(|error| unusable(&error))?;
            resize(session, terminal);
        }
        Call::Resize => resize(session, terminal),
    }
    Ok(())
}

async fn suspend(
    session: &mut Session,
    terminal: &mut Terminal,
    signals: &mut Signals,
) -> Result<(), Failure> {
    terminal
        .suspend(signals)
        .await
        .map_err(|error| unusable(&error))?;
    resize(session, terminal);
    Ok(())
}

fn resize(session: &mut Session, terminal: &mut Terminal) {
    let (width, height) = terminal.resize();
    update(&mut session.model, Message::Resize { width, height });
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
        call = signals.next() => Event::Call(call),
        keys = terminal.input.keys() => match keys {
            Some(keys) => Event::Keys(keys),
            None => Event::Gone,
        },
        well = terminal.writer.done() => if well { Event::Written } else { Event::Gone },
        () = frame => Event::Frame,
        () = clock::sleep(tick.saturating_duration_since(clock::now())) => Event::Tick,
        message = session.messages.recv(), if !session.messages.is_closed() || !session.messages.is_empty() => Event::Message(message),
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
    signals: &mut Signals,
    key: Message,
) -> Result<bool, Failure> {
    #[cfg(feature = "failpoints")]
    panic_if_asked(&key);
    for effect in update(&mut session.model, key) {
        match effect {
            Effect::Quit => return Ok(true),
            Effect::Suspend => suspend(session, terminal, signals).await?,
            Effect::Redraw => terminal.screen.forget(),
            Effect::Edit(target) => edit(session, terminal, &target).await?,
            Effect::Delete(_) | Effect::Reconcile(_) | Effect::Show(..) => {
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

/// A panic in the middle of everything, for the test that the terminal comes back from one.
#[cfg(feature = "failpoints")]
#[expect(clippy::panic, reason = "builds with fail points are those of tests")]
fn panic_if_asked(message: &Message) {
    let key = Key::Ctrl('x');
    if *message == (Message::Key { key }) && std::env::var_os("VMCTL_DASH_PANIC").is_some() {
        panic!("a test asked for it");
    }
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
    resize(session, terminal);
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

fn unusable(error: &io::Error) -> Failure {
    let cause = format!("cannot use the terminal: {error}");
    Failure::new(Exit::Failure, "VMC-TERMINAL", cause).fix("print instead: vmctl dash --once")
}
