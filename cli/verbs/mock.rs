//! `vmctl mock`: the mock provider alone, in the foreground.

use mock_provider::{Options, serve};
use serde_json::json;
use tokio::signal::unix::SignalKind;

use crate::hint::{Exit, Failure, chain};
use crate::output;
use crate::runtime::embedded::foreground::listen;

const EXAMPLES: &str = "\
Examples:
  vmctl mock
  vmctl mock --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0";

/// Options of `vmctl mock`: those of the mock provider.
#[derive(Debug, clap::Args)]
#[group(id = "mock")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    options: Options,
}

/// Runs the mock provider until SIGTERM or SIGINT; prints one line of JSON with its addresses once it listens.
///
/// # Errors
/// An address cannot be taken, or a file not be used.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let failed =
        |error: mock_provider::Error| Failure::new(Exit::Failure, "VMC-MOCK", chain(&error));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let shutdown = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let running = serve(args.options, shutdown).await.map_err(failed)?;
    let admin = running.admin_addr.map(|addr| format!("http://{addr}"));
    output::data(
        &json!({ "url": format!("http://{}", running.addr), "adminUrl": admin }).to_string(),
    )?;
    running.wait().await.map_err(failed)
}
