//! Child processes that cannot outlive their parent.
//!
//! A child is first this program again: it asks the kernel to be killed when its parent ends, checks that the parent
//! has not ended already, and then becomes the program that was wanted. The wish survives that last step.
//! The kernel means the parent's *thread*: whoever starts children does it from a thread that lives as long as the
//! process, which the single-threaded runtime of `main` is.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::task::JoinSet;

use super::identity::{self, Identity};
use super::log::{LIMIT, RotatingLog};

/// Environment variable of every process of an environment: its directory. What is left over is found by it.
pub(crate) const MARKER: &str = "VMCTL_ENVIRONMENT_DIR";
/// Name of the hidden subcommand that `main` hands to [`become_program`].
pub(crate) const SUBCOMMAND: &str = "exec-child";
/// Longest line that is read from a child in one piece.
const LONGEST_LINE: u64 = 64 * 1024;

/// A child could not be started or waited for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Its log could not be opened.
    #[error("cannot open the log {}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It could not be started.
    #[error("cannot start {name}")]
    Start {
        /// Which program.
        name: String,
        /// Why.
        source: io::Error,
    },
}

/// What to run, and how it is called in logs and messages.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Name in logs, state and messages.
    pub(crate) name: &'static str,
    /// The executable; `None` is this very program.
    pub(crate) path: Option<PathBuf>,
    /// Its arguments. Never a credential: everybody can read them.
    pub(crate) args: Vec<OsString>,
}

impl Program {
    /// This very program with one of its subcommands.
    pub(crate) fn ourselves(name: &'static str, args: Vec<OsString>) -> Self {
        Self {
            name,
            path: None,
            args,
        }
    }
}

/// A running child with its log.
#[derive(Debug)]
pub(crate) struct Child {
    name: &'static str,
    process: tokio::process::Child,
    pid: u32,
    identity: Option<Identity>,
    log: Arc<Mutex<RotatingLog>>,
    readers: JoinSet<()>,
}

impl Child {
    /// Starts a program in its own process group, its output going to `LOGS/NAME.log`.
    ///
    /// # Errors
    /// The log cannot be opened or the process not be made. That the program itself cannot be executed shows as an
    /// early exit, with the reason in the log.
    pub(crate) fn start(program: &Program, dir: &Path) -> Result<Self, Error> {
        let path = dir.join("logs").join(format!("{}.log", program.name));
        let log = RotatingLog::open(&path, LIMIT).map_err(|source| Error::Log { path, source })?;
        let log = Arc::new(Mutex::new(log));
        let failed = |source| Error::Start {
            name: program.name.to_owned(),
            source,
        };
        let mut command = tokio::process::Command::from(command(program));
        command
            .env(MARKER, dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let mut process = command.spawn().map_err(failed)?;
        let pid = process
            .id()
            .ok_or_else(|| failed(io::Error::other("it ended at once")))?;
        let executable = program
            .path
            .clone()
            .or_else(|| identity::executable(std::process::id()));
        let identity = executable.and_then(|path| Identity::expecting(pid, &path));
        let mut readers = JoinSet::new();
        if let Some(stdout) = process.stdout.take() {
            readers.spawn(copy(stdout, Arc::clone(&log)));
        }
        if let Some(stderr) = process.stderr.take() {
            readers.spawn(copy(stderr, Arc::clone(&log)));
        }
        Ok(Self {
            name: program.name,
            process,
            pid,
            identity,
            log,
            readers,
        })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Its identity, for the state file.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// The last lines that it printed.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.log.lock().map(|log| log.tail()).unwrap_or_default()
    }

    /// Waits until it has ended and its last words are in the log. Cancelling this loses nothing.
    pub(crate) async fn ended(&mut self) -> String {
        let status = self.process.wait().await;
        // A grandchild may hold the pipe open; its words are not waited for.
        let _ = tokio::time::timeout(Duration::from_secs(1), async {
            while self.readers.join_next().await.is_some() {}
        })
        .await;
        describe(status)
    }

    /// Asks it to end, and kills it when it has not within `grace`. Returns when it is gone and reaped.
    pub(crate) async fn stop(&mut self, grace: Duration) {
        self.signal(Signal::TERM);
        if tokio::time::timeout(grace, self.process.wait())
            .await
            .is_err()
        {
            let _ = self.process.kill().await;
        }
    }

    /// Sends a signal. The pid cannot be a stranger's: it is ours until the child is reaped, and then it is unknown.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self
            .process
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }
}

/// This program's file. Through /proc it is the very one that runs now, even when a build has replaced it since.
const OURSELVES: &str = "/proc/self/exe";

fn command(program: &Program) -> std::process::Command {
    let mut command = tied(program.path.as_deref().unwrap_or(Path::new(OURSELVES)));
    command.args(&program.args);
    command
}

/// A command that runs this very program again.
pub(crate) fn again() -> std::process::Command {
    let mut command = std::process::Command::new(OURSELVES);
    command.arg0("vmctl");
    command
}

/// A command that runs `program` so that it cannot outlive us.
pub(crate) fn tied(program: &Path) -> std::process::Command {
    let mut command = again();
    command
        .arg(SUBCOMMAND)
        .arg(std::process::id().to_string())
        .arg(program);
    command
}

async fn copy(from: impl AsyncRead + Unpin, log: Arc<Mutex<RotatingLog>>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut from)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        // A full disk must not stop a child: its words are lost, its work goes on.
        if let Ok(mut log) = log.lock() {
            let _ = log.line(&line);
        }
    }
}

fn describe(status: io::Result<ExitStatus>) -> String {
    status.map_or_else(
        |error| format!("could not be waited for: {error}"),
        |status| status.to_string(),
    )
}

/// The child's first life: `exec-child PARENT PROGRAM [ARGUMENT…]`. Returns only when the program cannot be run.
pub(crate) fn become_program(mut args: impl Iterator<Item = OsString>) -> String {
    let parent = args
        .next()
        .and_then(|pid| pid.to_str()?.parse::<i32>().ok())
        .and_then(Pid::from_raw);
    let (Some(parent), Some(program)) = (parent, args.next()) else {
        return format!("usage: {SUBCOMMAND} PARENT-PID PROGRAM [ARGUMENT…]");
    };
    let orphaned = || getppid() != Some(parent);
    if orphaned() {
        return "the parent has ended already".to_owned();
    }
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return format!(
            "cannot tie the life of {} to its parent's: {error}",
            program.display()
        );
    }
    // The parent may have ended before the wish was made; then nobody would ever kill us.
    if orphaned() {
        return "the parent has ended meanwhile".to_owned();
    }
    let mut command = std::process::Command::new(&program);
    if program == OsStr::new(OURSELVES) {
        command.arg0("vmctl");
    }
    let error = command.args(args).exec();
    format!("cannot run {}: {error}", program.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_whose_parent_has_gone_does_not_become_its_program() {
        // No process has this pid, so it cannot be our parent's.
        let words = ["1999999999", "/bin/true"].into_iter().map(OsString::from);
        assert_eq!(become_program(words), "the parent has ended already");
    }

    #[test]
    fn a_malformed_call_is_answered_with_its_usage() {
        assert!(become_program(std::iter::once(OsString::from("no pid"))).starts_with("usage"));
    }
}
