//! vmctl, the developer's command line.

mod args;
mod clock;
mod cluster;
mod dash;
mod diag;
mod doctor;
mod env;
mod failpoint;
mod files;
#[cfg(test)]
#[path = "../src/fuzz/mod.rs"]
mod fuzz;
mod hint;
mod operator;
mod output;
mod runtime;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::env::{command, down, status, up};
use crate::hint::{Exit, Failure};
use crate::output::Color;
use crate::runtime::embedded::{child, foreground, supervisor};
use crate::verbs::{
    apply, completion, create, delete, describe, edit, events, explain, get, install, kubectl,
    logs, man, mock, run, top, uninstall, version, wait,
};

fn main() -> ExitCode {
    // A child in its first life: nothing may come before this, it has no time and needs no runtime.
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    if first
        .as_deref()
        .is_some_and(|word| word == child::SUBCOMMAND)
    {
        let problem = child::become_program(words);
        output::failure(&Failure::new(Exit::Failure, "VMC-CHILD", problem));
        return ExitCode::from(127);
    }
    if first
        .as_deref()
        .is_some_and(|word| word == operator::SUBCOMMAND)
    {
        return operator::main(words);
    }
    if completion::answered() {
        return ExitCode::SUCCESS;
    }
    output::choose_color(Color::Auto);
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    output::choose_color(args.color);
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_silent() {
                output::failure(&failure);
            }
            failure.exit_code()
        }
    }
}

/// Help and version are data, a wrong command line is talk; neither minds a closed pipe.
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(if error.use_stderr() {
        Exit::Usage.code()
    } else {
        0
    })
}

fn run(args: Args) -> Result<(), Failure> {
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        return Err(Failure::new(
            Exit::Failure,
            "VMC-TLS",
            "another TLS provider is installed already",
        ));
    }
    // One thread: children are tied to the life of the thread that starts them, see `child`.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::new(
                Exit::Failure,
                "VMC-RUNTIME",
                format!("cannot start the runtime: {error}"),
            )
        })?;
    let outcome = runtime.block_on(dispatch(args.command, args.color));
    // A read of stdin that never ends must not keep us.
    runtime.shutdown_background();
    outcome
}

async fn dispatch(command: Command, color: Color) -> Result<(), Failure> {
    match command {
        Command::Up(args) => up::run(*args).await,
        Command::Down(args) => down::run(args).await,
        Command::Status(args) => status::run(args).await,
        Command::Env(args) => command::run(&args),
        Command::Doctor(args) => doctor::run(args).await,
        Command::Diag(args) => diag::run(args).await,
        Command::Install(args) => install::run(args).await,
        Command::Uninstall(args) => uninstall::run(args).await,
        Command::Create(args) => create::run(*args).await,
        Command::Get(args) => get::run(args).await,
        Command::Describe(args) => describe::run(args).await,
        Command::Apply(args) => apply::run(args).await,
        Command::Edit(args) => edit::run(args).await,
        Command::Delete(args) => delete::run(args).await,
        Command::Wait(args) => wait::run(args).await,
        Command::Dash(args) => dash::run(*args, color).await,
        Command::Events(args) => events::run(args).await,
        Command::Top(args) => top::run(*args).await,
        Command::Explain(args) => explain::run(&args),
        Command::Logs(args) => logs::run(*args).await,
        Command::Run(args) => run::run(*args).await,
        Command::Kubectl(args) => kubectl::run(args),
        Command::Mock(args) => mock::run(*args).await,
        Command::Completion(args) => completion::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Version(args) => version::run(&args),
        Command::Supervise(args) => supervisor::run(args).await,
        Command::ControlPlane(args) => foreground::run(*args).await,
    }
}
