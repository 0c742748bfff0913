//! What is left of an environment, found by looking at the machine and not at what we remember.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::clock;
use crate::runtime::embedded::child::MARKER;
use crate::runtime::embedded::identity::{Identity, executable};

/// How often what ends by itself is looked at.
const POLL: Duration = Duration::from_millis(100);
/// How long it is given.
const SETTLING: Duration = Duration::from_secs(60);

/// A process that carries an environment's marker.
#[derive(Clone, Debug)]
pub(crate) struct Leftover {
    /// Which process.
    pub(crate) identity: Identity,
}

/// The processes of an environment: those that were started with its directory as their marker. Ourselves left out.
pub(crate) fn processes(dir: &Path) -> Vec<Leftover> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id())
        .filter_map(|pid| marked(pid, dir))
        .collect()
}

/// The identity comes first: should the pid change hands in between, the two do not fit and nobody is signalled.
fn marked(pid: u32, dir: &Path) -> Option<Leftover> {
    let identity = Identity::expecting(pid, &executable(pid)?)?;
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut marker = MARKER.as_bytes().to_vec();
    marker.push(b'=');
    marker.extend_from_slice(dir.as_os_str().as_bytes());
    environment
        .split(|byte| *byte == 0)
        .any(|variable| variable == marker)
        .then_some(Leftover { identity })
}

/// Kills what is left. Returns how many were hit.
pub(crate) fn kill(dir: &Path) -> usize {
    processes(dir)
        .iter()
        .filter(|leftover| leftover.identity.signal(Signal::KILL))
        .count()
}

/// Waits until the calls by which a killed run had an engine make containers have ended by themselves. An engine goes on
/// with what it was asked even when nobody waits for the answer: what is removed before that comes back. Other calls, such
/// as one that follows a log, might never end.
pub(crate) async fn settled(dir: &Path) {
    let makes = |one: &Leftover| {
        let path = format!("/proc/{}/cmdline", one.identity.pid);
        let line = fs::read(path).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"run".as_slice())
    };
    let ending = async {
        while processes(dir).iter().any(makes) {
            clock::sleep(POLL).await;
        }
    };
    // Whoever takes longer is killed, or found again, by what comes next.
    let _ = tokio::time::timeout(SETTLING, ending).await;
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_marked_process_is_found_and_killed_and_another_one_is_not() {
        let ours = tempfile::tempdir().unwrap();
        let mut sleep = Command::new("sleep");
        sleep.arg("60").stdin(Stdio::null());
        let mut marked = sleep.env(MARKER, ours.path()).spawn().unwrap();
        // A longer path that begins with ours is somebody else's.
        let mut other = sleep.env(MARKER, ours.path().join("2")).spawn().unwrap();
        while processes(ours.path()).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(kill(ours.path()), 1);
        marked.wait().unwrap();
        assert!(processes(ours.path()).is_empty());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
