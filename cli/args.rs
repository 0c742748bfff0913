//! The command line. A verb that is not built has no place here, and so none in the help.

use clap::{Parser, Subcommand};

use crate::dash;
use crate::env::{command, down, status, up};
use crate::output::Color;
use crate::runtime::embedded::{foreground, supervisor};
use crate::verbs::{
    apply, completion, create, delete, describe, edit, events, explain, get, install, kubectl,
    logs, man, mock, run, top, uninstall, version, wait,
};
use crate::{diag, doctor};

/// Virtual machines on Kubernetes: environments to develop in, and the verbs to work with them
#[derive(Debug, Parser)]
#[command(name = "vmctl", version, disable_help_subcommand = true, before_help = EXAMPLES, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// When to colour the output
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  vmctl up
  vmctl create vm web-1 --image ubuntu-22.04 --cpu 2 --memory 4Gi
  vmctl get vm -o wide -w
  vmctl describe vm web-1
  vmctl down";

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 failure, 2 usage, 3 not ready or timed out, 4 not found, 5 conflict or refused for safety,
6 environment or preflight, 7 API server not reachable, 129/130/143 ended by a signal";

/// One variant per verb, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an environment, or bring it to what it must be
    Up(Box<up::Args>),
    /// Remove an environment
    Down(down::Args),
    /// Say what of an environment runs
    Status(status::Args),
    /// List environments, or set up a shell for one
    Env(command::Args),
    /// Check machine, programs, environment and cluster, and say what to do
    Doctor(doctor::Args),
    /// Pack what somebody who helps wants to see, without credentials
    Diag(diag::Args),
    /// Put the operator into a cluster made by hand
    Install(install::Args),
    /// Take the operator out of a cluster made by hand, its VirtualMachines first
    Uninstall(uninstall::Args),
    /// Make a VirtualMachine and wait until it is Ready
    Create(Box<create::Args>),
    /// Show VirtualMachines or ProviderConfigs
    Get(get::Args),
    /// Tell everything about an object: what belongs to it, how it came to be so, what comes next
    Describe(describe::Args),
    /// Make objects as manifests say
    Apply(apply::Args),
    /// Change an object in your editor
    Edit(edit::Args),
    /// Delete VirtualMachines and wait until they are gone
    Delete(delete::Args),
    /// Wait for a condition, a phase, or a deletion
    Wait(wait::Args),
    /// Show machines, queue and provider, live
    Dash(Box<dash::Args>),
    /// Show what was told about objects
    Events(events::Args),
    /// Show what VirtualMachines ask for, or how busy the operator is
    Top(Box<top::Args>),
    /// Explain kinds and their fields
    Explain(explain::Args),
    /// Show what the programs of an environment wrote down
    Logs(Box<logs::Args>),
    /// Run the operator of this build against an environment, in place of its own
    Run(Box<run::Args>),
    /// Run kubectl in an environment
    Kubectl(kubectl::Args),
    /// Run the mock provider alone
    Mock(Box<mock::Args>),
    /// Write the completion script of a shell
    Completion(completion::Args),
    /// Print manual pages
    Man(man::Args),
    /// Print versions
    Version(version::Args),
    /// Run a control plane in the foreground, for tests
    #[command(hide = true)]
    ControlPlane(Box<foreground::Args>),
    /// Own everything that runs for an environment
    #[command(hide = true, name = supervisor::SUBCOMMAND)]
    Supervise(supervisor::Args),
}

#[cfg(test)]
pub(crate) mod docs;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }
}
