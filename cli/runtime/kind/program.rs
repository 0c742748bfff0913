//! Programs of others, run to their end within a time, and ended with us.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::hint::{Exit, Failure};
use crate::runtime::embedded::child::{self, MARKER};

/// A program did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// It could not be started.
    #[error("cannot run {program}")]
    Start {
        /// Which program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It took too long and was ended.
    #[error("`{call}` did not end within {} s", limit.as_secs())]
    Silent {
        /// Program and arguments.
        call: String,
        /// The longest time it may take.
        limit: Duration,
    },
    /// It ended without success.
    #[error("`{call}` failed: {last}")]
    Failed {
        /// Program and arguments.
        call: String,
        /// The last line of what it said.
        last: String,
        /// All that it said.
        words: Vec<String>,
    },
}

impl Error {
    /// As a failure of a command, with what the program said.
    pub(crate) fn into_failure(self, id: &'static str) -> Failure {
        let cause = crate::hint::chain(&self);
        let failure = Failure::new(Exit::Environment, id, cause);
        match self {
            Self::Failed { words, .. } => failure.evidence(words),
            Self::Start { .. } | Self::Silent { .. } => failure,
        }
    }
}

/// A program on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Program {
    /// The first program of that name on the PATH.
    pub(crate) fn on_path(name: &str) -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let found = std::env::split_paths(&path)
            .map(|dir| dir.join(name))
            .find(|file| is_executable(file))?;
        Some(Self {
            path: found,
            variables: Vec::new(),
        })
    }

    /// The same with a variable in its environment.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Marks its processes as those of an environment, so that they are found when we are killed meanwhile.
    #[must_use]
    pub(crate) fn marked(self, dir: &Path) -> Self {
        self.with(MARKER, &dir.to_string_lossy())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs it and returns its stdout. Dropping the future ends it.
    ///
    /// # Errors
    /// It cannot be started, takes longer than `limit`, or fails.
    pub(crate) async fn run<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        limit: Duration,
    ) -> Result<String, Error> {
        let call = self.call(args);
        let mut command = tokio::process::Command::from(child::tied(&self.path));
        command.args(args).kill_on_drop(true);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let start = |source| Error::Start {
            program: self.path.display().to_string(),
            source,
        };
        let running = command.spawn().map_err(start)?.wait_with_output();
        let silent = |_elapsed| Error::Silent {
            call: call.clone(),
            limit,
        };
        let output = tokio::time::timeout(limit, running)
            .await
            .map_err(silent)?
            .map_err(start)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let words: Vec<String> = words
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(str::to_owned)
            .collect();
        let last = words
            .last()
            .cloned()
            .unwrap_or_else(|| output.status.to_string());
        Err(Error::Failed { call, last, words })
    }

    fn call<A: AsRef<OsStr>>(&self, args: &[A]) -> String {
        let name = self.path.file_name().unwrap_or_default();
        let mut call = OsString::from(name);
        for arg in args {
            call.push(" ");
            call.push(arg);
        }
        call.to_string_lossy().into_owned()
    }
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
