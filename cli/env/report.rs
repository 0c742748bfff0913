//! How the steps of `up` are told: lines for people on stderr, or one event per line of JSON on stdout.

use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::clock;
use crate::hint::Failure;
use crate::output::{self, Talk};

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON object per line.
    Json,
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All was as wanted; nothing was written.
    Unchanged(String),
    /// Something was done, told in a few words.
    Done(String),
}

/// One event of the JSON form. `version` changes when a field changes its meaning or goes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    version: u32,
    r#type: &'a str,
    step: &'a str,
    index: usize,
    total: usize,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

/// A step that was taken, for the summary.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// Its name.
    pub(crate) step: &'static str,
    /// How long it took.
    pub(crate) time: Duration,
    /// Whether it did something.
    pub(crate) changed: bool,
}

/// Tells the steps of one run.
#[derive(Debug)]
pub(crate) struct Report {
    format: Format,
    talk: Talk,
    total: usize,
    started: Instant,
    spoke: Instant,
    taken: Vec<Taken>,
}

/// Longest silence off a terminal.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What a step waits for, in words.
fn awaited(step: &str) -> &'static str {
    match step {
        "preflight" => "the machine has been looked at",
        "tools" => "the programs of the control plane are there",
        "control-plane" => "etcd and kube-apiserver run",
        "images" => "the images are there",
        "cluster" => "kind has made the cluster",
        "load" => "the images are in the cluster",
        "api" => "the API server is ready",
        "definitions" => "the kinds are established",
        "rights" => "the operator's rights are there",
        "mock-provider" => "the mock provider answers",
        "provider-config" => "the ProviderConfig is there",
        "operator" => "the operator leads and finds its ProviderConfig usable",
        "admission" => "a VirtualMachine would be accepted",
        "smoke" => "a VirtualMachine was made and removed",
        _other => "it is done",
    }
}

impl Report {
    /// A report of `total` steps.
    pub(crate) fn new(format: Format, quiet: bool, total: usize) -> Self {
        let talk = Talk::new(quiet || format == Format::Json)
            .live(output::is_live())
            .stamped(!output::is_live());
        Self {
            format,
            talk,
            total,
            started: clock::now(),
            spoke: clock::now(),
            taken: Vec::new(),
        }
    }

    /// The voice that steps use for what happens on the way.
    pub(crate) fn talk(&self) -> Talk {
        self.talk
    }

    /// A step begins.
    ///
    /// # Errors
    /// Nobody reads stdout any more.
    pub(crate) fn begin(&self, step: &'static str) -> Result<Instant, Failure> {
        self.event(step, "started", None, None, None)?;
        Ok(clock::now())
    }

    /// A step goes on: a terminal is brought up to date, elsewhere there is a sign of life now and then.
    ///
    /// # Errors
    /// Nobody reads stdout any more.
    pub(crate) fn tick(&mut self, step: &'static str, began: Instant) -> Result<(), Failure> {
        let seconds = began.elapsed().as_secs_f64();
        if self.talk.is_live() {
            output::life(&format!(
                "  {step:<16} waiting until {} ({seconds:.0} s)",
                awaited(step)
            ));
            return Ok(());
        }
        if began.max(self.spoke).elapsed() < HEARTBEAT {
            return Ok(());
        }
        self.spoke = clock::now();
        self.talk.line(&format!(
            "  {step:<16} still waiting until {} ({seconds:.0} s)",
            awaited(step)
        ));
        self.event(step, "waiting", Some(awaited(step)), None, Some(seconds))
    }

    /// A step has ended.
    ///
    /// # Errors
    /// Nobody reads stdout any more.
    pub(crate) fn end(
        &mut self,
        step: &'static str,
        began: Instant,
        outcome: &Result<Outcome, Failure>,
    ) -> Result<(), Failure> {
        let time = began.elapsed();
        let (mark, color, status, note) = match outcome {
            Ok(Outcome::Unchanged(note)) => ("=", AnsiColor::Cyan, "unchanged", note.as_str()),
            Ok(Outcome::Done(note)) => ("+", AnsiColor::Green, "done", note.as_str()),
            Err(failure) => ("!", AnsiColor::Red, "failed", failure.cause.as_str()),
        };
        let style = Style::new().fg_color(Some(color.into()));
        let word = if status == "unchanged" {
            "unchanged  "
        } else {
            ""
        };
        let seconds = time.as_secs_f64();
        let text = format!("{step:<16} {word}{}", output::clean(note));
        self.talk
            .styled(&format!("{style}{mark}{style:#} {text}  ({seconds:.1} s)"));
        let id = outcome.as_ref().err().map(|failure| failure.id);
        self.event(step, status, Some(note), id, Some(seconds))?;
        self.taken.push(Taken {
            step,
            time,
            changed: matches!(outcome, Ok(Outcome::Done(_))),
        });
        Ok(())
    }

    /// Begins anew with `total` steps: what was taken so far led nowhere and is not in the summary.
    ///
    /// # Errors
    /// Nobody reads stdout any more.
    pub(crate) fn restart(&mut self, total: usize, why: &str) -> Result<(), Failure> {
        self.talk.line(why);
        self.event("cluster", "replaced", Some(why), None, None)?;
        self.total = total;
        self.taken.clear();
        Ok(())
    }

    /// The steps so far.
    pub(crate) fn taken(&self) -> &[Taken] {
        &self.taken
    }

    /// Time since the first step.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn event(
        &self,
        step: &str,
        status: &str,
        note: Option<&str>,
        error_id: Option<&str>,
        seconds: Option<f64>,
    ) -> Result<(), Failure> {
        if self.format == Format::Text {
            return Ok(());
        }
        let index = self.taken.len() + 1;
        let event = Event {
            version: 1,
            // A sign of life is no beginning and no end of a step.
            r#type: if status == "waiting" {
                "progress"
            } else {
                "step"
            },
            step,
            index,
            total: self.total,
            status,
            note,
            error_id,
            seconds,
        };
        output::data(&serde_json::to_string(&event).unwrap_or_default())
    }
}
