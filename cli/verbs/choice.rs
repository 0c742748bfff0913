//! Which objects a verb works on: by names, by selectors, by files, or all of them.

use serde_json::Value;

use super::input::{Document, Input};
use crate::cluster::call::{Collection, Filter, Form, taken};
use crate::cluster::kind::{Kind, Named, kind};
use crate::cluster::object::Object;
use crate::cluster::{Cluster, ClusterArgs};
use crate::hint::{Exit, Failure};
use crate::output::Talk;
use crate::verbs::problems::Problems;

/// Selectors, as kubectl has them.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "selectors")]
pub(crate) struct Selectors {
    /// Only objects with these labels
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub(crate) selector: Option<String>,
    /// Only objects with these fields, such as status.phase=Running
    #[arg(long, value_name = "FIELDS")]
    pub(crate) field_selector: Option<String>,
}

impl Selectors {
    /// Whether one was given.
    pub(crate) fn is_given(&self) -> bool {
        self.selector.is_some() || self.field_selector.is_some()
    }

    /// As a filter of calls.
    pub(crate) fn filter(&self) -> Filter {
        Filter {
            labels: self.selector.clone(),
            fields: self.field_selector.clone(),
            name: None,
        }
    }
}

/// The words of a command line and the files, brought together.
///
/// # Errors
/// Neither or both are given, a file cannot be read, or it holds several kinds or namespaces.
pub(crate) async fn named(
    words: &[String],
    input: &Input,
    allowed: &[Kind],
    cluster: &mut ClusterArgs,
) -> Result<Named, Failure> {
    if !input.is_given() {
        if words.is_empty() {
            let cause = "nothing is said about what is meant";
            return Err(usage(cause).fix("name a kind, such as vm; or a file with -f"));
        }
        return Named::parse(words, allowed);
    }
    if !words.is_empty() {
        return Err(usage("names and files exclude each other").fix("leave out one of them"));
    }
    from_files(&input.read().await?, allowed, cluster)
}

fn from_files(
    documents: &[Document],
    allowed: &[Kind],
    cluster: &mut ClusterArgs,
) -> Result<Named, Failure> {
    let mut found: Option<(Kind, Vec<&str>)> = None;
    for document in documents {
        let object = Object(&document.object);
        if document.namespace() != documents.first().map_or("", Document::namespace) {
            let cause = "the files hold objects of different namespaces";
            return Err(usage(cause).fix("run the command once for each namespace"));
        }
        let of = kind(&document.kind_word(), allowed).map_err(|failure| document.blame(failure))?;
        cluster
            .settle_namespace(object.namespace())
            .map_err(|failure| document.blame(failure))?;
        match &mut found {
            None => found = Some((of, vec![object.name()])),
            Some((kind, names)) if *kind == of => names.push(object.name()),
            Some(_) => {
                let cause = "the files hold objects of different kinds";
                return Err(usage(cause).fix("run the command once for each kind"));
            }
        }
    }
    let (kind, names) =
        found.ok_or_else(|| usage("the files hold no object").fix("name others with -f"))?;
    Named::of(kind, names.into_iter())
}

/// The named objects, or those that the selectors choose. What is missing goes to the problems.
///
/// # Errors
/// The API server does not answer, or refuses.
pub(crate) async fn objects(
    collection: &Collection,
    names: &[String],
    selectors: &Selectors,
    ignore_missing: bool,
    problems: &mut Problems,
) -> Result<Vec<Value>, Failure> {
    if names.is_empty() {
        let list = collection.list(&selectors.filter(), Form::Objects).await;
        let mut list = list.map_err(|error| collection.failed(error))?;
        return Ok(match taken(&mut list, "items") {
            Value::Array(found) => found,
            _none => Vec::new(),
        });
    }
    let mut found = Vec::new();
    for name in names {
        match collection.get(name, Form::Objects).await {
            Ok(object) => found.push(object),
            Err(error) if error.is_absent(collection.kind) && ignore_missing => {}
            Err(error) if error.is_absent(collection.kind) => {
                problems.add(collection.failed(error))
            }
            Err(error) => return Err(collection.failed(error)),
        }
    }
    Ok(found)
}

/// Says that there is nothing, in kubectl's words.
pub(crate) fn say_nothing_found(namespace: Option<&str>) {
    let place = namespace.map_or(String::new(), |namespace| {
        format!(" in {namespace} namespace.")
    });
    Talk::new(false).line(&format!("No resources found{place}"));
}

/// Holds that names and selectors are not mixed.
///
/// # Errors
/// They are.
pub(crate) fn either(names: &[String], selectors: &Selectors) -> Result<(), Failure> {
    if !names.is_empty() && selectors.is_given() {
        return Err(usage("names and a selector exclude each other").fix("leave one of them out"));
    }
    Ok(())
}

/// A kind without names means all of the namespace, where a verb only reads.
pub(crate) fn collection(cluster: &Cluster, kind: Kind, all_namespaces: bool) -> Collection {
    let mut collection = Collection::new(cluster, kind);
    if all_namespaces {
        collection.namespace = None;
    }
    collection
}

fn usage(cause: &str) -> Failure {
    Failure::new(Exit::Usage, "VMC-USAGE", cause)
}
