//! What `up` and `down` did to an environment, one line per act. A run that changes nothing writes nothing.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::clock;

/// What is said about an act.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Event {
    /// It begins.
    Began,
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It was cut off by a signal.
    Interrupted,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    at: jiff::Timestamp,
    pid: u32,
    step: &'a str,
    event: Event,
    note: &'a str,
}

/// The journal of one environment.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

impl Journal {
    /// The journal in an environment's directory.
    pub(crate) fn of(dir: &Path) -> Self {
        Self {
            path: dir.join("journal.jsonl"),
        }
    }

    /// Adds a line. It is for people and support: what is true is looked up, never read from here, and so a journal
    /// that cannot be written stops nothing.
    pub(crate) fn write(&self, step: &str, event: Event, note: &str) {
        let entry = Entry {
            at: clock::timestamp(),
            pid: std::process::id(),
            step,
            event,
            note,
        };
        let Ok(mut line) = serde_json::to_vec(&entry) else {
            return;
        };
        line.push(b'\n');
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&self.path);
        let _ = file.and_then(|mut file| file.write_all(&line));
    }
}
