//! `vmctl edit`: an object in the editor of the person. What the API server refuses comes back into the editor with the
//! reason, and what was typed is never lost.

mod diff;
mod editor;

use std::path::Path;

use serde_json::{Value, json};

use super::completion;
use super::confirm;
use super::problems::Problems;
use crate::cluster::ClusterArgs;
use crate::cluster::call::{Collection, Form};
use crate::cluster::kind::{Kind, Named};
use crate::cluster::object::{Object, reference};
use crate::cluster::print;
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk, clean};
use editor::Sheet;

/// Who owns the fields that were edited.
const MANAGER: &str = "vmctl-edit";

const EXAMPLES: &str = "\
Examples:
  vmctl edit vm web-1
  EDITOR='code --wait' vmctl edit pcfg default
  vmctl edit vm/web-1 vm/web-2

The editor is that of VISUAL or EDITOR, else vi. Leaving it without a change changes nothing. What is refused is shown
in the file again; what was typed is kept in a file whenever it could not be sent.";

/// Options of `vmctl edit`.
#[derive(Debug, clap::Args)]
#[group(id = "edit")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm or pcfg, and names; or KIND/NAME
    #[arg(value_name = "KIND NAME", required = true, num_args = 1.., add = completion::objects())]
    words: Vec<String>,
    /// Do not ask before work on a cluster that is no environment of vmctl
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Edits objects, one after the other.
///
/// # Errors
/// One is missing, the editor fails, or what was typed was refused and given up.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let named = Named::parse(&args.words, &[Kind::VirtualMachine, Kind::ProviderConfig])?;
    if named.names.is_empty() {
        let failure = Failure::new(
            Exit::Usage,
            "VMC-NAME",
            "nothing is named that could be edited",
        );
        return Err(failure.fix("vmctl edit vm NAME"));
    }
    let cluster = args.cluster.open().await?;
    confirm::may_change(&cluster, args.yes).await?;
    let collection = Collection::new(&cluster, named.kind);
    let mut problems = Problems::default();
    for name in &named.names {
        if let Err(failure) = one(&collection, name).await {
            if failure.is_silent() {
                return Err(failure);
            }
            problems.add(failure);
        }
    }
    problems.outcome()
}

/// What came of one visit to the editor.
enum Typed {
    /// Nothing is to be done.
    Nothing,
    /// The change, as a merge patch.
    Change(Value),
    /// It cannot be sent as it is.
    Wrong(String),
}

async fn one(collection: &Collection, name: &str) -> Result<(), Failure> {
    let object = collection.get(name, Form::Objects).await;
    let object = object.map_err(|error| collection.failed(error))?;
    let text = print::yaml_text(&object)?;
    let mut sheet = Sheet::new(name, &format!("{text}\n"))?;
    loop {
        let before = sheet.body().to_owned();
        sheet.visit().await?;
        let unchanged = sheet.body() == before;
        let wrong = match typed(&object, sheet.body()) {
            Typed::Nothing => return nothing(sheet, collection.kind, name),
            // Left as it was refused: the person has given up.
            Typed::Wrong(_) | Typed::Change(_) if unchanged && sheet.was_refused() => {
                return Err(given_up(sheet, name));
            }
            Typed::Wrong(why) => why,
            Typed::Change(patch) => match collection.merge(name, &patch, MANAGER).await {
                Ok(_) => {
                    sheet.discard();
                    return output::data(&format!("{} edited", reference(collection.kind, name)));
                }
                Err(error) if error.names_field("metadata.uid") => {
                    return Err(unsent(replaced(name), &sheet.keep()));
                }
                Err(error) if matches!(error.code(), Some(400 | 422)) => error.to_string(),
                Err(error) => return Err(unsent(collection.failed(error), &sheet.keep())),
            },
        };
        Talk::new(false).line(&format!("{name}: {wrong}"));
        sheet.refuse(&wrong)?;
    }
}

fn typed(object: &Value, body: &str) -> Typed {
    if body.lines().all(|line| line.trim().is_empty()) {
        return Typed::Nothing;
    }
    let edited: Value = match serde_saphyr::from_str(body) {
        Ok(edited) => edited,
        Err(error) => return Typed::Wrong(format!("this is no YAML: {error}")),
    };
    let mut original = object.clone();
    if let Some(Value::Object(metadata)) = original.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    let fixed = [
        "/apiVersion",
        "/kind",
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/uid",
    ];
    if let Some(field) = fixed
        .into_iter()
        .find(|field| original.pointer(field) != edited.pointer(field))
    {
        let field = field.trim_start_matches('/').replace('/', ".");
        return Typed::Wrong(format!(
            "{field} cannot be edited: it says which object this is"
        ));
    }
    let mut patch = diff::merge_patch(&original, &edited);
    if patch.as_object().is_none_or(serde_json::Map::is_empty) {
        return Typed::Nothing;
    }
    // Another object of the name must not get what was typed for this one.
    patch["metadata"]["uid"] = json!(Object(object).uid());
    Typed::Change(patch)
}

fn nothing(sheet: Sheet, kind: Kind, name: &str) -> Result<(), Failure> {
    sheet.discard();
    Talk::new(false).line(&format!(
        "{}: edit cancelled, nothing was changed",
        clean(&reference(kind, name))
    ));
    Ok(())
}

fn given_up(sheet: Sheet, name: &str) -> Failure {
    let kept = sheet.keep();
    let cause = format!("the edit of {name} was refused and given up; nothing was changed");
    Failure::new(Exit::Failure, "VMC-EDIT", cause)
        .fix(format!("what was typed is in {}", kept.display()))
}

fn replaced(name: &str) -> Failure {
    let cause = format!("another object took the name {name} meanwhile; it was not changed");
    Failure::new(Exit::Conflict, "VMC-CONFLICT", cause).fix("edit that one, if you want to")
}

fn unsent(failure: Failure, kept: &Path) -> Failure {
    let fix = failure
        .fix
        .clone()
        .map_or(String::new(), |fix| format!("{fix}; "));
    failure.fix(format!("{fix}what was typed is kept in {}", kept.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Value {
        json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": "a", "uid": "1", "managedFields": [1] }, "spec": { "cpu": 1 } })
    }

    #[test]
    fn only_what_was_changed_is_sent_and_only_to_that_object() {
        let body = "apiVersion: v1\nkind: A\nmetadata: {name: a, uid: '1', labels: {x: z}}\nspec: {cpu: 2}\n";
        let Typed::Change(patch) = typed(&object(), body) else {
            panic!("a change")
        };
        assert_eq!(
            patch,
            json!({ "metadata": { "uid": "1", "labels": { "x": "z" } }, "spec": { "cpu": 2 } })
        );
    }

    #[test]
    fn an_empty_or_unchanged_file_changes_nothing_and_identity_stays() {
        for body in [
            "",
            "\n  \n",
            "apiVersion: v1\nkind: A\nmetadata: {name: a, uid: '1'}\nspec: {cpu: 1}\n",
        ] {
            assert!(matches!(typed(&object(), body), Typed::Nothing), "{body}");
        }
        for (body, word) in [
            (
                "apiVersion: v1\nkind: A\nmetadata: {name: b, uid: '1'}\nspec: {cpu: 1}\n",
                "metadata.name",
            ),
            ("a: [", "no YAML"),
            ("kind: A\nmetadata: {name: a, uid: '1'}\n", "apiVersion"),
        ] {
            assert!(
                matches!(typed(&object(), body), Typed::Wrong(why) if why.contains(word)),
                "{body}"
            );
        }
    }
}
