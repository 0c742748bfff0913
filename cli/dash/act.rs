//! What the user asks for: done beside the screen, which never waits for it.

use std::process::Stdio;
use std::time::Duration;

use vm_tui::{Done, Message, Target, What};

use super::out::Out;
use crate::cluster::Cluster;
use crate::cluster::call::{Collection, Form};
use crate::cluster::kind::Kind;
use crate::output::clean;

/// What kubectl may take.
const KUBECTL: Duration = Duration::from_secs(20);

/// Deletes machines one after the other, each only if it is still the one that was meant.
pub(super) async fn delete(cluster: Cluster, targets: Vec<Target>, out: Out) {
    let many = targets.len();
    let mut failed = Vec::new();
    for target in &targets {
        let collection = collection(&cluster, target);
        if let Err(error) = collection.delete(&target.name, &target.uid).await {
            failed.push(format!(
                "{}: {}",
                target.name,
                collection.failed(error).cause
            ));
        }
    }
    let done = match failed.first() {
        None if many == 1 => done("its deletion was asked for", true),
        None => done(
            &format!("the deletion of {many} machines was asked for"),
            true,
        ),
        Some(first) if many == 1 => done(first, false),
        Some(first) => done(
            &format!("{} of {many} were not deleted; {first}", failed.len()),
            false,
        ),
    };
    out.send(done).await;
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
