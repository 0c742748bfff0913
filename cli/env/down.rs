//! `vmctl down`: removes an environment, whatever state it is in. The cache of downloaded programs stays.

mod cluster;

use std::fs;
use std::io::{BufRead, IsTerminal};
use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use rustix::process::Signal;

use cluster::Cluster;

use super::journal::{Event, Journal};
use super::name::Name;
use super::state::State;
use super::{Environment, Selection, context, leftovers};
use crate::clock;
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk};
use crate::runtime::embedded::identity::Identity;
use crate::runtime::embedded::ports;

/// How long VirtualMachines are given to be finalised while the operator still runs.
const FINALIZERS: Duration = Duration::from_secs(30);
/// How long the supervisor is given to end everything in order; each of its children has five seconds.
const ORDERLY: Duration = Duration::from_secs(25);
/// How long a killed process is waited for.
const KILLED: Duration = Duration::from_secs(5);
/// How often something that ends is looked at.
const POLL: Duration = Duration::from_millis(50);
/// A call that takes longer has failed; a dead API server must not hold us.
const CALL: Duration = Duration::from_secs(3);

const EXAMPLES: &str = "\
Examples:
  vmctl down
  vmctl down --env team --verify
  vmctl down --all --yes

Exits with 0 also where there is no such environment.";

/// Options of `vmctl down`.
#[derive(Debug, clap::Args)]
#[group(id = "down")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Remove all environments
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Afterwards list what is left; that must be nothing
    #[arg(long)]
    verify: bool,
    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
}

/// Removes one environment, or all.
///
/// # Errors
/// Another command works on it, a file cannot be removed, or something is left.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let talk = Talk::new(args.quiet);
    let names = if args.all {
        Environment::all()?
    } else {
        vec![args.selection.name.clone()]
    };
    if args.all && !names.is_empty() && !args.yes {
        confirm(&names)?;
    }
    for name in &names {
        remove(&Environment::at(name)?, args.verify, &talk).await?;
    }
    Ok(())
}

fn confirm(names: &[Name]) -> Result<(), Failure> {
    let refused = |cause: &str| {
        Failure::new(Exit::Conflict, "VMC-CONFIRM", cause).fix("vmctl down --all --yes")
    };
    if !std::io::stdin().is_terminal() {
        return Err(refused(
            "nobody can be asked whether all environments are to be removed",
        ));
    }
    let list: Vec<&str> = names.iter().map(Name::as_str).collect();
    Talk::new(false).line(&format!(
        "remove {} environments: {}? type their number",
        names.len(),
        list.join(", ")
    ));
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    if answer.trim() == names.len().to_string() {
        Ok(())
    } else {
        Err(refused("not confirmed, nothing was removed"))
    }
}

/// Removes one environment, whatever state it is in.
///
/// # Errors
/// Another command works on it, a file cannot be removed, or something is left.
pub(crate) async fn remove(
    environment: &Environment,
    verify: bool,
    talk: &Talk,
) -> Result<(), Failure> {
    let name = environment.name();
    // A damaged state is no reason to keep an environment: what runs is found by its marker, too.
    let state = environment.state().unwrap_or_default();
    let cluster = cluster::of(environment).await?;
    if environment.dir().is_dir() {
        let _lock = environment.lock()?;
        let journal = Journal::of(environment.dir());
        journal.write("down", Event::Began, "");
        if let Some(running) = state.as_ref().filter(|state| state.supervisor.is_alive()) {
            if running.operator.is_some() {
                finalize(environment, talk).await;
            }
            stop(&running.supervisor, talk).await;
        }
        if cluster.as_ref().is_some_and(Cluster::is_half_made) {
            leftovers::settled(environment.dir()).await;
        }
        kill_leftovers(environment, state.as_ref(), talk).await;
        if let Some(cluster) = &cluster {
            if cluster.runs() {
                finalize(environment, talk).await;
            }
            cluster.remove(talk).await?;
        }
        context::release(environment, talk).await;
        fs::remove_dir_all(environment.dir()).map_err(|error| {
            let cause = format!("cannot remove {}: {error}", environment.dir().display());
            Failure::new(Exit::Failure, "VMC-REMOVE", cause)
                .fix("see who uses it, then run the same command again")
        })?;
        // The parents go with the last environment; they stay while there is another one.
        for parent in environment.dir().ancestors().skip(1).take(2) {
            let _ = fs::remove_dir(parent);
        }
        talk.line(&format!("environment {name} is removed"));
    } else {
        kill_leftovers(environment, None, talk).await;
        if let Some(cluster) = &cluster {
            cluster.remove(talk).await?;
        }
        talk.line(&format!("there is no environment {name}"));
    }
    if verify {
        let left = match &cluster {
            Some(cluster) => cluster.left().await?,
            None => Vec::new(),
        };
        verified(environment, state.as_ref(), left)
    } else {
        Ok(())
    }
}

/// Gives the operator a bounded chance to delete what it made at the provider.
async fn finalize(environment: &Environment, talk: &Talk) {
    let Ok(client) = environment.client().await else {
        return;
    };
    let Some(count) = delete_machines(&client).await else {
        talk.line("the API server does not answer; VirtualMachines go with their data");
        return;
    };
    if count == 0 {
        return;
    }
    talk.line(&format!(
        "VirtualMachines to be finalised first: {count}; waiting {} s at most",
        FINALIZERS.as_secs()
    ));
    let gone = async {
        while machines(&client).await.is_some_and(|list| !list.is_empty()) {
            clock::sleep(POLL).await;
        }
    };
    if tokio::time::timeout(FINALIZERS, gone).await.is_err() {
        talk.line("some were not finalised in time; they go with the mock provider");
    }
}

fn machine_api(client: &Client, namespace: Option<&str>) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "compute.example.com",
        "v1",
        "VirtualMachine",
    ));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &kind),
        None => Api::all_with(client.clone(), &kind),
    }
}

async fn machines(client: &Client) -> Option<Vec<DynamicObject>> {
    let all = machine_api(client, None);
    let list = tokio::time::timeout(CALL, all.list(&ListParams::default())).await;
    Some(list.ok()?.ok()?.items)
}

async fn delete_machines(client: &Client) -> Option<usize> {
    let list = machines(client).await?;
    for machine in &list {
        let api = machine_api(client, machine.metadata.namespace.as_deref());
        let name = machine.metadata.name.as_deref().unwrap_or_default();
        let _ = tokio::time::timeout(CALL, api.delete(name, &DeleteParams::background())).await;
    }
    Some(list.len())
}

async fn stop(supervisor: &Identity, talk: &Talk) {
    supervisor.signal(Signal::TERM);
    if !gone(supervisor, ORDERLY).await {
        talk.line("the supervisor does not end by itself and is killed, its children with it");
        supervisor.signal(Signal::KILL);
        gone(supervisor, KILLED).await;
    }
}

async fn gone(process: &Identity, within: Duration) -> bool {
    let ended = async {
        while process.is_alive() {
            clock::sleep(POLL).await;
        }
    };
    tokio::time::timeout(within, ended).await.is_ok()
}

/// Kills what the supervisor left, which is nothing unless it was killed itself at a bad moment.
async fn kill_leftovers(environment: &Environment, state: Option<&State>, talk: &Talk) {
    let children = state
        .into_iter()
        .flat_map(|state| &state.children)
        .filter_map(|child| child.process.as_ref());
    for child in children {
        child.signal(Signal::KILL);
    }
    let killed = leftovers::kill(environment.dir());
    if killed > 0 {
        talk.line(&format!("killed {killed} processes that were left over"));
    }
    for leftover in leftovers::processes(environment.dir()) {
        gone(&leftover.identity, KILLED).await;
    }
}

/// Looks for processes, files and listening ports of the environment, beside what is known to be left.
fn verified(
    environment: &Environment,
    state: Option<&State>,
    mut left: Vec<String>,
) -> Result<(), Failure> {
    let processes = leftovers::processes(environment.dir());
    for leftover in &processes {
        left.push(format!(
            "process {} {}",
            leftover.identity.pid,
            leftover.identity.executable.display()
        ));
    }
    if environment.dir().exists() {
        left.push(format!("directory {}", environment.dir().display()));
    }
    let mock = state.and_then(|state| state.mock.as_ref());
    let operator = state.and_then(|state| state.operator.as_ref());
    let urls = [
        state.and_then(|state| state.server.as_deref()),
        mock.map(|mock| mock.endpoint.as_str()),
        mock.map(|mock| mock.admin.as_str()),
        operator.map(|operator| operator.metrics.as_str()),
        operator.map(|operator| operator.health.as_str()),
    ];
    let known = urls
        .into_iter()
        .flatten()
        .filter_map(|url| url::Url::parse(url).ok()?.port());
    left.extend(
        known
            // A port that somebody else has taken since is nothing of ours.
            .filter(|port| {
                let listener = ports::listener(*port);
                let ours = |pid| processes.iter().any(|left| left.identity.pid == pid);
                listener.is_none_or(ours) && !ports::becomes_free(*port)
            })
            .map(|port| format!("port {port}")),
    );
    if left.is_empty() {
        return output::data(&format!(
            "nothing is left of environment {}",
            environment.name()
        ));
    }
    let cause = format!("something is left of environment {}", environment.name());
    Err(Failure::new(Exit::Failure, "VMC-LEFTOVERS", cause)
        .evidence(left)
        .fix("run the same command again"))
}
