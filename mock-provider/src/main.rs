//! The mock provider as a program of its own.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use mock_provider::{Error, Options, serve};
use tokio::signal::unix::{SignalKind, signal};

/// A cloud with the provider HTTP API, for development and tests.
///
/// Prints one line of JSON with its addresses once it listens, and runs until SIGTERM or SIGINT.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

/// Why it ended.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("cannot start the runtime: {0}")]
    Runtime(std::io::Error),
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
    #[error("cannot print the addresses: {0}")]
    Print(std::io::Error),
    #[error(transparent)]
    Server(#[from] Error),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(filter())
        .init();
    match start(arguments.options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Where even standard error is closed, the exit code says it.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn filter() -> tracing_subscriber::EnvFilter {
    tracing_subscriber::EnvFilter::builder()
        .with_default_directive(tracing::Level::INFO.into())
        .from_env_lossy()
}

fn start(options: Options) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    runtime.block_on(run(options))
}

async fn run(options: Options) -> Result<(), Failure> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::Signals)?;
    let shutdown = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let running = serve(options, shutdown).await?;
    let mut line = serde_json::json!({ "url": format!("http://{}", running.addr) });
    if let Some(addr) = running.admin_addr {
        line["adminUrl"] = format!("http://{addr}").into();
    }
    let mut out = std::io::stdout();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(Failure::Print)?;
    Ok(running.wait().await?)
}
