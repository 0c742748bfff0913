//! `vmctl kubectl …`: kubectl with the environment's kubeconfig; arguments, streams and exit code are kubectl's own.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::env::{Environment, Selection};
use crate::hint::{Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  vmctl kubectl get nodes
  vmctl kubectl --env team describe vm web-1";

/// Options of `vmctl kubectl`.
#[derive(Debug, clap::Args)]
#[group(id = "kubectl")]
#[command(disable_help_flag = true, before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// What kubectl is called with
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<OsString>,
}

/// Becomes kubectl; returns only when that fails.
///
/// # Errors
/// The environment is not up, or there is no kubectl.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let environment = Environment::open(&args.selection.name)?;
    let known = environment.plan()?.and_then(|plan| plan.binaries.kubectl);
    let kubectl = known.unwrap_or_else(|| PathBuf::from("kubectl"));
    let error = Command::new(&kubectl)
        .args(args.arguments)
        .env("KUBECONFIG", environment.kubeconfig())
        // Else it would write what it learns into the home of the user.
        .env("KUBECACHEDIR", environment.dir().join("kubectl-cache"))
        .exec();
    let cause = format!("cannot run {}: {error}", kubectl.display());
    Err(Failure::new(Exit::Environment, "VMC-KUBECTL", cause)
        .fix("install kubectl, or put it beside etcd in --assets"))
}
