//! `vmctl up --dry-run`: what `up` would do, by looking alone. Nothing is made, written, fetched or started.

mod embedded;
mod kind;

use kube::Client;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::Environment;
use super::apply::{self, Difference};
use super::drift::Drift;
use super::report::{Format, Outcome};
use super::steps::Steps;
use super::steps::kind::Options;
use super::up::Runtime;
use crate::hint::Failure;
use crate::output;
use crate::runtime::embedded::binaries::Lookup;

/// A step, and what it would do.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    step: &'static str,
    /// Whether it would change anything.
    acts: bool,
    note: String,
    /// What differs, a line each.
    drift: Vec<String>,
}

impl Line {
    fn rests(step: &'static str, note: impl Into<String>) -> Self {
        Self {
            step,
            acts: false,
            note: note.into(),
            drift: Vec::new(),
        }
    }

    fn acts(step: &'static str, note: impl Into<String>) -> Self {
        Self {
            acts: true,
            ..Self::rests(step, note)
        }
    }

    fn looked(step: &'static str, outcome: Outcome) -> Self {
        match outcome {
            Outcome::Unchanged(note) | Outcome::Done(note) => Self::rests(step, note),
        }
    }

    fn as_json(&self) -> Value {
        json!({ "step": self.step, "acts": self.acts, "note": self.note, "drift": self.drift })
    }
}

/// What `up` would do.
pub(super) struct Rehearsal {
    runtime: Runtime,
    lines: Vec<Line>,
}

/// Looks at every step.
///
/// # Errors
/// `up` would fail at once: the machine cannot run an environment.
pub(super) async fn of(
    environment: &Environment,
    lookup: &Lookup,
    options: &Options,
    steps: Steps<'_>,
    runtime: Runtime,
    smoke: bool,
) -> Result<Rehearsal, Failure> {
    let mut lines = match runtime {
        Runtime::Embedded => embedded::lines(environment, lookup, &steps).await?,
        Runtime::Kind => kind::lines(environment, options, steps).await?,
    };
    lines.push(Line::rests(
        "admission",
        "try whether a VirtualMachine would be accepted",
    ));
    if smoke {
        lines.push(Line::acts("smoke", "make and remove a VirtualMachine"));
    }
    let kubeconfig = environment.kubeconfig();
    let path = kubeconfig.display().to_string();
    lines.push(if kubeconfig.is_file() {
        Line::rests("kubeconfig", path)
    } else {
        Line::acts(
            "kubeconfig",
            format!("write {path}; your own is not touched"),
        )
    });
    Ok(Rehearsal { runtime, lines })
}

/// How the objects of a step are, compared with what is wanted; without a cluster all would be made.
async fn objects(
    client: Option<&Client>,
    step: &'static str,
    wanted: &[DynamicObject],
) -> Result<Line, Failure> {
    let Some(client) = client else {
        return Ok(Line::acts(step, format!("apply {} objects", wanted.len())));
    };
    let (mut missing, mut changed, mut drift) = (0, 0, Vec::new());
    for object in wanted {
        let found = apply::compared(client, object).await;
        match found.map_err(apply::Error::into_failure)? {
            Difference::None => {}
            Difference::Missing => missing += 1,
            Difference::Lines(mut lines) => {
                changed += 1;
                drift.append(&mut lines);
            }
        }
    }
    let note = format!("{} objects", wanted.len());
    let mut line = if missing + changed == 0 {
        Line::rests(step, note)
    } else {
        Line::acts(step, format!("{note}: create {missing}, change {changed}"))
    };
    line.drift = drift;
    Ok(line)
}

impl Rehearsal {
    /// Prints it.
    ///
    /// # Errors
    /// Nobody reads stdout any more.
    pub(super) fn print(
        &self,
        environment: &Environment,
        drift: &Drift,
        format: Format,
    ) -> Result<(), Failure> {
        let name = environment.name();
        let acts = self.lines.iter().filter(|line| line.acts).count();
        if format == Format::Json {
            let steps: Vec<Value> = self.lines.iter().map(Line::as_json).collect();
            let plan = json!({ "version": 1, "type": "plan", "environment": name.as_str(), "runtime": self.runtime.word(),
                "unchanged": acts == 0, "steps": steps, "drift": drift.lines() });
            return output::data(&plan.to_string());
        }
        let runtime = self.runtime.word();
        let mut text = match acts {
            0 => format!("environment {name} ({runtime}): nothing would be changed"),
            _some => format!(
                "environment {name} ({runtime}): {acts} of {} steps would change something",
                self.lines.len()
            ),
        };
        for line in &self.lines {
            let (mark, word) = if line.acts {
                ("+", "")
            } else {
                ("=", "unchanged  ")
            };
            text.push_str(&format!(
                "\n{mark} {:<16} {word}{}",
                line.step,
                output::clean(&line.note)
            ));
            for drift in &line.drift {
                text.push_str(&format!("\n~ {:<16} {}", line.step, output::clean(drift)));
            }
        }
        for line in drift.lines() {
            text.push_str(&format!(
                "\n~ {:<16} {}; only --recreate changes it",
                "drift",
                output::clean(line)
            ));
        }
        output::data(&text)
    }
}
