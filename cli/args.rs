//! The command line. A verb that is not built has no place here, and so none in the help.

use clap::{Parser, Subcommand};

use crate::output::Color;
use crate::runtime::embedded::foreground;

/// Virtual machines on Kubernetes: environments to develop in, and the verbs to work with them.
#[derive(Debug, Parser)]
#[command(name = "vmctl", version, disable_help_subcommand = true)]
pub(crate) struct Args {
    /// When to colour the output
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One variant per verb, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a control plane in the foreground, for tests
    #[command(hide = true)]
    ControlPlane(foreground::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }
}
