//! The dashboard without a terminal: looks for a while, prints, judges.

use std::time::Duration;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use tokio::sync::mpsc::Receiver;
use vm_tui::{
    Health, Message, Model, Source, Stamp, Threshold, Verdict, World, plain, summary, svg, update,
    view,
};

use super::clock::Clock;
use super::record::Recorder;
use crate::clock;
use crate::hint::{Exit, Failure};
use crate::output;

/// Longest look when no duration was asked for.
const ENOUGH: Duration = Duration::from_secs(8);
/// How often it is seen whether that is enough already.
const LOOK: Duration = Duration::from_millis(100);

/// What was recorded is in the file after so long, should the program be killed.
const FLUSH: Duration = Duration::from_secs(1);

/// What is printed.
pub(super) struct Once {
    /// How long to look; as long as it takes to know everything once, when none.
    pub(super) duration: Option<Duration>,
    /// Print JSON.
    pub(super) json: bool,
    /// Print a picture.
    pub(super) svg: bool,
    /// Columns and rows.
    pub(super) size: (u16, u16),
    /// What makes the run fail.
    pub(super) fail_if: Option<Threshold>,
}

/// Looks, prints, judges.
///
/// # Errors
/// The API server cannot be reached, a threshold was crossed, or could not be judged.
pub(super) async fn run(
    once: Once,
    mut model: Model,
    mut messages: Receiver<Message>,
    mut recorder: Option<Recorder>,
    clock: &Clock,
    replay: bool,
) -> Result<(), Failure> {
    let (width, height) = once.size;
    update(&mut model, Message::Resize { width, height });
    let began = clock::now();
    let mut flushed = began;
    loop {
        let message = tokio::select! {
            message = messages.recv() => message,
            () = clock::sleep(LOOK) => Some(Message::Tick { now: if replay { model.present().now } else { clock.now() } }),
        };
        let Some(message) = message else { break };
        note(&mut recorder, clock.now(), &message)?;
        update(&mut model, message);
        let now = clock::now();
        if let Some(recorder) = &mut recorder
            && now.saturating_duration_since(flushed) > FLUSH
        {
            recorder.flush()?;
            flushed = now;
        }
        let looked = now.saturating_duration_since(began);
        let enough = match once.duration {
            Some(duration) => looked >= duration,
            None => is_complete(model.present()) || looked >= ENOUGH,
        };
        if enough && !replay {
            break;
        }
    }
    if !replay {
        update(&mut model, Message::Tick { now: clock.now() });
    }
    if let Some(recorder) = &mut recorder {
        recorder.flush()?;
    }
    let world = model.present();
    if let Some(standing) = world.sources.get(&Source::Api)
        && let Health::Lost { why } = &standing.health
        && !world.listed
    {
        let cause = format!("cannot reach {}: {why}", world.context.server);
        return Err(Failure::new(Exit::Unreachable, "VMC-UNREACHABLE", cause)
            .fix("see whether it is up: vmctl status"));
    }
    print(&once, &mut model)?;
    judge(&once, model.present())
}

/// Writes a fact into the recording, if there is one.
///
/// # Errors
/// It cannot be written.
pub(super) fn note(
    recorder: &mut Option<Recorder>,
    at: Stamp,
    message: &Message,
) -> Result<(), Failure> {
    match recorder {
        Some(recorder) => recorder.take(at, message),
        None => Ok(()),
    }
}

/// Whether everything was told once, and numbers twice, so that there are rates.
fn is_complete(world: &World) -> bool {
    let told = |source: &Source| {
        let standing = world.sources.get(source);
        standing.is_some_and(|one| one.health != Health::Waiting)
    };
    let numbers = world
        .sources
        .iter()
        .all(|(source, standing)| match (source, &standing.health) {
            (Source::Metrics(name), Health::Live) => {
                let replica = world.numbers.replica(name);
                replica.is_some_and(vm_tui::numbers::Replica::is_measured)
            }
            (Source::Metrics(_), Health::Waiting) => false,
            (Source::Metrics(_), Health::Lost { .. } | Health::Absent { .. }) => true,
            (
                Source::Api
                | Source::Machines
                | Source::Configs
                | Source::Events
                | Source::State(_)
                | Source::Logs,
                _,
            ) => true,
        });
    let asked = world
        .sources
        .keys()
        .any(|source| matches!(source, Source::Metrics(_)));
    world.listed && told(&Source::Api) && told(&Source::Events) && asked && numbers
}

fn print(once: &Once, model: &mut Model) -> Result<(), Failure> {
    if once.json {
        return output::data(&format!("{:#}", summary(model.present())));
    }
    let (width, height) = once.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    model.settle();
    view(model, &mut buffer);
    if once.svg {
        return output::data(svg(&buffer, vm_tui::Palette::Dark).trim_end());
    }
    output::data(&plain(&buffer))
}

fn judge(once: &Once, world: &World) -> Result<(), Failure> {
    let Some(threshold) = &once.fail_if else {
        return Ok(());
    };
    match threshold.judge(world) {
        Verdict::Within => Ok(()),
        Verdict::Beyond(what) => Err(Failure::new(
            Exit::Failure,
            "VMC-THRESHOLD",
            format!("a threshold was crossed: {what}"),
        )
        .fix("see why: vmctl dash")),
        Verdict::Unknown(what) => {
            let cause = format!("a threshold cannot be judged, nothing was measured: {what}");
            let why = world
                .no_numbers()
                .unwrap_or_else(|| "look longer with --duration".to_owned());
            Err(Failure::new(Exit::NotReady, "VMC-UNMEASURED", cause).fix(why))
        }
    }
}
