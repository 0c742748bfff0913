//! The steps of the runtime kind, rehearsed.

use kube::Client;

use super::{Line, objects};
use crate::env::steps::Steps;
use crate::env::steps::kind::{Options, find};
use crate::env::workload::{self, MOCK, OPERATOR};
use crate::env::{Environment, manifests};
use crate::hint::{Exit, Failure, chain};
use crate::runtime::embedded::plane;
use crate::runtime::kind::cluster_name;
use crate::runtime::kind::engine::Engine;
use crate::runtime::kind::image::Ourselves;

/// From the engine to the operator.
///
/// # Errors
/// Engine or kind is missing, or the files of the environment cannot be read.
pub(super) async fn lines(
    environment: &Environment,
    options: &Options,
    mut steps: Steps<'_>,
) -> Result<Vec<Line>, Failure> {
    let mut lines = vec![Line::looked("preflight", steps.kind_preflight().await?)];
    let (engine, _kind) = find(environment)
        .await
        .map_err(|lacks| Failure::new(Exit::Environment, "VMC-ENGINE", lacks.join("; ")))?;
    lines.push(images(options, &engine).await?);
    let (cluster, runs) = cluster(environment, options, &engine).await?;
    lines.push(cluster);
    let client = if runs {
        Some(environment.client().await?)
    } else {
        None
    };
    let client = match client {
        Some(client) if plane::not_ready(&client).await.is_none() => Some(client),
        Some(_) | None => None,
    };
    let client = client.as_ref();
    let ready = if client.is_some() {
        "ready"
    } else {
        "wait until every node is ready"
    };
    lines.push(Line::rests("api", ready));
    lines.push(match client {
        Some(_) => Line::rests("load", "images that the nodes lack"),
        None => Line::acts("load", "load the images into the nodes"),
    });
    let definitions = manifests::objects(manifests::DEFINITIONS)?;
    lines.push(objects(client, "definitions", &definitions).await?);
    let rights = manifests::objects(manifests::RIGHTS)?;
    lines.push(objects(client, "rights", &rights).await?);
    lines.push(pods(client, "mock-provider", MOCK).await);
    lines.push(match client {
        Some(_) => Line::rests("provider-config", "2 objects, put back where they differ"),
        None => Line::acts("provider-config", "apply 2 objects"),
    });
    lines.push(pods(client, "operator", OPERATOR).await);
    Ok(lines)
}

async fn images(options: &Options, engine: &Engine) -> Result<Line, Failure> {
    let mut missing = Vec::new();
    for image in [&options.operator_image, &options.mock_image]
        .into_iter()
        .flatten()
    {
        if engine.image(image).await.is_none() {
            missing.push(image.as_str());
        }
    }
    if options.operator_image.is_none() || options.mock_image.is_none() {
        Ourselves::look()
            .map_err(|error| Failure::new(Exit::Environment, "VMC-IMAGE", chain(&error)))?;
    }
    Ok(if missing.is_empty() {
        Line::rests("images", "are here, or are made of this very vmctl")
    } else {
        Line::acts("images", format!("fetch {}", missing.join(", ")))
    })
}

/// What becomes of the cluster, and whether it runs already.
async fn cluster(
    environment: &Environment,
    options: &Options,
    engine: &Engine,
) -> Result<(Line, bool), Failure> {
    let record = environment.kind()?;
    let name = record.as_ref().map_or_else(
        || cluster_name(environment.name().as_str(), environment.dir()),
        |record| record.cluster.clone(),
    );
    let nodes = engine.nodes(&name).await;
    let nodes = nodes.map_err(|error| error.into_failure("VMC-ENGINE"))?;
    if record.is_some_and(|record| record.complete) && !nodes.is_empty() {
        let stopped = nodes.iter().filter(|node| !node.running).count();
        return Ok(match stopped {
            0 => (Line::rests("cluster", format!("{name} runs")), true),
            _some => (
                Line::acts("cluster", format!("start {stopped} nodes of {name}")),
                false,
            ),
        });
    }
    let image = match &options.node_image {
        None => "kind's own node image".to_owned(),
        Some(image) if engine.image(image).await.is_some() => format!("node image {image}"),
        Some(image) => format!("node image {image}, to be fetched"),
    };
    let torso = if nodes.is_empty() {
        ""
    } else {
        "remove what an interrupted run left, and "
    };
    Ok((
        Line::acts("cluster", format!("{torso}make {name} with {image}")),
        false,
    ))
}

async fn pods(client: Option<&Client>, step: &'static str, name: &str) -> Line {
    let Some(client) = client else {
        return Line::acts(step, "roll it out");
    };
    match workload::lack(client, name).await {
        Ok(None) => Line::rests(step, "rolled out; put back where it differs"),
        Ok(Some(lack)) => Line::acts(step, format!("roll it out: it lacks {lack}")),
        Err(error) => Line::acts(step, format!("roll it out: {}", chain(&error))),
    }
}
