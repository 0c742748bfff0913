//! The operator as a child of an environment: `vmctl operator …` hands its arguments to the library.

use std::ffi::OsString;
use std::process::ExitCode;

/// Name of the hidden subcommand.
pub(crate) const SUBCOMMAND: &str = "operator";

/// Runs the operator with the arguments behind the subcommand. It brings a runtime, a log and signals of its own.
pub(crate) fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    vmoperator::operator::main(std::iter::once(OsString::from("vmctl operator")).chain(args))
}
