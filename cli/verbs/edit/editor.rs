//! The file that a person edits, and the editor.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use tokio::process::Command;
use tokio::signal::unix::SignalKind;

use crate::hint::{Exit, Failure};
use crate::runtime::embedded::foreground::listen;

/// What the editor shows first.
const HEADER: &str = "\
# Edit the object below. Lines that begin with '#' at the top are left out; an empty file changes nothing.
#
";

/// A file with an object, ours alone, until it is discarded or kept.
#[derive(Debug)]
pub(super) struct Sheet {
    path: PathBuf,
    name: String,
    body: String,
    refused: bool,
}

impl Sheet {
    /// A new file with that text below our header.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn new(name: &str, body: &str) -> Result<Self, Failure> {
        let path =
            std::env::temp_dir().join(format!("vmctl-edit-{name}-{:016x}.yaml", fastrand::u64(..)));
        let sheet = Self {
            path,
            name: name.to_owned(),
            body: body.to_owned(),
            refused: false,
        };
        sheet.write(HEADER, true)?;
        Ok(sheet)
    }

    /// The text below the header, as it was typed last.
    pub(super) fn body(&self) -> &str {
        &self.body
    }

    /// Whether it was refused before.
    pub(super) fn was_refused(&self) -> bool {
        self.refused
    }

    /// Opens the editor and waits for its end. Ctrl-C is the editor's while it runs.
    ///
    /// # Errors
    /// The editor cannot be run or fails, or a signal ends us; what was typed is kept.
    pub(super) async fn visit(&mut self) -> Result<(), Failure> {
        let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
            std::env::var(name)
                .ok()
                .filter(|editor| !editor.trim().is_empty())
        });
        let editor = editor.unwrap_or_else(|| "vi".to_owned());
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut terminate = listen(SignalKind::terminate())?;
        let mut hang_up = listen(SignalKind::hangup())?;
        // The variable may hold options, so that a shell takes it apart, as it does for other programs.
        let shell = Command::new("sh")
            .arg("-c")
            .arg(format!("{editor} \"$1\""))
            .arg("sh")
            .arg(&self.path)
            .spawn();
        let mut shell =
            shell.map_err(|error| self.failed(&format!("cannot run {editor}: {error}")))?;
        let status = loop {
            tokio::select! {
                status = shell.wait() => break status,
                _ = interrupt.recv() => {}
                _ = terminate.recv() => return Err(self.ended(Exit::Terminated)),
                _ = hang_up.recv() => return Err(self.ended(Exit::HungUp)),
            }
        };
        match status {
            Ok(status) if status.success() => self.read(),
            Ok(status) => Err(self.failed(&format!("{editor} ended: {status}"))),
            Err(error) => Err(self.failed(&format!("cannot wait for {editor}: {error}"))),
        }
    }

    fn read(&mut self) -> Result<(), Failure> {
        let text = fs::read_to_string(&self.path);
        let text =
            text.map_err(|error| self.failed(&format!("cannot read what was typed: {error}")))?;
        let body = text.lines().skip_while(|line| line.starts_with('#'));
        self.body = body.map(|line| format!("{line}\n")).collect();
        Ok(())
    }

    /// Writes what was typed again, with the reason above it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn refuse(&mut self, why: &str) -> Result<(), Failure> {
        self.refused = true;
        let mut header = HEADER.to_owned();
        header.push_str("# It was refused:\n");
        for line in why.lines() {
            header.push_str(&format!("# {}\n", crate::output::clean(line)));
        }
        header.push_str("#\n");
        self.write(&header, false)
    }

    fn write(&self, header: &str, new: bool) -> Result<(), Failure> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = fs::OpenOptions::new();
        options.write(true).mode(0o600);
        if new {
            options.create_new(true);
        } else {
            options.create(true).truncate(true);
        }
        let file = options.open(&self.path);
        let written = file.and_then(|mut file| write!(file, "{header}{}", self.body));
        written.map_err(|error| {
            let cause = format!("cannot write {}: {error}", self.path.display());
            Failure::new(Exit::Failure, "VMC-EDIT", cause).fix("set TMPDIR to a folder of yours")
        })
    }

    /// Removes the file.
    pub(super) fn discard(self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Leaves the file where it is.
    pub(super) fn keep(self) -> PathBuf {
        self.path
    }

    fn failed(&self, cause: &str) -> Failure {
        let fix = format!(
            "set EDITOR to an editor that waits; the file is kept in {}",
            self.path.display()
        );
        Failure::new(Exit::Failure, "VMC-EDITOR", cause).fix(fix)
    }

    fn ended(&self, exit: Exit) -> Failure {
        let cause = format!("ended by a signal; {} was not changed", self.name);
        let fix = format!("what was saved is kept in {}", self.path.display());
        Failure::new(exit, "VMC-INTERRUPTED", cause).fix(fix)
    }
}
