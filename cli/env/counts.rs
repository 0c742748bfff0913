//! Who leads, and how many objects there are in which state: what a person wants to know at a glance.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use vmoperator::api::{GROUP, VERSION};

use super::steps::condition;
use crate::clock;
use crate::hint::chain;

/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(5);
/// Where the operator's Lease is.
const LEASE: (&str, &str) = ("vmoperator-system", "vmoperator-leader");

/// The holder of the operator's Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    /// Its name; empty when nobody holds it.
    pub(crate) holder: String,
    /// Whether the Lease was renewed within its time.
    pub(crate) is_fresh: bool,
    /// Seconds since it was renewed.
    pub(crate) age: i64,
}

/// ProviderConfigs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Configs {
    /// All of them.
    pub(crate) total: usize,
    /// Those that are Ready.
    pub(crate) ready: usize,
}

/// VirtualMachines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machines {
    /// All of them.
    pub(crate) total: usize,
    /// Those that wait for a person.
    pub(crate) stalled: usize,
    /// Their number by phase.
    pub(crate) phases: BTreeMap<String, usize>,
}

/// All of it; where one part cannot be had, why.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// Who leads.
    pub(crate) leader: Result<Leader, String>,
    /// ProviderConfigs of all namespaces.
    pub(crate) configs: Result<Configs, String>,
    /// VirtualMachines of all namespaces.
    pub(crate) machines: Result<Machines, String>,
}

impl Counts {
    /// Asks the API server.
    pub(crate) async fn of(client: &Client) -> Self {
        Self {
            leader: leader(client).await,
            configs: configs(client).await,
            machines: machines(client).await,
        }
    }

    /// For programs; null where it cannot be had.
    pub(crate) fn as_json(&self) -> Value {
        let leader = self.leader.as_ref().ok();
        let leader = leader.map(|one| json!({ "holder": one.holder, "fresh": one.is_fresh, "renewedSecondsAgo": one.age }));
        let configs = self.configs.as_ref().ok();
        let configs = configs.map(|all| json!({ "total": all.total, "ready": all.ready }));
        let machines = self.machines.as_ref().ok();
        let machines = machines
            .map(|all| json!({ "total": all.total, "stalled": all.stalled, "phases": all.phases }));
        json!({ "leader": leader, "providerConfigs": configs, "virtualMachines": machines })
    }

    /// Lines for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let leader = match &self.leader {
            Ok(one) if one.holder.is_empty() => "nobody".to_owned(),
            Ok(one) if one.is_fresh => format!("{}, renewed {} s ago", one.holder, one.age),
            Ok(one) => format!("nobody; {} was it until {} s ago", one.holder, one.age),
            Err(why) => format!("not known: {why}"),
        };
        let configs = match &self.configs {
            Ok(all) => format!("{}, {} ready", all.total, all.ready),
            Err(why) => format!("not known: {why}"),
        };
        let machines = match &self.machines {
            Ok(all) => {
                let phases = all
                    .phases
                    .iter()
                    .map(|(phase, count)| format!(", {count} {phase}"));
                format!("{}{}", all.total, phases.collect::<String>())
            }
            Err(why) => format!("not known: {why}"),
        };
        vec![
            format!("leader       {leader}"),
            format!("providers    {configs}"),
            format!("machines     {machines}"),
        ]
    }
}

async fn leader(client: &Client) -> Result<Leader, String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), LEASE.0);
    let lease = called(leases.get_opt(LEASE.1)).await?;
    let spec = lease.and_then(|lease| lease.spec).unwrap_or_default();
    let holder = spec.holder_identity.unwrap_or_default();
    let renewed = spec.renew_time.map(|time| time.0);
    let age = renewed.map_or(i64::MAX, |time| {
        clock::timestamp().duration_since(time).as_secs().max(0)
    });
    let lasts = i64::from(spec.lease_duration_seconds.unwrap_or_default());
    Ok(Leader {
        is_fresh: !holder.is_empty() && age <= lasts,
        holder,
        age,
    })
}

async fn configs(client: &Client) -> Result<Configs, String> {
    let all = listed(client, "ProviderConfig").await?;
    let ready = all
        .iter()
        .filter(|one| condition(one, "Ready").as_deref() == Some("True"));
    Ok(Configs {
        ready: ready.count(),
        total: all.len(),
    })
}

async fn machines(client: &Client) -> Result<Machines, String> {
    let all = listed(client, "VirtualMachine").await?;
    let stalled = all
        .iter()
        .filter(|one| condition(one, "Stalled").as_deref() == Some("True"))
        .count();
    let mut phases = BTreeMap::new();
    for one in &all {
        let phase = one.data["status"]["phase"]
            .as_str()
            .unwrap_or("without status");
        *phases.entry(phase.to_owned()).or_default() += 1;
    }
    Ok(Machines {
        total: all.len(),
        stalled,
        phases,
    })
}

async fn listed(client: &Client, kind: &str) -> Result<Vec<DynamicObject>, String> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, VERSION, kind));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    Ok(called(api.list(&ListParams::default())).await?.items)
}

async fn called<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match tokio::time::timeout(CALL, call).await {
        Ok(answer) => answer.map_err(|error| chain(&error)),
        Err(_elapsed) => Err(format!("no answer within {} s", CALL.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_said_and_null_for_programs() {
        let counts = Counts {
            leader: Ok(Leader {
                holder: "a".to_owned(),
                is_fresh: true,
                age: 2,
            }),
            configs: Err("no answer".to_owned()),
            machines: Ok(Machines {
                total: 3,
                stalled: 0,
                phases: BTreeMap::from([("Failed".to_owned(), 1), ("Running".to_owned(), 2)]),
            }),
        };
        let lines = [
            "leader       a, renewed 2 s ago",
            "providers    not known: no answer",
            "machines     3, 1 Failed, 2 Running",
        ];
        assert_eq!(counts.lines(), lines);
        assert_eq!(counts.as_json()["providerConfigs"], Value::Null);
        assert_eq!(counts.as_json()["virtualMachines"]["phases"]["Running"], 2);
    }
}
