//! `vmoperator`, the in-cluster controller.

use std::process::ExitCode;

fn main() -> ExitCode {
    vmoperator::operator::main(std::env::args_os())
}
