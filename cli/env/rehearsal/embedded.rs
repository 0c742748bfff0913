//! The steps of the runtime embedded, rehearsed.

use super::{Line, objects};
use crate::env::state::{Phase, State};
use crate::env::steps::Steps;
use crate::env::{Environment, manifests};
use crate::hint::Failure;
use crate::output::Talk;
use crate::runtime::embedded::binaries::{self, Lookup};
use crate::runtime::embedded::plane;

/// From the machine to the operator.
///
/// # Errors
/// The machine cannot run it, or the files of the environment cannot be read.
pub(super) async fn lines(
    environment: &Environment,
    lookup: &Lookup,
    steps: &Steps<'_>,
) -> Result<Vec<Line>, Failure> {
    let preflight = Line::looked("preflight", steps.preflight().await?);
    let running = environment.running()?;
    let running = running.filter(|state| state.phase == Phase::Running);
    let tools = match &running {
        Some(state) => Line::rests("tools", format!("{} runs", state.kubernetes)),
        None => tools(lookup).await?,
    };
    let plane = if running.is_some() {
        Line::rests("control-plane", "runs")
    } else {
        Line::acts(
            "control-plane",
            "start etcd and kube-apiserver below a supervisor",
        )
    };
    let client = match &running {
        Some(_) => Some(environment.client().await?),
        None => None,
    };
    let client = match client {
        Some(client) if plane::not_ready(&client).await.is_none() => Some(client),
        Some(_) | None => None,
    };
    let api = Line::rests(
        "api",
        if client.is_some() {
            "ready"
        } else {
            "wait until it is ready"
        },
    );
    let client = client.as_ref();
    let definitions = manifests::objects(manifests::DEFINITIONS)?;
    let rights = manifests::objects(manifests::RIGHTS)?;
    let mut lines = vec![
        preflight,
        tools,
        plane,
        api,
        objects(client, "definitions", &definitions).await?,
        objects(client, "rights", &rights).await?,
    ];
    lines.extend(services(running.as_ref()));
    Ok(lines)
}

async fn tools(lookup: &Lookup) -> Result<Line, Failure> {
    let here = Lookup {
        offline: true,
        ..lookup.clone()
    };
    match binaries::find(&here, &Talk::new(true)).await {
        Ok(found) => Ok(Line::rests(
            "tools",
            format!("control plane {}", found.version),
        )),
        Err(failure) if failure.id == "VMC-BINARIES" && !lookup.offline => {
            let note =
                "download or build etcd, kube-apiserver, kube-controller-manager and kubectl";
            Ok(Line::acts("tools", note))
        }
        Err(failure) => Err(failure),
    }
}

fn services(running: Option<&State>) -> [Line; 3] {
    let mock = running.and_then(|state| state.mock.as_ref());
    let operator = running.and_then(|state| state.operator.as_ref());
    [
        match mock {
            Some(mock) => Line::rests("mock-provider", mock.endpoint.clone()),
            None => Line::acts("mock-provider", "start it"),
        },
        match mock {
            Some(_) => Line::rests("provider-config", "2 objects, put back where they differ"),
            None => Line::acts("provider-config", "apply 2 objects"),
        },
        match operator {
            Some(_) => Line::rests("operator", "runs"),
            None => Line::acts("operator", "start it, and wait until it leads"),
        },
    ]
}
