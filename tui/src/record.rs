//! Recordings: one line of JSON per fact, with the moment when it came.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::age::Stamp;
use crate::message::Message;

/// The first line of a recording.
const HEAD: &str = r#"{"recording":"vmctl dash","version":1}"#;

/// A line of a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// The first one.
    Head,
    /// A fact, and when it came.
    Fact(Replay),
}

/// A fact, and when it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// When it came.
    pub at: Stamp,
    /// It.
    pub message: Message,
}

/// A line that is none.
#[derive(Debug, Error)]
pub enum Error {
    /// It is no line of a recording.
    #[error("not a line of a recording of vmctl dash")]
    Line(#[source] serde_json::Error),
    /// A later version wrote it.
    #[error("the recording has version {0}; this vmctl reads version 1")]
    Version(u64),
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "recording")]
    _recording: String,
    version: u64,
}

/// Reads a line.
///
/// # Errors
/// It is none, or a later version wrote it.
pub fn read_line(line: &str) -> Result<Line, Error> {
    if let Ok(head) = serde_json::from_str::<Head>(line) {
        return match head.version {
            1 => Ok(Line::Head),
            other => Err(Error::Version(other)),
        };
    }
    serde_json::from_str(line)
        .map(Line::Fact)
        .map_err(Error::Line)
}

/// Writes a line, without its end. What is no fact (keys, sizes, answers to the user) is not recorded.
#[must_use]
pub fn write_line(line: &Line) -> Option<String> {
    match line {
        Line::Head => Some(HEAD.to_owned()),
        Line::Fact(Replay { message, .. }) if !is_fact(message) => None,
        Line::Fact(fact) => serde_json::to_string(fact).ok(),
    }
}

fn is_fact(message: &Message) -> bool {
    match message {
        Message::Key { .. } | Message::Resize { .. } | Message::Done(_) | Message::Text { .. } => {
            false
        }
        Message::Tick { .. }
        | Message::Context(_)
        | Message::Machines { .. }
        | Message::Gone { .. }
        | Message::Listed
        | Message::Config(_)
        | Message::ConfigGone { .. }
        | Message::Lease(_)
        | Message::Scrape { .. }
        | Message::State { .. }
        | Message::ReplicaGone { .. }
        | Message::Event(_)
        | Message::Logs { .. }
        | Message::Source { .. } => true,
    }
}

#[cfg(test)]
mod tests;
