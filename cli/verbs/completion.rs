//! Completion of the shell, with the live names of objects and environments. Nothing is ever printed but candidates,
//! and a cluster that does not answer at once is left out: a shell that starts must not wait for one.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::CommandFactory;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use crate::cluster::ClusterArgs;
use crate::cluster::call::{Collection, Filter, Form};
use crate::cluster::follow::items;
use crate::cluster::kind::Kind;
use crate::cluster::object::Object;
use crate::env::Environment;
use crate::hint::{Exit, Failure};
use crate::output;

/// The variable by which the script of a shell asks for candidates.
const VARIABLE: &str = "VMCTL_COMPLETE";
/// Longest wait for names.
const PATIENCE: Duration = Duration::from_millis(150);

const EXAMPLES: &str = "\
Examples:
  source <(vmctl completion bash)
  vmctl completion zsh > ~/.zfunc/_vmctl
  vmctl completion fish > ~/.config/fish/completions/vmctl.fish";

/// A shell that we can write a script for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shell {
    /// bash.
    Bash,
    /// zsh.
    Zsh,
    /// fish.
    Fish,
    /// elvish.
    Elvish,
    /// PowerShell.
    Powershell,
}

/// Options of `vmctl completion`.
#[derive(Debug, clap::Args)]
#[group(id = "completion")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell to write the script for
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// Nobody reads stdout any more.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let name = match args.shell {
        Shell::Bash => "bash",
        Shell::Zsh => "zsh",
        Shell::Fish => "fish",
        Shell::Elvish => "elvish",
        Shell::Powershell => "powershell",
    };
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let written = shells
        .completer(name)
        .map(|shell| shell.write_registration(VARIABLE, "vmctl", "vmctl", "vmctl", &mut script));
    match (written, String::from_utf8(script)) {
        (Some(Ok(())), Ok(text)) => output::data(text.trim_end()),
        (_failed, _text) => {
            let cause = format!("cannot write a script for {name}");
            Err(Failure::new(Exit::Failure, "VMC-COMPLETION", cause).fix("use another shell"))
        }
    }
}

/// Answers the script of a shell, if it is one that calls. True when it was.
pub(crate) fn answered() -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty()) {
        return false;
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let complete = CompleteEnv::with_factory(crate::args::Args::command).var(VARIABLE);
    // What is wrong with a half-written line is told when it is run, not while it is typed.
    let _ = complete
        .bin("vmctl")
        .try_complete(std::env::args_os(), None);
    true
}

/// Candidates for `KIND NAME…` and `KIND/NAME…`.
pub(crate) fn objects() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| object_candidates(&line(), &current.to_string_lossy()))
}

/// Candidates for `--env`.
pub(crate) fn environments() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let names = Environment::all().unwrap_or_default();
        candidates(
            names.iter().map(|name| name.as_str().to_owned()),
            &current.to_string_lossy(),
        )
    })
}

/// The words of the line that is typed: the script gives them behind `--`.
fn line() -> Vec<String> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    words
        .map(|word: OsString| word.to_string_lossy().into_owned())
        .collect()
}

fn object_candidates(line: &[String], current: &str) -> Vec<CompletionCandidate> {
    let words = positional(line);
    // The word that is typed may be the last one of the line, or not be in it yet.
    let before: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| *word != current)
        .collect();
    if let Some((kind, _name)) = current.split_once('/') {
        let slashed = |name: String| format!("{kind}/{name}");
        let names = Kind::of(kind).map_or(Vec::new(), |kind| names(line, kind));
        return candidates(names.into_iter().map(slashed), current);
    }
    match before.first().and_then(|word| Kind::of(word)) {
        None if before.is_empty() => {
            candidates(["vm", "pcfg"].map(str::to_owned).into_iter(), current)
        }
        None => Vec::new(),
        Some(kind) => {
            let fresh = names(line, kind)
                .into_iter()
                .filter(|name| !before.contains(&name.as_str()));
            candidates(fresh, current)
        }
    }
}

fn candidates(words: impl Iterator<Item = String>, current: &str) -> Vec<CompletionCandidate> {
    let fitting = words.filter(|word| word.starts_with(current) && output::clean(word) == *word);
    fitting.map(CompletionCandidate::new).collect()
}

/// Words behind the verb that are no options and no values of options.
fn positional(line: &[String]) -> Vec<String> {
    let valued = [
        "-n",
        "--namespace",
        "--env",
        "--kubeconfig",
        "--context",
        "-l",
        "--selector",
        "-o",
        "--output",
        "--for",
    ];
    let mut words = line.iter().skip(2);
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if valued.contains(&word.as_str()) {
            let _value = words.next();
        } else if !word.starts_with('-') {
            found.push(word.clone());
        }
    }
    found
}

/// Names of objects, if the cluster tells them at once.
fn names(line: &[String], kind: Kind) -> Vec<String> {
    let asked = async {
        let cluster = ClusterArgs::of_line(line).open().await.ok()?;
        let collection = Collection::new(&cluster, kind);
        let list = collection
            .list(&Filter::default(), Form::Objects)
            .await
            .ok()?;
        let names = items(list, Form::Objects).into_iter();
        Some(
            names
                .map(|item| Object(&item.object).name().to_owned())
                .collect(),
        )
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return Vec::new();
    };
    let answer = runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
    runtime.shutdown_background();
    answer.ok().flatten().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(line: &str, current: &str) -> Vec<String> {
        let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found = object_candidates(&line, current);
        found
            .iter()
            .map(|one| one.get_value().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn kinds_come_first_and_what_is_unknown_gets_no_candidate() {
        assert_eq!(offered("vmctl get ", ""), ["vm", "pcfg"]);
        assert_eq!(offered("vmctl get -n team p", "p"), ["pcfg"]);
        assert!(offered("vmctl get pods x", "x").is_empty());
        assert!(offered("vmctl get pods/x", "pods/x").is_empty());
    }

    #[test]
    fn options_and_their_values_are_no_names() {
        let line = [
            "vmctl", "get", "-n", "team", "vm", "--watch", "-o", "wide", "web-1",
        ];
        assert_eq!(positional(&line.map(str::to_owned)), ["vm", "web-1"]);
    }
}
