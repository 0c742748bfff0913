//! `vmctl diag`: one archive with everything that somebody who helps wants to see, and no credential in it.

mod collect;
mod redact;

use std::path::PathBuf;
use std::time::Duration;

use crate::env::{Environment, Selection};
use crate::hint::{Exit, Failure, chain};
use crate::output::{self, Talk};
use crate::{clock, files};
use collect::Bundle;

const EXAMPLES: &str = "\
Examples:
  vmctl diag
  vmctl diag --env team -f team.tar.gz

The archive has logs, state, checks, objects, events, metrics and the provider's log. Keys, tokens and passwords are
taken out, and Secrets are not read into it; look through it all the same before you pass it on.";

/// Options of `vmctl diag`.
#[derive(Debug, clap::Args)]
#[group(id = "diag")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// File to write [default: vmctl-diag-ENV-TIME.tar.gz in the current folder]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,
}

/// Longest time that a command which has failed already takes for its archive.
const PATIENCE: Duration = Duration::from_secs(15);

/// The archive of a command that failed, in the environment's own folder; `None` where it could not be had in time. It
/// takes the place of the one before.
pub(crate) async fn of_failure(environment: &Environment) -> Option<PathBuf> {
    let collecting = Bundle::collect(environment);
    let bundle = tokio::time::timeout(PATIENCE, collecting).await.ok()?;
    let path = environment.dir().join("diag.tar.gz");
    files::write_private(&path, &bundle.archive().ok()?).ok()?;
    Some(path)
}

/// Writes the archive and prints its path. What cannot be had is listed inside it.
///
/// # Errors
/// There is no such environment, or the file cannot be written.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let environment = Environment::at(&args.selection.name)?;
    let name = environment.name();
    if !environment.dir().is_dir() {
        let cause = format!("there is no environment {name}");
        return Err(Failure::new(Exit::NotFound, "VMC-NO-ENVIRONMENT", cause)
            .fix(format!("vmctl up --env {name}")));
    }
    let path = args.file.unwrap_or_else(|| {
        let time = clock::timestamp().strftime("%Y%m%dT%H%M%SZ");
        PathBuf::from(format!("vmctl-diag-{name}-{time}.tar.gz"))
    });
    let bundle = Bundle::collect(&environment).await;
    let failed = |cause: String| {
        let cause = format!("cannot write {}: {cause}", path.display());
        Failure::new(Exit::Failure, "VMC-DIAG", cause).fix("name a file of yours with -f")
    };
    let archive = bundle
        .archive()
        .map_err(|error| failed(error.to_string()))?;
    files::write_private(&path, &archive).map_err(|error| failed(chain(&error)))?;
    let lacks = bundle.lacks().len();
    if lacks > 0 {
        Talk::new(false).line(&format!(
            "{lacks} parts could not be had; see missing.txt in the archive"
        ));
    }
    output::data(&path.display().to_string())
}
