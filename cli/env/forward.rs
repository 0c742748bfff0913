//! A way to a port inside a pod of an environment: `kubectl port-forward`, which ends with us.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::Environment;
use super::workload::NAMESPACE;
use crate::runtime::embedded::child;
use crate::runtime::kind::program::Program;

/// Longest wait until it listens.
const OPENING: Duration = Duration::from_secs(10);
/// What kubectl says once it listens; the port follows.
const LISTENS: &str = "Forwarding from 127.0.0.1:";

/// An open way.
#[derive(Debug)]
pub(crate) struct Forward {
    /// `http://127.0.0.1:PORT`.
    pub(crate) address: String,
    /// Dropping it ends kubectl.
    _child: Child,
    /// It writes a line for each connection, and ends where nobody could read it.
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Forward {
    /// Opens a way to a port of a pod, or of a pod behind `deployment/NAME`.
    ///
    /// # Errors
    /// There is no kubectl, no such pod, or it does not listen in time; the text says which.
    pub(crate) async fn open(
        environment: &Environment,
        target: &str,
        port: u16,
    ) -> Result<Self, String> {
        let kubectl = kubectl(environment).ok_or("kubectl is not on the PATH")?;
        let mut command = Command::from(child::tied(&kubectl));
        command
            .args(["-n", NAMESPACE, "port-forward", target])
            .arg(format!(":{port}"))
            .env("KUBECONFIG", environment.kubeconfig())
            .env("KUBECACHEDIR", environment.dir().join("kubectl-cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let failed = |error: std::io::Error| format!("cannot run kubectl: {error}");
        let mut child = command.spawn().map_err(failed)?;
        let stdout = child.stdout.take().ok_or("kubectl has no stdout")?;
        let mut lines = BufReader::new(stdout).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await.map_err(failed)? {
                if let Some(address) = listens_at(&line) {
                    return Ok(address);
                }
            }
            let mut words = String::new();
            if let Some(mut stderr) = child.stderr.take() {
                let _ = stderr.read_to_string(&mut words).await;
            }
            let last = words.lines().last().unwrap_or("it ended").to_owned();
            Err(format!("no way to {target}: {last}"))
        };
        let silent = |_elapsed| format!("no way to {target}: kubectl says nothing");
        let address = tokio::time::timeout(OPENING, listening)
            .await
            .map_err(silent)??;
        Ok(Self {
            address,
            _child: child,
            _lines: lines,
        })
    }
}

/// The one of the environment's control plane, else the one on the PATH.
fn kubectl(environment: &Environment) -> Option<PathBuf> {
    let plan = environment.plan().ok().flatten();
    let known = plan.and_then(|plan| plan.binaries.kubectl);
    known.or_else(|| Some(Program::on_path("kubectl")?.path().to_owned()))
}

fn listens_at(line: &str) -> Option<String> {
    let rest = line.strip_prefix(LISTENS)?;
    let port: u16 = rest.split(' ').next()?.parse().ok()?;
    Some(format!("http://127.0.0.1:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_what_kubectl_says() {
        let line = "Forwarding from 127.0.0.1:40123 -> 8081";
        assert_eq!(listens_at(line).unwrap(), "http://127.0.0.1:40123");
        assert_eq!(listens_at("Forwarding from [::1]:40123 -> 8081"), None);
        assert_eq!(listens_at("Handling connection for 40123"), None);
    }
}
