//! `vmctl uninstall`: takes the operator out of a cluster. What would be left at providers goes first, while there is
//! still an operator that can delete it.

mod objects;

use std::time::Duration;

use kube::Client;

use super::confirm;
use super::duration::Limit;
use super::install::{by_hand, label};
use super::interrupt::interruptible;
use crate::cluster::{Cluster, ClusterArgs};
use crate::env::apply;
use crate::env::manifests;
use crate::env::steps::wait_within;
use crate::env::workload::{self, OPERATOR};
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk};
use objects::Objects;

const EXAMPLES: &str = "\
Examples:
  vmctl uninstall --context staging
  vmctl uninstall --context staging --orphan --yes

First the VirtualMachines are deleted, and with them the VMs at the provider; only when all are gone the operator goes,
then its definitions. With --orphan the VMs at the provider stay, and nobody knows about them any more.
Exits with 0 once nothing is left in the cluster, 3 when VirtualMachines are not gone in time: then the operator stays.";

/// Options of `vmctl uninstall`.
#[derive(Debug, clap::Args)]
#[group(id = "uninstall")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Leave the VMs at the provider
    #[arg(long)]
    orphan: bool,
    /// Longest wait for VirtualMachines to go, and then for each object of the operator
    #[arg(long, value_name = "TIME", default_value = "10m")]
    timeout: Limit,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Removes VirtualMachines, ProviderConfigs, operator, rights, definitions and namespace, in this order.
///
/// # Errors
/// See [`EXAMPLES`]; [`Exit::Conflict`] when it is not confirmed, or when there are VirtualMachines and no operator.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let cluster = by_hand(&args.cluster, "uninstall").await?;
    confirm::may_change(&cluster, args.yes).await?;
    let again = cluster.vmctl("uninstall");
    let ended = |exit| {
        Failure::new(
            exit,
            "VMC-INTERRUPTED",
            "interrupted; what was removed is gone",
        )
        .fix(format!("go on with: {again}"))
    };
    interruptible(uninstall(&args, &cluster), ended).await
}

async fn uninstall(args: &Args, cluster: &Cluster) -> Result<(), Failure> {
    let client = &cluster.client;
    let talk = Talk::new(false);
    let machines = Objects::machines(client);
    let configs = Objects::configs(client);
    let count = machines.list().await?.len();
    if count > 0 && !args.yes {
        confirm::ask(&question(count, args.orphan, cluster), &count.to_string()).await?;
    }
    let works = workload::lack(client, OPERATOR)
        .await
        .is_ok_and(|lack| lack.is_none());
    if count > 0 && !works && !args.orphan {
        let cause = format!(
            "{count} VirtualMachines cannot be removed at their providers: the operator does not run"
        );
        return Err(
            Failure::new(Exit::Conflict, "VMC-NO-OPERATOR", cause).fix(format!(
                "repair it with {}; or leave the VMs where they are with {}",
                cluster.vmctl("install"),
                cluster.vmctl("uninstall --orphan")
            )),
        );
    }
    if args.orphan {
        machines.let_go().await?;
    }
    machines.delete().await?;
    if works {
        machines.gone(args.timeout.0, &talk).await?;
        configs.delete().await?;
        configs.gone(args.timeout.0, &talk).await?;
        Objects::secrets(client).gone(args.timeout.0, &talk).await?;
    }
    let limit = args.timeout.0;
    remove_all(client, &workload::operator(None, false)?, limit).await?;
    if !works {
        // Only now: an operator that still came up would put them back.
        configs.delete().await?;
        for objects in [&machines, &configs, &Objects::secrets(client)] {
            objects.release().await?;
        }
    }
    remove_all(client, &manifests::objects(manifests::DEFINITIONS)?, limit).await?;
    // The namespace is the first of them, and what lives in it goes before it does.
    let mut rights = manifests::objects(manifests::RIGHTS)?;
    rights.reverse();
    remove_all(client, &rights, limit).await?;
    output::data("nothing is left of the operator")
}

fn question(count: usize, orphan: bool, cluster: &Cluster) -> String {
    let fate = if orphan {
        "left behind at the provider"
    } else {
        "gone at the provider, too"
    };
    format!(
        "remove the operator and {count} VirtualMachines of {}, {fate}? type their number:",
        cluster.label
    )
}

/// Deletes objects one after another, and waits until each is gone.
async fn remove_all(
    client: &Client,
    objects: &[kube::api::DynamicObject],
    limit: Duration,
) -> Result<(), Failure> {
    for object in objects {
        let label = label(object);
        if apply::remove(client, object)
            .await
            .map_err(apply::Error::into_failure)?
        {
            wait_within(limit, &format!("{label} is gone"), || async {
                let present = apply::read(client, object).await;
                let present = present.map_err(apply::Error::into_failure)?;
                Ok(present.is_none().then_some(()))
            })
            .await?;
            output::data(&format!("{label} deleted"))?;
        }
    }
    Ok(())
}
