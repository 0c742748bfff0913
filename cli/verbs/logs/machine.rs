//! `vmctl logs vm NAME`: what every replica of the operator, the provider and the cluster told about one VirtualMachine,
//! in the order of time.

mod entry;
mod sources;

use std::collections::HashSet;
use std::time::Duration;

use super::Args;
use crate::clock;
use crate::cluster::Cluster;
use crate::cluster::kind::{Kind, Named};
use crate::env::report::Format;
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk};
use crate::verbs::interrupt::{interruptible, reader_gone};
use entry::Entry;
use sources::Sources;

/// How often sources are asked for what is new.
const LOOK: Duration = Duration::from_secs(1);

/// Tells about one VirtualMachine.
///
/// # Errors
/// Nobody has told anything about it; the API server does not answer; nobody reads any more.
pub(super) async fn run(args: &Args) -> Result<(), Failure> {
    let named = Named::parse(&args.programs, &[Kind::VirtualMachine])?;
    let [name] = named.names.as_slice() else {
        let cause = "the logs of exactly one VirtualMachine are shown";
        return Err(Failure::new(Exit::Usage, "VMC-NAME", cause).fix("vmctl logs vm NAME"));
    };
    let cluster = args.cluster.open().await?;
    let telling = async {
        tokio::select! {
            outcome = tell(args, &cluster, name) => outcome,
            gone = reader_gone(), if args.follow => Err(gone),
        }
    };
    interruptible(telling, Failure::ended).await
}

async fn tell(args: &Args, cluster: &Cluster, name: &str) -> Result<(), Failure> {
    let mut sources = Sources::open(cluster, name).await?;
    let mut told = HashSet::new();
    let mut lacks = Vec::new();
    let mut entries = gathered(&mut sources, &mut told, &mut lacks).await;
    if entries.is_empty() && !sources.exists() && !args.follow {
        let cause = format!(
            "there is no VirtualMachine {name}, and nothing is told about one ({})",
            cluster.label
        );
        let list = cluster.vmctl("get vm");
        return Err(Failure::new(Exit::NotFound, "VMC-NOT-FOUND", cause)
            .fix(format!("see what there is: {list}")));
    }
    let latest = entries.split_off(entries.len().saturating_sub(args.tail));
    print(&latest, args.output)?;
    while args.follow {
        clock::sleep(LOOK).await;
        let new = gathered(&mut sources, &mut told, &mut lacks).await;
        print(&new, args.output)?;
    }
    Ok(())
}

/// What was not told before, by time. What cannot be had is said once.
async fn gathered(
    sources: &mut Sources,
    told: &mut HashSet<String>,
    lacks: &mut Vec<String>,
) -> Vec<Entry> {
    let (mut entries, missing) = sources.look().await;
    for lack in missing {
        if !lacks.contains(&lack) {
            Talk::new(false).line(&lack);
            lacks.push(lack);
        }
    }
    entries.retain(|entry| told.insert(entry.key()));
    // What was told at the same time stays in the order of its source.
    entries.sort_by_key(|entry| entry.time);
    entries
}

fn print(entries: &[Entry], format: Format) -> Result<(), Failure> {
    for entry in entries {
        output::data(&match format {
            Format::Text => entry.text(),
            Format::Json => entry.json().to_string(),
        })?;
    }
    Ok(())
}
