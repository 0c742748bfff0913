//! `vmctl dash`: machines, queue and provider, live.

mod access;
mod act;
mod clock;
mod forward;
mod lease;
mod logs;
mod once;
mod out;
mod pods;
mod read;
mod record;
mod replicas;
pub(crate) mod scrapes;
mod screen;
mod sources;
mod terminal;
mod token;
mod watch;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use vm_tui::{Context, Effect, Glyphs, Message, Model, Options, Palette, Threshold};

use crate::cluster::{Cluster, ClusterArgs};
use crate::hint::{Exit, Failure};
use crate::output::Color;
use crate::verbs::duration::Limit;
use clock::Clock;
use once::Once;
use out::Out;
use record::Recorder;
use screen::{Ask, Session};

/// Messages that may wait to be taken.
const WAITING: usize = 512;
/// What may wait to be done.
const ASKED: usize = 16;

const EXAMPLES: &str = "\
Examples:
  vmctl dash                                      # q quits, ? shows the keys
  vmctl dash --once                               # print it and end; so it does, too, where there is no terminal
  vmctl dash --once --json --duration 30s --fail-if 'p99.create>2s or queue.oldest>60s'
  vmctl dash --record incident.jsonl              # everything that comes in, to be seen again with --replay";

/// Options of `vmctl dash`.
#[derive(Debug, clap::Args)]
#[group(id = "dash")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Metrics of a replica of the operator; may be repeated [default: those of the environment, or of every pod]
    #[arg(long, value_name = "URL")]
    metrics_url: Vec<String>,
    /// File with a token for metrics that ask for one [default for pods: asked of the API server]; TLS is checked by
    /// the authorities that operators publish
    #[arg(long, value_name = "FILE")]
    metrics_token_file: Option<PathBuf>,
    /// Namespace of the operator and of its Lease
    #[arg(long, value_name = "NAME", default_value = "vmoperator-system")]
    operator_namespace: String,
    /// Time between two scrapes of a replica
    #[arg(long, value_name = "TIME", default_value = "2s")]
    interval: Limit,
    /// Change nothing [default: true outside environments of vmctl]
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    read_only: Option<bool>,
    /// Colours for this background: dark, light, or mono for none
    #[arg(long, value_name = "NAME", value_parser = palette)]
    theme: Option<Palette>,
    /// Use ASCII alone
    #[arg(long)]
    ascii: bool,
    /// Print once and end
    #[arg(long)]
    once: bool,
    /// Print JSON; implies --once
    #[arg(long, conflicts_with = "svg")]
    json: bool,
    /// Print a picture of the screen; implies --once
    #[arg(long)]
    svg: bool,
    /// Columns and rows of what --once prints
    #[arg(long, value_name = "WxH", value_parser = size, default_value = "120x40")]
    size: (u16, u16),
    /// Look for so long before printing; implies --once
    #[arg(long, value_name = "TIME")]
    duration: Option<Limit>,
    /// Fail if any of these holds, such as 'p99>2s or failed>0'; implies --once
    #[arg(long, value_name = "EXPRESSION", value_parser = Threshold::parse)]
    fail_if: Option<Threshold>,
    /// Record everything that comes in
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Show a recording instead of a cluster
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "metrics_url", "environment", "kubeconfig", "context"])]
    replay: Option<PathBuf>,
    /// Replay so many times faster
    #[arg(long, value_name = "FACTOR", requires = "replay", value_parser = speed, default_value = "1")]
    speed: f64,
}

/// Shows the dashboard.
///
/// # Errors
/// There is no cluster to look at, or no terminal to show it on; a threshold was crossed; ended by a signal.
pub(crate) async fn run(args: Args, color: Color) -> Result<(), Failure> {
    if args.interval.0 < Duration::from_millis(100) {
        let cause = format!("--interval {} is too short", args.interval);
        return Err(Failure::new(Exit::Usage, "VMC-INTERVAL", cause).fix("take 100ms or longer"));
    }
    let once =
        args.once || args.json || args.svg || args.duration.is_some() || args.fail_if.is_some();
    let once = once || !terminal::is_possible();
    let clock = Clock::new();
    let (sender, messages) = channel(WAITING);
    let out = Out::new(sender, clock.clone());
    let model = Model::new(options(&args, color));
    let recorder = args.record.as_deref().map(Recorder::begin).transpose()?;
    let mut tasks: JoinSet<Result<(), Failure>> = JoinSet::new();
    let cluster = feed(&args, once, &out, &mut tasks).await?;
    let replay = args.replay.is_some();
    if once {
        drop(out);
        let once = Once {
            duration: args.duration.map(|limit| limit.0),
            json: args.json,
            svg: args.svg,
            size: args.size,
            fail_if: args.fail_if,
        };
        return tokio::select! {
            outcome = once::run(once, model, messages, recorder, &clock, replay) => outcome,
            failure = failed(&mut tasks) => Err(failure),
        };
    }
    let (asks, asked) = channel(ASKED);
    let session = Session {
        model,
        messages,
        asks,
        recorder,
        clock,
        cluster: cluster.clone(),
        replay,
    };
    tokio::select! {
        outcome = on_own_thread(session) => outcome,
        failure = failed(&mut tasks) => Err(failure),
        () = effects(cluster, asked, out) => Ok(()),
    }
}

/// Starts what tells: the sources of a cluster, which is returned, or a recording.
async fn feed(
    args: &Args,
    once: bool,
    out: &Out,
    tasks: &mut JoinSet<Result<(), Failure>>,
) -> Result<Option<Cluster>, Failure> {
    if let Some(path) = &args.replay {
        // A file that is none is told before the screen is taken.
        drop(record::open(path)?);
        let speed = (!once).then_some(args.speed);
        tasks.spawn(record::play(path.clone(), speed, out.clone()));
        return Ok(None);
    }
    let token = args.metrics_token_file.as_deref().map(token).transpose()?;
    let cluster = args.cluster.open().await?;
    out.send(Message::Context(context(args, &cluster))).await;
    sources::start(args, &cluster, token, out, tasks);
    Ok(Some(cluster))
}

/// Runs the screen on a thread of its own, so that no decoding of objects holds up a key.
async fn on_own_thread(session: Session) -> Result<(), Failure> {
    let (send, ended) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("screen".to_owned())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let outcome = match runtime {
                Ok(runtime) => {
                    let outcome = runtime.block_on(screen::run(session));
                    runtime.shutdown_background();
                    outcome
                }
                Err(error) => Err(Failure::new(Exit::Failure, "VMC-RUNTIME", error)),
            };
            let _ = send.send(outcome);
        });
    let failed = |cause: String| Failure::new(Exit::Failure, "VMC-SCREEN", cause);
    thread.map_err(|error| failed(format!("cannot start a thread: {error}")))?;
    match ended.await {
        Ok(outcome) => outcome,
        Err(_dropped) => Err(failed(
            "the screen ended in a panic; that is a bug of vmctl".to_owned(),
        )),
    }
}

/// The first source that fails for good; sources that end well are no failure.
async fn failed(tasks: &mut JoinSet<Result<(), Failure>>) -> Failure {
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => return failure,
            Err(panic) => return Failure::new(Exit::Failure, "VMC-SOURCE", panic),
        }
    }
    std::future::pending().await
}

/// Does what the user asks for, one after the other, beside the screen.
async fn effects(cluster: Option<Cluster>, mut asked: Receiver<Ask>, out: Out) {
    while let Some(Ask::Effect(effect)) = asked.recv().await {
        let Some(cluster) = cluster.clone() else {
            out.send(act::done("a recording has no cluster to ask", false))
                .await;
            continue;
        };
        match effect {
            Effect::Delete(targets) => act::delete(cluster, targets, out.clone()).await,
            Effect::Reconcile(targets) => act::reconcile(cluster, targets, out.clone()).await,
            Effect::Show(what, target) => act::show(cluster, what, target, out.clone()).await,
            Effect::Quit | Effect::Suspend | Effect::Redraw | Effect::Edit(_) => {}
        }
    }
    std::future::pending().await
}

fn context(args: &Args, cluster: &Cluster) -> Context {
    let read_only = match (args.read_only, cluster.ours) {
        (Some(true), _) => Some("--read-only was given".to_owned()),
        (Some(false), _) | (None, true) => None,
        (None, false) => Some(format!(
            "{} is no environment of vmctl; --read-only=false lifts it",
            cluster.label
        )),
    };
    Context {
        label: cluster.label.clone(),
        server: cluster.server.clone(),
        namespace: args.cluster.namespace().map(str::to_owned),
        read_only,
    }
}

/// Colours by flag, then by `NO_COLOR`, then by what the terminal says of its background.
fn options(args: &Args, color: Color) -> Options {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let colorless = match color {
        Color::Never => true,
        Color::Always => false,
        Color::Auto => {
            variable("NO_COLOR").is_some() || variable("TERM").as_deref() == Some("dumb")
        }
    };
    let palette = args.theme.unwrap_or_else(|| {
        let ground =
            variable("COLORFGBG").and_then(|text| text.rsplit(';').next()?.parse::<u8>().ok());
        match ground {
            _ if colorless => Palette::Mono,
            Some(7 | 15) => Palette::Light,
            Some(_) | None => Palette::Dark,
        }
    });
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable);
    let unicode = locale.is_none_or(|locale| locale.to_lowercase().contains("utf"));
    let glyphs = if args.ascii || !unicode {
        Glyphs::Ascii
    } else {
        Glyphs::Unicode
    };
    Options { palette, glyphs }
}

fn token(path: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let cause = format!("cannot read {}: {error}", path.display());
        Failure::new(Exit::Usage, "VMC-TOKEN", cause)
            .fix("write one: kubectl create token SERVICEACCOUNT > FILE")
    })?;
    Ok(text.trim().to_owned())
}

fn palette(text: &str) -> Result<Palette, String> {
    Palette::named(text).ok_or_else(|| "take dark, light or mono".to_owned())
}

fn speed(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok();
    factor
        .filter(|factor| (0.01..=1000.0).contains(factor))
        .ok_or_else(|| "take a number from 0.01 to 1000".to_owned())
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let parsed = text.split_once('x').and_then(|(width, height)| {
        Some((width.parse::<u16>().ok()?, height.parse::<u16>().ok()?))
    });
    parsed
        .filter(|(width, height)| (1..=1000).contains(width) && (1..=500).contains(height))
        .ok_or_else(|| "write columns and rows, such as 120x40".to_owned())
}
