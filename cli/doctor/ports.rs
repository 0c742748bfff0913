//! The port of an environment's API server: people and programs have it in their kubeconfigs.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use kube::config::Kubeconfig;

use super::Finding;
use super::id::Id;
use crate::env::Environment;
use crate::runtime::embedded::ports;

/// Somebody on loopback answers at once or not at all.
const CALL: Duration = Duration::from_secs(1);

/// Whether the port is listened on while the environment runs, and free while it does not.
pub(super) fn finding(environment: &Environment, runs: bool) -> Finding {
    match port(environment) {
        None => Finding::ok(Id::Ports, "none is chosen yet"),
        Some(port) => judge(port, runs, environment.name().as_str()),
    }
}

fn judge(port: u16, runs: bool, name: &str) -> Finding {
    let up = format!("vmctl up --env {name}");
    if runs {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        return match TcpStream::connect_timeout(&address, CALL) {
            Ok(_) => Finding::ok(Id::Ports, format!("the API server listens on {address}")),
            Err(error) => Finding::fail(
                Id::Ports,
                format!("nobody answers on {address}: {error}"),
                up,
            ),
        };
    }
    if ports::becomes_free(port) {
        return Finding::ok(Id::Ports, format!("{port} is free"));
    }
    let holder = ports::listener(port).map_or_else(
        || "a process that we may not see".to_owned(),
        |pid| {
            let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({})", comm.trim())
        },
    );
    let fix = format!(
        "end it, or let `{up}` choose another port: kubeconfigs that were copied then need it too"
    );
    Finding::warn(
        Id::Ports,
        format!("{port} of the API server is held by {holder}"),
        fix,
    )
}

/// The port on loopback that the kubeconfig names.
fn port(environment: &Environment) -> Option<u16> {
    let file = Kubeconfig::read_from(environment.kubeconfig()).ok()?;
    let server = file.clusters.into_iter().next()?.cluster?.server?;
    let url: url::Url = server.parse().ok()?;
    (url.host_str() == Some("127.0.0.1")).then(|| url.port())?
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn a_port_that_a_stranger_holds_is_told_with_the_stranger() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let taken = judge(port, false, "dev");
        assert_eq!(taken.verdict, Verdict::Warn);
        assert!(
            taken
                .note
                .contains(&format!("process {} (", std::process::id())),
            "{}",
            taken.note
        );
        assert_eq!(judge(port, true, "dev").verdict, Verdict::Ok);
        drop(listener);
        let gone = judge(port, true, "dev");
        assert!(gone.fix.unwrap().contains("vmctl up --env dev"));
    }
}
