//! `vmctl apply`: makes objects as manifests say, by server-side apply, one result per object.

use kube::api::{GetParams, Patch, PatchParams};
use kube::core::{GroupVersionKind, Request};
use kube::discovery::{Scope, pinned_kind};
use serde_json::{Value, json};

use super::confirm;
use super::input::{Document, Input};
use super::interrupt::interruptible;
use super::problems::Problems;
use crate::cluster::call::{Error, MANAGER, limited};
use crate::cluster::object::Object;
use crate::cluster::print::Encoding;
use crate::cluster::{Cluster, ClusterArgs};
use crate::hint::{Exit, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  vmctl apply -f web-1.yaml
  vmctl apply -f vms/ -f secret.yaml
  vmctl kubectl get vm web-1 -o yaml | vmctl apply --env team -f -

Exits with 5 when somebody else owns a field that a manifest changes. What is wrong with one object does not keep the
others from being applied.";

/// What is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DryRun {
    /// Read the manifests; no cluster is asked.
    Client,
    /// Let the API server check the objects; nothing is stored.
    Server,
}

/// Options of `vmctl apply`.
#[derive(Debug, clap::Args)]
#[group(id = "apply")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// Only try it
    #[arg(long, value_name = "WHERE", value_enum)]
    dry_run: Option<DryRun>,
    /// Take fields over that somebody else owns
    #[arg(long)]
    force_conflicts: bool,
    /// Print the objects as they are afterwards, in this form
    #[arg(short, long, value_enum)]
    output: Option<Encoding>,
    /// Do not ask before work on a cluster that is no environment of vmctl
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Applies all objects that the files hold.
///
/// # Errors
/// A file cannot be read (nothing is applied then), or an object is refused.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    if !args.input.is_given() {
        let failure = Failure::new(
            Exit::Usage,
            "VMC-USAGE",
            "nothing is said about what to apply",
        );
        return Err(failure.fix("name a file with -f, or - for stdin"));
    }
    let documents = args.input.read().await?;
    if args.dry_run == Some(DryRun::Client) {
        for document in &documents {
            told(&document.object, "applied (dry run)", args.output)?;
        }
        return Ok(());
    }
    let cluster = args.cluster.open().await?;
    if args.dry_run.is_none() {
        confirm::may_change(&cluster, args.yes).await?;
    }
    let ended = |exit| {
        let cause = "interrupted; what was applied so far stays";
        Failure::new(exit, "VMC-INTERRUPTED", cause).fix("run the same command again; it goes on")
    };
    interruptible(all(&args, &cluster, &documents), ended).await
}

async fn all(args: &Args, cluster: &Cluster, documents: &[Document]) -> Result<(), Failure> {
    let mut problems = Problems::default();
    let dry_run = args.dry_run.is_some();
    for document in documents {
        match one(args, cluster, &document.object).await {
            Ok((object, word)) => {
                let note = if dry_run { " (server dry run)" } else { "" };
                told(&object, &format!("{word}{note}"), args.output)?;
            }
            Err(Refusal::Call(error)) => {
                let failure = failed(error, cluster);
                let hopeless = failure.exit == Exit::Unreachable;
                problems.add(document.blame(failure));
                if hopeless {
                    break;
                }
            }
            Err(Refusal::Unfit(failure)) => problems.add(document.blame(failure)),
        }
    }
    problems.outcome()
}

/// Why an object was not applied.
enum Refusal {
    Call(Error),
    Unfit(Failure),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

/// Applies one object; a word says what that did.
async fn one(
    args: &Args,
    cluster: &Cluster,
    object: &Value,
) -> Result<(Value, &'static str), Refusal> {
    let dry_run = args.dry_run.is_some();
    let (collection, namespace) = place(cluster, object).await?;
    let name = Object(object).name();
    let what = format!(
        "apply {} {name}",
        object["kind"].as_str().unwrap_or_default()
    );
    let request = Request::new(collection.clone()).get(name, &GetParams::default());
    let present = match cluster.send(what.clone(), request).await {
        Ok(present) => Some(present),
        Err(error) if error.code() == Some(404) => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(present) = present.as_ref().filter(|_| !dry_run) {
        inherit(cluster, &collection, present).await?;
    }
    let mut wanted = object.clone();
    if let Some(namespace) = namespace {
        wanted["metadata"]["namespace"] = json!(namespace);
    }
    let params = PatchParams {
        dry_run,
        force: args.force_conflicts,
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let request = Request::new(collection).patch(name, &params, &Patch::Apply(&wanted));
    let applied = cluster.send(what, request).await?;
    let word = match &present {
        None => "created",
        Some(present) if same(present, &applied) => "unchanged",
        Some(_) => "configured",
    };
    Ok((applied, word))
}

/// Whether applying left an object as it was; who owns which field does not count, nor what the operator says of it
/// meanwhile.
fn same(present: &Value, applied: &Value) -> bool {
    let stripped = |object: &Value| {
        let mut object = object.clone();
        if let Value::Object(fields) = &mut object {
            fields.remove("status");
        }
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            for field in ["managedFields", "resourceVersion", "generation"] {
                metadata.remove(field);
            }
        }
        object
    };
    stripped(present) == stripped(applied)
}

/// What `vmctl create` wrote becomes what was applied, once: else the API server would count the two as different
/// owners of the same fields, and no field could be removed by leaving it out.
async fn inherit(cluster: &Cluster, collection: &str, present: &Value) -> Result<(), Error> {
    let Some(mut fields) = present["metadata"]["managedFields"].as_array().cloned() else {
        return Ok(());
    };
    let ours = |one: &Value, operation: &str| {
        one["manager"] == MANAGER && one["operation"] == operation && one["subresource"].is_null()
    };
    if fields.iter().any(|one| ours(one, "Apply")) {
        return Ok(());
    }
    let Some(created) = fields.iter_mut().find(|one| ours(one, "Update")) else {
        return Ok(());
    };
    created["operation"] = json!("Apply");
    let name = Object(present).name();
    let patch = json!({ "metadata": { "managedFields": fields, "resourceVersion": Object(present).version(),
        "uid": Object(present).uid() } });
    let request =
        Request::new(collection).patch(name, &PatchParams::default(), &Patch::Merge(&patch));
    cluster
        .send(format!("take over {name}"), request)
        .await
        .map(drop)
}

/// Path of the collection of an object, and its namespace where its kind has one.
async fn place(cluster: &Cluster, object: &Value) -> Result<(String, Option<String>), Refusal> {
    let (version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
    let (version, kind) = (version.unwrap_or_default(), kind.unwrap_or_default());
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = GroupVersionKind::gvk(group, version, kind);
    let found = limited(
        format!("find kind {}", kind.kind),
        pinned_kind(&cluster.client, &kind),
    )
    .await;
    let (resource, capabilities) = found.map_err(|error| unknown(error, &kind, cluster))?;
    let named = Object(object).namespace();
    let namespace = match capabilities.scope {
        Scope::Cluster => None,
        Scope::Namespaced if named.is_empty() => Some(cluster.namespace.clone()),
        Scope::Namespaced => Some(cluster.settled(named).map_err(Refusal::Unfit)?),
    };
    let root = if resource.group.is_empty() {
        "/api".to_owned()
    } else {
        format!("/apis/{}", resource.group)
    };
    let middle = namespace.as_ref().map_or(String::new(), |namespace| {
        format!("/namespaces/{namespace}")
    });
    Ok((
        format!("{root}/{}{middle}/{}", resource.version, resource.plural),
        namespace,
    ))
}

/// Discovery says in its own way that there is no such kind.
fn unknown(error: Error, kind: &GroupVersionKind, cluster: &Cluster) -> Refusal {
    let absent = match &error {
        Error::Refused { status, .. } => status.code == 404,
        Error::Broken { source, .. } => matches!(source.as_ref(), kube::Error::Discovery(_)),
        Error::Silent { .. } | Error::Odd { .. } => false,
    };
    if !absent {
        return Refusal::Call(error);
    }
    let cause = format!(
        "the API server knows no {} of {} ({})",
        kind.kind,
        kind.api_version(),
        cluster.label
    );
    let fix = if cluster.ours {
        cluster.vmctl("up")
    } else {
        "correct kind and apiVersion, or install the definition".to_owned()
    };
    Refusal::Unfit(Failure::new(Exit::Environment, "VMC-NO-KIND", cause).fix(fix))
}

fn failed(error: Error, cluster: &Cluster) -> Failure {
    let conflict = error.code() == Some(409);
    let failure = error.into_failure(cluster);
    if conflict && failure.id == "VMC-CONFLICT" {
        return failure.fix(
            "leave those fields out of the manifest, or take them over with --force-conflicts",
        );
    }
    failure
}

fn told(object: &Value, word: &str, encoding: Option<Encoding>) -> Result<(), Failure> {
    match encoding {
        None => output::data(&format!("{} {word}", reference(object))),
        Some(Encoding::Name) => output::data(&reference(object)),
        Some(Encoding::Json) => output::data(&crate::cluster::print::json_text(object)?),
        Some(Encoding::Yaml) => {
            output::data("---")?;
            output::data(&crate::cluster::print::yaml_text(object)?)
        }
    }
}

/// `virtualmachine.compute.example.com/web-1`.
fn reference(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let group = version
        .split_once('/')
        .map_or(String::new(), |(group, _)| format!(".{group}"));
    output::clean(&format!("{kind}{group}/{}", Object(object).name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_unchanged_whoever_owns_its_fields() {
        let present = json!({ "metadata": { "resourceVersion": "1", "managedFields": [1] }, "spec": { "cpu": 1 } });
        let mut applied = json!({ "metadata": { "resourceVersion": "2", "generation": 1 }, "spec": { "cpu": 1 } });
        assert!(same(&present, &applied));
        applied["spec"]["cpu"] = json!(2);
        assert!(!same(&present, &applied));
    }

    #[test]
    fn objects_are_named_as_kubectl_names_them() {
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } });
        assert_eq!(reference(&secret), "secret/a");
        let vm = json!({ "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine", "metadata": { "name": "a" } });
        assert_eq!(reference(&vm), "virtualmachine.compute.example.com/a");
    }
}
