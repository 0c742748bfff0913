//! Every source of the dashboard, each a task of its own.

use serde_json::Value;
use tokio::sync::watch::channel;
use tokio::task::JoinSet;
use vm_tui::{Health, Message, Source};

use super::out::Out;
use super::replicas::Where;
use super::watch::{Collection, follow};
use super::{Args, lease, logs, read, replicas};
use crate::cluster::Cluster;
use crate::cluster::kind::Kind;
use crate::hint::Failure;

/// Starts them.
pub(super) fn start(
    args: &Args,
    cluster: &Cluster,
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
    tasks.spawn(replicas::follow(place, args.interval.0, out.clone()));
    let path = cluster
        .environment
        .as_ref()
        .map(|environment| environment.dir().join("logs").join("operator.log"));
    let sender = out.clone();
    tasks.spawn(async move {
        match path {
            Some(path) => logs::follow(path, sender).await,
            None => {
                let why = "the operator's log is only known in environments of vmctl: kubectl logs shows it".to_owned();
                sender.health(&Source::Logs, Health::Absent { why }).await;
            }
        }
        Ok(())
    });
}

fn place(args: &Args, cluster: &Cluster) -> Where {
    if !args.metrics_url.is_empty() {
        return Where::Urls(args.metrics_url.clone());
    }
    match &cluster.environment {
        Some(environment) => Where::Environment(Box::new(environment.clone())),
        None => Where::Nowhere(format!(
            "{} is no environment of vmctl: make the metrics of each replica reachable, for example with kubectl port-forward, and name them with --metrics-url",
            cluster.label
        )),
    }
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
