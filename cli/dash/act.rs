//! What the user asks for: done beside the screen, which never waits for it.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use vm_tui::{Done, Message, Target, What};
use vmoperator::api::RECONCILE_AT_ANNOTATION;

use super::out::Out;
use crate::clock;
use crate::cluster::Cluster;
use crate::cluster::call::{Collection, Error, Form, MANAGER};
use crate::cluster::kind::Kind;
use crate::output::clean;

/// What kubectl may take.
const KUBECTL: Duration = Duration::from_secs(20);

/// Deletes machines one after the other, each only if it is still the one that was meant.
pub(super) async fn delete(cluster: Cluster, targets: Vec<Target>, out: Out) {
    let mut failed = Vec::new();
    for target in &targets {
        let collection = collection(&cluster, target);
        if let Err(error) = collection.delete(&target.name, &target.uid).await {
            failed.push(refusal(&collection, target, error));
        }
    }
    out.send(outcome("deletion", targets.len(), &failed)).await;
}

/// Asks the operator to look at machines now, each only if it is still the one that was meant: an annotation of the API
/// that it takes as a change, so that no back-off and no poll is waited for.
pub(super) async fn reconcile(cluster: Cluster, targets: Vec<Target>, out: Out) {
    let now = clock::timestamp().to_string();
    let mut failed = Vec::new();
    for target in &targets {
        let collection = collection(&cluster, target);
        let patch = json!({ "metadata": {
            "uid": target.uid, "annotations": { RECONCILE_AT_ANNOTATION: now },
        } });
        if let Err(error) = collection.merge(&target.name, &patch, MANAGER).await {
            failed.push(refusal(&collection, target, error));
        }
    }
    out.send(outcome("reconcile", targets.len(), &failed)).await;
}

fn refusal(collection: &Collection, target: &Target, error: Error) -> String {
    format!("{}: {}", target.name, collection.failed(error).cause)
}

/// What became of something that was asked for each of so many machines.
fn outcome(what: &str, many: usize, failed: &[String]) -> Message {
    match failed.first() {
        None if many == 1 => done(&format!("its {what} was asked for"), true),
        None => done(
            &format!("the {what} of {many} machines was asked for"),
            true,
        ),
        Some(first) if many == 1 => done(first, false),
        Some(first) => {
            let text = format!("{what}: {} of {many} failed; {first}", failed.len());
            done(&text, false)
        }
    }
}

/// Shows an object.
pub(super) async fn show(cluster: Cluster, what: What, target: Target, out: Out) {
    let text = match what {
        What::Yaml => yaml(&cluster, &target).await,
        What::Describe => describe(&cluster, &target).await,
    };
    let message = match text {
        Ok(text) => Message::Text {
            title: format!("{}/{}", target.namespace, target.name),
            text: clean(&text).replace('\t', "    "),
        },
        Err(why) => done(&why, false),
    };
    out.send(message).await;
}

/// A call of kubectl for a cluster.
pub(super) fn kubectl(
    cluster: &Cluster,
    words: &[&str],
    namespace: &str,
) -> tokio::process::Command {
    let mut all = cluster.kubectl_words.iter();
    let program = all.next().cloned().unwrap_or_else(|| "kubectl".into());
    let mut command = tokio::process::Command::new(program);
    command.args(all).args(words).args(["-n", namespace]);
    command
}

async fn yaml(cluster: &Cluster, target: &Target) -> Result<String, String> {
    let collection = collection(cluster, target);
    let object = collection.get(&target.name, Form::Objects).await;
    let mut object = object.map_err(|error| collection.failed(error).cause)?;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    serde_saphyr::to_string(&object).map_err(|error| error.to_string())
}

async fn describe(cluster: &Cluster, target: &Target) -> Result<String, String> {
    let resource = Kind::VirtualMachine.resource();
    let mut command = kubectl(
        cluster,
        &["describe", &resource, &target.name],
        &target.namespace,
    );
    command.stdin(Stdio::null()).kill_on_drop(true);
    let answer = tokio::time::timeout(KUBECTL, command.output()).await;
    let answer = answer.map_err(|_| "kubectl does not end".to_owned())?;
    let answer = answer.map_err(|error| format!("cannot run kubectl: {error}"))?;
    if answer.status.success() {
        return Ok(String::from_utf8_lossy(&answer.stdout).into_owned());
    }
    let talk = String::from_utf8_lossy(&answer.stderr);
    Err(talk.lines().last().unwrap_or("kubectl failed").to_owned())
}

fn collection(cluster: &Cluster, target: &Target) -> Collection {
    Collection {
        cluster: cluster.clone(),
        kind: Kind::VirtualMachine,
        namespace: Some(target.namespace.clone()),
    }
}

pub(super) fn done(text: &str, well: bool) -> Message {
    Message::Done(Done {
        text: clean(text).replace('\n', " "),
        well,
    })
}
