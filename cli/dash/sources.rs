//! Every source of the dashboard, each a task of its own.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch::channel;
use tokio::task::JoinSet;
use vm_tui::{Health, Message, Source};

use super::access::{Access, Credential};
use super::out::Out;
use super::pods::Pods;
use super::replicas::Where;
use super::token::Tokens;
use super::watch::{Collection, follow};
use super::{Args, lease, logs, read, replicas};
use crate::cluster::Cluster;
use crate::cluster::kind::Kind;
use crate::env::Environment;
use crate::hint::Failure;

/// Starts them.
pub(super) fn start(
    args: &Args,
    cluster: &Cluster,
    token: Option<String>,
    out: &Out,
    tasks: &mut JoinSet<Result<(), Failure>>,
) {
    let namespace = args.cluster.namespace();
    let (again, back) = channel(0);
    for collection in [machines(namespace), configs(namespace), events(namespace)] {
        let (client, out, back) = (cluster.client.clone(), out.clone(), back.clone());
        tasks.spawn(async move {
            follow(client, collection, out, back).await;
            Ok(())
        });
    }
    let (client, operator, sender) = (
        cluster.client.clone(),
        args.operator_namespace.clone(),
        out.clone(),
    );
    tasks.spawn(async move {
        lease::follow(client, operator, sender, again).await;
        Ok(())
    });
    let place = place(args, cluster);
    let credential = match (token, &place) {
        (Some(token), _) => Credential::Given(token),
        (None, Where::Pods(_)) => {
            let tokens = Tokens::new(cluster.client.clone(), &args.operator_namespace);
            Credential::Asked(Arc::new(tokens))
        }
        (None, Where::Urls(_) | Where::Environment(_)) => Credential::Nobody,
    };
    let access = Access {
        client: cluster.client.clone(),
        namespace: args.operator_namespace.clone(),
        credential,
    };
    let log = log_file(args, cluster);
    tasks.spawn(replicas::follow(
        place,
        access,
        args.interval.0,
        out.clone(),
    ));
    let sender = out.clone();
    tasks.spawn(async move {
        match log {
            Log::File(path) => logs::follow(path, sender).await,
            // Each pod's log is followed beside its metrics.
            Log::Pods => {}
            Log::Nowhere(why) => sender.health(&Source::Logs, Health::Absent { why }).await,
        }
        Ok(())
    });
}

/// Where the logs of replicas are.
enum Log {
    File(std::path::PathBuf),
    Pods,
    Nowhere(String),
}

fn log_file(args: &Args, cluster: &Cluster) -> Log {
    match processes(cluster) {
        Some(environment) => Log::File(environment.dir().join("logs").join("operator.log")),
        None if args.metrics_url.is_empty() => Log::Pods,
        None => Log::Nowhere("a replica that --metrics-url names tells no log".to_owned()),
    }
}

fn place(args: &Args, cluster: &Cluster) -> Where {
    if !args.metrics_url.is_empty() {
        return Where::Urls(args.metrics_url.clone());
    }
    match processes(cluster) {
        Some(environment) => Where::Environment(Box::new(environment.clone())),
        None => Where::Pods(Box::new(Pods::new(
            &cluster.client,
            &args.operator_namespace,
        ))),
    }
}

/// The environment whose operator is a process of this machine.
fn processes(cluster: &Cluster) -> Option<&Environment> {
    let environment = cluster.environment.as_ref()?;
    let pods = environment.kind().ok().flatten().is_some();
    (!pods).then_some(environment)
}

fn machines(namespace: Option<&str>) -> Collection {
    Collection {
        path: Kind::VirtualMachine.path(namespace),
        source: Source::Machines,
        wanted: |_| true,
        present: |objects| {
            let list = objects.iter().map(read::machine).collect();
            vec![Message::Machines { list }]
        },
        gone: |uid| Some(Message::Gone { uid }),
        listed: Some(Message::Listed),
    }
}

fn configs(namespace: Option<&str>) -> Collection {
    Collection {
        path: Kind::ProviderConfig.path(namespace),
        source: Source::Configs,
        wanted: |_| true,
        present: |objects| {
            let all = objects
                .iter()
                .map(|object| Message::Config(read::config(object)));
            all.collect()
        },
        gone: |uid| Some(Message::ConfigGone { uid }),
        listed: None,
    }
}

fn events(namespace: Option<&str>) -> Collection {
    let path = match namespace {
        Some(namespace) => format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"),
        None => "/apis/events.k8s.io/v1/events".to_owned(),
    };
    Collection {
        path,
        source: Source::Events,
        wanted: |object: &Value| read::is_ours(object),
        present: |objects| {
            let all = objects
                .iter()
                .map(|object| Message::Event(read::event(object)));
            all.collect()
        },
        // That an event is forgotten is no news.
        gone: |_| None,
        listed: None,
    }
}
