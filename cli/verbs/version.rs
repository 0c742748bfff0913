//! `vmctl version`.

use serde_json::json;

use crate::env::report::Format;
use crate::env::{Environment, Selection};
use crate::hint::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  vmctl version
  vmctl version --env team -o json";

/// Options of `vmctl version`.
#[derive(Debug, clap::Args)]
#[group(id = "version")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// Prints our version and, where the environment is up, that of its API server. No server is asked.
///
/// # Errors
/// Nobody reads stdout any more.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    // The version must also be known where the environment is damaged.
    let kubernetes = Environment::at(&args.selection.name)
        .ok()
        .and_then(|environment| kubernetes(&environment));
    let vmctl = env!("CARGO_PKG_VERSION");
    match args.output {
        Format::Json => {
            output::data(&json!({ "vmctl": vmctl, "kubernetes": kubernetes }).to_string())
        }
        Format::Text => {
            output::data(&format!("vmctl {vmctl}"))?;
            kubernetes.map_or(Ok(()), |version| {
                output::data(&format!("Kubernetes {version} ({})", args.selection.name))
            })
        }
    }
}

fn kubernetes(environment: &Environment) -> Option<String> {
    let embedded = environment.running().unwrap_or_default();
    let embedded = embedded.map(|state| state.kubernetes);
    embedded.or_else(|| environment.kind().unwrap_or_default()?.kubernetes)
}
