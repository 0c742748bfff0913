//! Which process is meant: a pid alone may be a stranger's by now.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// A process, told apart from every other one that ever had its pid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Identity {
    /// The process id.
    pub(crate) pid: u32,
    /// When it was started, in clock ticks since the machine was.
    pub(crate) start_ticks: u64,
    /// Which start of the machine that was.
    pub(crate) boot_id: String,
    /// The program that it runs.
    pub(crate) executable: PathBuf,
}

impl Identity {
    /// The identity of a process that is, or is about to become, `executable`.
    ///
    /// `None` when no such process exists.
    pub(crate) fn expecting(pid: u32, executable: &Path) -> Option<Self> {
        let executable = fs::canonicalize(executable).unwrap_or_else(|_| executable.to_owned());
        Some(Self {
            pid,
            start_ticks: start_ticks(pid)?,
            boot_id: boot_id()?,
            executable,
        })
    }

    /// Our own identity.
    pub(crate) fn own() -> Option<Self> {
        Self::expecting(std::process::id(), &executable(std::process::id())?)
    }

    /// Whether the very process still runs. A zombie does not: it holds neither port nor file.
    pub(crate) fn is_alive(&self) -> bool {
        boot_id().as_deref() == Some(&self.boot_id)
            && start_ticks(self.pid) == Some(self.start_ticks)
            && executable(self.pid).as_deref() == Some(&self.executable)
    }

    /// Sends a signal to this process and to no other: the handle is taken first, then the identity is compared.
    ///
    /// True when it was sent, false when the process has gone or the pid belongs to somebody else.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let Some(handle) = self.handle() else {
            return false;
        };
        self.is_alive() && pidfd_send_signal(&handle, signal).is_ok()
    }

    fn handle(&self) -> Option<OwnedFd> {
        let pid = Pid::from_raw(i32::try_from(self.pid).ok()?)?;
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }
}

/// The program of a process, also when its file was replaced since.
pub(crate) fn executable(pid: u32) -> Option<PathBuf> {
    let link = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let text = link.to_str()?;
    Some(PathBuf::from(
        text.strip_suffix(" (deleted)").unwrap_or(text),
    ))
}

/// Whether the file of a process's program was replaced or removed since it was started.
pub(crate) fn is_outdated(pid: u32) -> bool {
    let link = fs::read_link(format!("/proc/{pid}/exe"));
    link.is_ok_and(|link| link.to_string_lossy().ends_with(" (deleted)"))
}

fn boot_id() -> Option<String> {
    Some(
        fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .ok()?
            .trim()
            .to_owned(),
    )
}

/// Field 22 of `/proc/PID/stat`, counted behind the program's name, which may hold spaces and brackets.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests;
