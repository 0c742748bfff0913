//! `vmctl env …`: environments as such.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::report::Format;
use super::state::Phase;
use super::{Environment, Selection};
use crate::cluster::table::{Column, Table};
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk};

const EXAMPLES: &str = "\
Examples:
  vmctl env list
  eval \"$(vmctl env export)\"
  vmctl env export --env team -o fish | source";

const LIST_EXAMPLES: &str = "\
Examples:
  vmctl env list
  vmctl env list -o json";

const EXPORT_EXAMPLES: &str = "\
Examples:
  eval \"$(vmctl env export)\"
  eval \"$(vmctl env export --env team)\" && kubectl get vm
  vmctl env export -o fish | source";

/// Options of `vmctl env`.
#[derive(Debug, clap::Args)]
#[group(id = "env")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List environments, and whether they run
    #[command(before_help = LIST_EXAMPLES)]
    List {
        /// Form of the output
        #[arg(short, long, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// Print what a shell needs to work with an environment
    #[command(before_help = EXPORT_EXAMPLES)]
    Export {
        #[command(flatten)]
        selection: Selection,
        /// Shell to write for
        #[arg(short, long, value_enum, default_value_t = Shell::Posix)]
        output: Shell,
    },
}

/// Shells that set variables in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shell {
    /// sh, bash, zsh and their kin.
    Posix,
    /// fish.
    Fish,
}

/// One environment.
struct Line {
    name: String,
    state: &'static str,
    runtime: &'static str,
    kubernetes: String,
    age: Option<Duration>,
    kubeconfig: String,
}

/// Does what is asked.
///
/// # Errors
/// The environment does not exist, or nobody reads stdout any more.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::List { output } => list(*output),
        Command::Export { selection, output } => export(selection, *output),
    }
}

fn list(format: Format) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for name in Environment::all()? {
        lines.push(line(&Environment::at(&name)?));
    }
    match format {
        Format::Json => {
            let items: Vec<Value> = lines.iter().map(as_json).collect();
            output::data(&json!({ "version": 1, "items": items }).to_string())
        }
        Format::Text if lines.is_empty() => {
            Talk::new(false).line("there is no environment; make one: vmctl up");
            Ok(())
        }
        Format::Text => output::data(&table(&lines)),
    }
}

fn line(environment: &Environment) -> Line {
    let state = environment.state();
    let kind = environment.kind().unwrap_or_default();
    let kubernetes = kind.as_ref().and_then(|record| record.kubernetes.clone());
    let word = match &state {
        Err(_) => "damaged",
        Ok(None) => match &kind {
            Some(record) if record.complete => "made",
            Some(_) | None => "half-made",
        },
        Ok(Some(state)) if !state.supervisor.is_alive() => "stopped",
        Ok(Some(state)) => match state.phase {
            Phase::Starting => "starting",
            Phase::Running => "running",
            Phase::Restarting => "restarting",
            Phase::Failed => "failed",
        },
    };
    let made =
        std::fs::metadata(environment.dir()).and_then(|dir| dir.created().or(dir.modified()));
    Line {
        name: environment.name().to_string(),
        state: word,
        runtime: if kind.is_some() { "kind" } else { "embedded" },
        kubernetes: kubernetes
            .or(state.ok().flatten().map(|state| state.kubernetes))
            .unwrap_or_default(),
        age: made.ok().and_then(|made| made.elapsed().ok()),
        kubeconfig: environment.kubeconfig().display().to_string(),
    }
}

fn as_json(line: &Line) -> Value {
    json!({ "name": line.name, "state": line.state, "runtime": line.runtime, "kubernetes": line.kubernetes,
        "ageSeconds": line.age.map(|age| age.as_secs()), "kubeconfig": line.kubeconfig })
}

fn table(lines: &[Line]) -> String {
    let mut table = Table::new(false, false);
    let names = ["Name", "State", "Runtime", "Kubernetes", "Age"];
    let columns = names.map(|name| Column {
        name: name.to_owned(),
        priority: 0,
    });
    table.set_columns(columns.to_vec());
    let rows: Vec<Vec<Value>> = lines
        .iter()
        .map(|line| {
            let age = line.age.map_or("-".to_owned(), crate::verbs::age::words);
            [
                line.name.as_str(),
                line.state,
                line.runtime,
                &line.kubernetes,
                &age,
            ]
            .map(|cell| json!(cell))
            .to_vec()
        })
        .collect();
    table
        .lines(rows.iter().map(|row| ("", row.as_slice())))
        .join("\n")
}

fn export(selection: &Selection, shell: Shell) -> Result<(), Failure> {
    let environment = Environment::at(&selection.name)?;
    let name = environment.name();
    if !environment.dir().is_dir() {
        let cause = format!("there is no environment {name}");
        return Err(Failure::new(Exit::NotFound, "VMC-NO-ENVIRONMENT", cause)
            .fix(format!("vmctl up --env {name}")));
    }
    let kubeconfig = environment.kubeconfig().display().to_string();
    let mut text = String::new();
    for (variable, value) in [
        ("KUBECONFIG", kubeconfig.as_str()),
        ("VMCTL_ENV", name.as_str()),
    ] {
        let _ = match shell {
            Shell::Posix => writeln!(text, "export {variable}={}", quoted(value)),
            Shell::Fish => writeln!(text, "set -gx {variable} {}", quoted(value)),
        };
    }
    output::data(text.trim_end())
}

/// In single quotes, as every of these shells reads them; a quote inside ends and begins them anew.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for value in ["/home/a b/$HOME", "it's", "`x`", "a\"b\\c"] {
            let script = format!("printf %s {}", quoted(value));
            let output = std::process::Command::new("sh")
                .arg("-c")
                .arg(script)
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), value);
        }
    }
}
