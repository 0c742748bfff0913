//! `vmctl doctor`: looks at machine, programs, environment and cluster, judges, and says what to do. It changes nothing.

mod cluster;
mod environment;
pub(crate) mod id;
pub(crate) mod kind;
pub(crate) mod machine;
mod ports;
mod tools;

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::env::report::Format;
use crate::env::{Environment, Selection};
use crate::hint::{Exit, Failure};
use crate::output;
use crate::runtime::embedded::binaries::Lookup;
use id::Id;

const EXAMPLES: &str = "\
Examples:
  vmctl doctor
  vmctl doctor --pre
  vmctl doctor --env team -o json

Exits with 6 when a check failed; a warning is no failure.";

/// Options of `vmctl doctor`.
#[derive(Debug, clap::Args)]
#[group(id = "doctor")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Only what `up` needs: machine and programs
    #[arg(long)]
    pre: bool,
    #[command(flatten)]
    lookup: Lookup,
    /// Node image that is to be used [default: that of the environment, else that of your kind]
    #[arg(
        long,
        env = "VMCTL_NODE_IMAGE",
        hide_env_values = true,
        value_name = "IMAGE"
    )]
    node_image: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All is well.
    Ok,
    /// It works, and may surprise.
    Warn,
    /// It does not work.
    Fail,
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
        }
    }
}

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Which check.
    pub(crate) id: Id,
    /// How it came out.
    pub(crate) verdict: Verdict,
    /// What was found, in a few words.
    pub(crate) note: String,
    /// What to do about it.
    pub(crate) fix: Option<String>,
}

impl Finding {
    /// All is well.
    pub(crate) fn ok(id: Id, note: impl Into<String>) -> Self {
        Self {
            id,
            verdict: Verdict::Ok,
            note: note.into(),
            fix: None,
        }
    }

    /// It works, and may surprise.
    pub(crate) fn warn(id: Id, note: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            id,
            verdict: Verdict::Warn,
            note: note.into(),
            fix: Some(fix.into()),
        }
    }

    /// It does not work.
    pub(crate) fn fail(id: Id, note: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Fail,
            ..Self::warn(id, note, fix)
        }
    }

    fn as_json(&self, category: &str) -> Value {
        json!({ "category": category, "id": self.id.as_str(), "verdict": self.verdict.as_str().to_lowercase(),
            "note": self.note, "fix": self.fix })
    }
}

/// The checks of one part.
pub(crate) type Part = (&'static str, Vec<Finding>);

/// Makes the checks and prints them.
///
/// # Errors
/// One failed.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let parts = parts(&args).await?;
    match args.output {
        Format::Text => output::data(text(&parts).trim_end())?,
        Format::Json => output::data(&as_json(&parts).to_string())?,
    }
    let failed: Vec<&str> = all(&parts)
        .filter(|one| one.verdict == Verdict::Fail)
        .map(|one| one.id.as_str())
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    let cause = format!("checks failed: {}", failed.join(", "));
    Err(Failure::new(Exit::Environment, "VMC-DOCTOR", cause).fix("do what each of them says"))
}

async fn parts(args: &Args) -> Result<Vec<Part>, Failure> {
    let environment = Environment::at(&args.selection.name)?;
    let mut parts = vec![
        ("machine", machine::findings(environment.dir())),
        ("programs", tools::findings(&args.lookup).await),
        (
            "containers",
            kind::findings(&environment, args.node_image.as_deref()).await,
        ),
    ];
    if !args.pre {
        parts.extend(of_environment(&environment).await);
    }
    Ok(parts)
}

/// The parts that need an environment.
pub(crate) async fn of_environment(environment: &Environment) -> Vec<Part> {
    let mut parts = vec![("environment", environment::findings(environment))];
    if Environment::open(environment.name()).is_ok() {
        parts.push(("cluster", cluster::findings(environment).await));
    }
    parts
}

fn all(parts: &[Part]) -> impl Iterator<Item = &Finding> {
    parts.iter().flat_map(|(_, findings)| findings)
}

/// Every finding for programs.
pub(crate) fn as_json(parts: &[Part]) -> Value {
    let checks: Vec<Value> = parts
        .iter()
        .flat_map(|(category, findings)| findings.iter().map(|one| one.as_json(category)))
        .collect();
    let ok = all(parts).all(|one| one.verdict != Verdict::Fail);
    json!({ "version": 1, "ok": ok, "vmctl": env!("CARGO_PKG_VERSION"), "checks": checks })
}

fn text(parts: &[Part]) -> String {
    let mut text = String::new();
    for (category, findings) in parts {
        let _ = writeln!(text, "{category}");
        for one in findings {
            let color = match one.verdict {
                Verdict::Ok => AnsiColor::Green,
                Verdict::Warn => AnsiColor::Yellow,
                Verdict::Fail => AnsiColor::Red,
            };
            let style = Style::new().fg_color(Some(color.into()));
            let (word, id) = (one.verdict.as_str(), one.id.as_str());
            let _ = writeln!(
                text,
                "  {style}{word:<4}{style:#}  {id:<22}{}",
                output::clean(&one.note)
            );
            if let Some(fix) = &one.fix {
                let _ = writeln!(text, "        what to do: {}", output::clean(fix));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_its_own_word_of_one_form() {
        let mut words: Vec<&str> = Id::ALL.iter().map(|(id, _)| id.as_str()).collect();
        assert!(words.iter().all(|word| word.starts_with("DOC-")));
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Id::ALL.len());
    }

    #[test]
    fn one_failure_decides_and_each_says_what_to_do() {
        let good = Finding::ok(Id::Disk, "room");
        let bad = Finding::fail(Id::Memory, "none", "buy some");
        let parts = [("machine", vec![good.clone(), bad])];
        assert_eq!(as_json(&parts)["ok"], false);
        assert_eq!(as_json(&[("machine", vec![good])])["ok"], true);
        let shown = text(&parts);
        assert!(
            shown.contains("FAIL") && shown.contains("what to do: buy some"),
            "{shown}"
        );
    }
}
