//! The operator as a child of an environment: `vmctl operator …` hands its arguments to the library.
//!
//! This is the one place to change when the library has its entry `vmoperator::operator::main(args) -> ExitCode`: call
//! it in [`main`] and set [`BUILT`]. Until then `up` leaves the steps out that need it.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::hint::{Exit, Failure};
use crate::output;

/// Name of the hidden subcommand.
pub(crate) const SUBCOMMAND: &str = "operator";
/// Whether the library has the operator.
pub(crate) const BUILT: bool = false;

/// Runs the operator with the arguments behind the subcommand.
pub(crate) fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    drop(args);
    let failure = Failure::new(
        Exit::Failure,
        "VMC-OPERATOR",
        "this vmctl has no operator in it",
    );
    output::failure(&failure);
    failure.exit_code()
}
