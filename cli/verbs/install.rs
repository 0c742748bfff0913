//! `vmctl install`: the operator in a cluster that somebody made by hand.

use kube::Client;
use kube::api::DynamicObject;

use super::confirm;
use super::interrupt::interruptible;
use crate::cluster::{Cluster, ClusterArgs};
use crate::env::apply::{self, Applied};
use crate::env::manifests;
use crate::env::steps::{condition, wait};
use crate::env::workload::{self, Image, OPERATOR};
use crate::hint::{Exit, Failure, chain};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  vmctl install --context staging --image registry.example.com/vmoperator:0.1.0
  vmctl install --context staging --wait=false

Again, it changes only what differs. Exits with 0 once a replica leads, 3 when none does in time.";

/// Options of `vmctl install`.
#[derive(Debug, clap::Args)]
#[group(id = "install")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Image of the operator [default: that of the shipped manifests]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Wait until a replica leads
    #[arg(long, value_name = "true|false", default_value_t = true, num_args = 0..=1, require_equals = true,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    wait: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Applies definitions, rights and operator, in this order, and waits.
///
/// # Errors
/// No cluster is named, it is not confirmed, an object is refused, or the operator does not get to work.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let cluster = by_hand(&args.cluster, "install").await?;
    confirm::may_change(&cluster, args.yes).await?;
    let again = cluster.vmctl("install");
    let ended = |exit| {
        Failure::new(
            exit,
            "VMC-INTERRUPTED",
            "interrupted; what was applied stays",
        )
        .fix(format!("go on with: {again}"))
    };
    interruptible(install(&args, &cluster), ended).await
}

/// Opens the cluster of a verb for clusters made by hand.
///
/// # Errors
/// None is named, or it cannot be used.
pub(super) async fn by_hand(args: &ClusterArgs, verb: &str) -> Result<Cluster, Failure> {
    if !args.is_by_hand() {
        let cause = format!("vmctl {verb} is for clusters made by hand, and none is named");
        return Err(Failure::new(Exit::Usage, "VMC-USAGE", cause).fix(format!(
            "vmctl {verb} --context NAME; environments are made and removed with vmctl up and vmctl down"
        )));
    }
    args.open().await
}

async fn install(args: &Args, cluster: &Cluster) -> Result<(), Failure> {
    let client = &cluster.client;
    let image = args.image.as_ref().map(|name| Image {
        name: name.clone(),
        loaded: false,
    });
    let definitions = manifests::objects(manifests::DEFINITIONS)?;
    apply_all(client, &definitions).await?;
    for object in &definitions {
        established(client, object).await?;
    }
    apply_all(client, &manifests::objects(manifests::RIGHTS)?).await?;
    apply_all(client, &workload::operator(image.as_ref(), false)?).await?;
    if args.wait {
        let leader = leads(client).await?;
        return output::data(&format!("{leader} leads"));
    }
    Ok(())
}

async fn apply_all(client: &Client, objects: &[DynamicObject]) -> Result<(), Failure> {
    for object in objects {
        let applied = apply::apply(client, object).await;
        let word = match applied.map_err(apply::Error::into_failure)? {
            Applied::Unchanged => "unchanged",
            Applied::Created => "created",
            Applied::Changed => "changed",
        };
        output::data(&format!("{} {word}", label(object)))?;
    }
    Ok(())
}

/// Kind and name, as kubectl writes them.
pub(super) fn label(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("object", |types| &types.kind);
    let name = object.metadata.name.as_deref().unwrap_or_default();
    format!("{}/{name}", kind.to_lowercase())
}

async fn established(client: &Client, object: &DynamicObject) -> Result<(), Failure> {
    wait(&format!("{} is established", label(object)), || async {
        let present = apply::read(client, object).await;
        let present = present.map_err(apply::Error::into_failure)?;
        Ok(present
            .filter(|present| condition(present, "Established").as_deref() == Some("True"))
            .map(drop))
    })
    .await
}

async fn leads(client: &Client) -> Result<String, Failure> {
    let mut lack = String::new();
    let looking = wait("the operator leads", async || {
        match workload::lack(client, OPERATOR).await {
            Ok(None) => {
                "a leader".clone_into(&mut lack);
                return Ok(workload::leader(client).await.ok().flatten());
            }
            Ok(Some(found)) => lack = found,
            Err(error) => lack = chain(&error),
        }
        Ok(None)
    })
    .await;
    match looking {
        Ok(leader) => Ok(leader),
        Err(mut failure) => {
            failure.cause.push_str(&format!("; it lacks {lack}"));
            Err(failure.evidence(workload::evidence(client, OPERATOR).await))
        }
    }
}
