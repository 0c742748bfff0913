//! `vmctl describe`: one object as a person wants to understand it: what it is, what belongs to it, how it came to be
//! as it is, and what happens next.

mod related;
mod sections;

use serde_json::Value;

use super::choice::{self, Selectors};
use super::completion;
use super::input::Input;
use super::interrupt::interruptible;
use super::problems::Problems;
use crate::cluster::ClusterArgs;
use crate::cluster::call::Collection;
use crate::cluster::kind::Kind;
use crate::hint::Failure;
use crate::output;
use related::Related;

const EXAMPLES: &str = "\
Examples:
  vmctl describe vm web-1
  vmctl describe vm -l tier=front
  vmctl describe pcfg default

Exits with 4 when an object that was named does not exist.";

/// Options of `vmctl describe`.
#[derive(Debug, clap::Args)]
#[group(id = "describe")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm or pcfg, and names; or KIND/NAME
    #[arg(value_name = "KIND [NAME]", num_args = 1.., add = completion::objects())]
    words: Vec<String>,
    #[command(flatten)]
    selectors: Selectors,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Describes objects, one after the other.
///
/// # Errors
/// One that is named is missing; the API server does not answer.
pub(crate) async fn run(mut args: Args) -> Result<(), Failure> {
    let kinds = [Kind::VirtualMachine, Kind::ProviderConfig];
    let named = choice::named(&args.words, &args.input, &kinds, &mut args.cluster).await?;
    choice::either(&named.names, &args.selectors)?;
    let cluster = args.cluster.open().await?;
    let collection = Collection::new(&cluster, named.kind);
    let described = described(&collection, &named.names, &args.selectors);
    interruptible(described, Failure::ended).await
}

async fn described(
    collection: &Collection,
    names: &[String],
    selectors: &Selectors,
) -> Result<(), Failure> {
    let mut problems = Problems::default();
    let found = choice::objects(collection, names, selectors, false, &mut problems).await?;
    if found.is_empty() && names.is_empty() {
        choice::say_nothing_found(collection.namespace.as_deref());
    }
    for (index, object) in found.iter().enumerate() {
        if index > 0 {
            output::data("\n")?;
        }
        output::data(&text(collection, object).await)?;
    }
    problems.outcome()
}

/// Everything about one object. What cannot be had is said where it would be.
async fn text(collection: &Collection, object: &Value) -> String {
    let related = Related::gather(&collection.cluster, collection.kind, object).await;
    let mut text = sections::head(object);
    text.push_str(&match collection.kind {
        Kind::VirtualMachine => sections::machine(object, &related),
        Kind::ProviderConfig | Kind::Event => sections::config(object, &related),
    });
    text.push_str(&sections::conditions(object));
    if collection.kind == Kind::VirtualMachine {
        text.push_str(&sections::next(object, &related));
        text.push_str(&sections::calls(&related));
    }
    text.push_str(&sections::events(&related));
    text.trim_end().to_owned()
}
