//! Checks of what runs inside the cluster of an environment.

use kube::Client;
use serde_json::Value;

use super::Finding;
use super::id::Id;
use crate::env::apply;
use crate::env::counts::Counts;
use crate::env::{Environment, manifests};
use crate::hint::chain;
use crate::runtime::embedded::plane;

/// All checks; where the API server does not answer, only that.
pub(super) async fn findings(environment: &Environment) -> Vec<Finding> {
    let name = environment.name();
    let up = format!("vmctl up --env {name}");
    let client = match environment.client().await {
        Ok(client) => client,
        Err(failure) => return vec![Finding::fail(Id::Api, failure.cause, up)],
    };
    if let Some(lack) = plane::not_ready(&client).await {
        return vec![Finding::fail(
            Id::Api,
            format!("the API server lacks {lack}"),
            up,
        )];
    }
    let counts = Counts::of(&client).await;
    vec![
        Finding::ok(Id::Api, "ready"),
        definitions(&client, &up).await,
        leader(&counts, &up),
        configs(&counts, name.as_str()),
        machines(&counts, name.as_str()),
    ]
}

async fn definitions(client: &Client, up: &str) -> Finding {
    let objects = match manifests::objects(manifests::DEFINITIONS) {
        Ok(objects) => objects,
        Err(failure) => return Finding::fail(Id::Definitions, failure.cause, "install vmctl anew"),
    };
    for wanted in &objects {
        let name = wanted.metadata.name.clone().unwrap_or_default();
        let present = match apply::read(client, wanted).await {
            Ok(Some(present)) => present,
            Ok(None) => return Finding::fail(Id::Definitions, format!("{name} is missing"), up),
            Err(error) => return Finding::fail(Id::Definitions, chain(&error), up),
        };
        let schema = |object: &kube::core::DynamicObject| -> Value {
            object.data["spec"]["versions"][0]["schema"].clone()
        };
        if schema(&present) != schema(wanted) {
            let note = format!("{name} is of another version of vmctl");
            return Finding::warn(Id::Definitions, note, up);
        }
    }
    Finding::ok(Id::Definitions, "those of this version")
}

fn leader(counts: &Counts, up: &str) -> Finding {
    match &counts.leader {
        Ok(leader) if leader.is_fresh => {
            Finding::ok(Id::Leader, format!("{} leads", leader.holder))
        }
        Ok(leader) if leader.holder.is_empty() => Finding::fail(Id::Leader, "nobody leads", up),
        Ok(leader) => {
            let note = format!("{} led last and has not renewed its Lease", leader.holder);
            Finding::fail(Id::Leader, note, up)
        }
        Err(why) => Finding::fail(Id::Leader, why.clone(), up),
    }
}

fn configs(counts: &Counts, name: &str) -> Finding {
    let fix = format!("vmctl get pcfg -A -o wide --env {name}");
    match &counts.configs {
        Ok(configs) if configs.ready < configs.total => {
            let note = format!(
                "{} of {} are not Ready",
                configs.total - configs.ready,
                configs.total
            );
            Finding::warn(Id::ProviderConfigs, note, fix)
        }
        Ok(configs) => Finding::ok(
            Id::ProviderConfigs,
            format!("all {} are Ready", configs.total),
        ),
        Err(why) => Finding::fail(Id::ProviderConfigs, why.clone(), fix),
    }
}

fn machines(counts: &Counts, name: &str) -> Finding {
    let fix = format!("vmctl get vm -A -o wide --env {name}");
    match &counts.machines {
        Ok(machines) if machines.stalled > 0 => {
            let note = format!(
                "{} of {} wait for a person",
                machines.stalled, machines.total
            );
            Finding::warn(Id::VirtualMachines, note, fix)
        }
        Ok(machines) => Finding::ok(
            Id::VirtualMachines,
            format!("{}, none waits for a person", machines.total),
        ),
        Err(why) => Finding::fail(Id::VirtualMachines, why.clone(), fix),
    }
}
