//! Recordings: written beside the screen, and read back in its place.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use vm_tui::{Context, Line, Message, Replay, Stamp, read_line, write_line};

use super::out::Out;
use crate::clock;
use crate::hint::{Exit, Failure, chain};

/// Longest pause that a replay makes: a dashboard that was stopped in between is no reason to wait.
const LONGEST: Duration = Duration::from_secs(10);

/// Writes facts to a file.
pub(super) struct Recorder {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Recorder {
    /// Begins a recording; a file that exists is not overwritten.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn begin(path: &Path) -> Result<Self, Failure> {
        let file = File::options().write(true).create_new(true).open(path);
        let file = file.map_err(|error| failed(path, &error))?;
        let mut recorder = Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
        };
        recorder.line(&Line::Head)?;
        Ok(recorder)
    }

    /// Writes a fact; what is none is left out.
    ///
    /// # Errors
    /// The disk is full.
    pub(super) fn take(&mut self, at: Stamp, message: &Message) -> Result<(), Failure> {
        let message = message.clone();
        self.line(&Line::Fact(Replay { at, message }))
    }

    /// Everything that was taken is in the file.
    ///
    /// # Errors
    /// The disk is full.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.file
            .flush()
            .map_err(|error| failed(&self.path, &error))
    }

    fn line(&mut self, line: &Line) -> Result<(), Failure> {
        let Some(text) = write_line(line) else {
            return Ok(());
        };
        writeln!(self.file, "{text}").map_err(|error| failed(&self.path, &error))
    }
}

/// Opens a recording; its first line must be one's.
///
/// # Errors
/// It cannot be read, or is none.
pub(super) fn open(
    path: &Path,
) -> Result<impl Iterator<Item = Result<Replay, Failure>> + use<>, Failure> {
    let file = File::open(path).map_err(|error| unreadable(path, &chain(&error)))?;
    let mut lines = BufReader::new(file).lines();
    let head = lines.next().unwrap_or_else(|| Ok(String::new()));
    let head = head.map_err(|error| unreadable(path, &chain(&error)))?;
    match read_line(&head) {
        Ok(Line::Head) => {}
        Ok(Line::Fact(_)) => return Err(unreadable(path, "its first line is missing")),
        Err(error) => return Err(unreadable(path, &chain(&error))),
    }
    let path = path.to_owned();
    Ok(lines.enumerate().filter_map(move |(index, line)| {
        let place = |why: &str| unreadable(&path, &format!("line {}: {why}", index + 2));
        let line = match line {
            Ok(line) => line,
            Err(error) => return Some(Err(place(&chain(&error)))),
        };
        match read_line(&line) {
            Ok(Line::Fact(fact)) => Some(Ok(fact)),
            Ok(Line::Head) => None,
            Err(error) => Some(Err(place(&chain(&error)))),
        }
    }))
}

/// Plays a recording at so many times its speed; without pauses when that is none.
///
/// # Errors
/// A line cannot be read.
pub(super) async fn play(path: PathBuf, speed: Option<f64>, out: Out) -> Result<(), Failure> {
    let mut before: Option<Stamp> = None;
    for fact in open(&path)? {
        let Replay { at, message } = fact?;
        if let (Some(speed), Some(before)) = (speed, before) {
            let pause = at.seconds_since(before).max(0.0) / speed;
            clock::sleep(Duration::from_secs_f64(pause.min(LONGEST.as_secs_f64()))).await;
        }
        before = Some(at);
        let message = match message {
            Message::Context(context) => Message::Context(Context {
                read_only: Some("this is a recording".to_owned()),
                ..context
            }),
            other => other,
        };
        out.send(message).await;
        out.send(Message::Tick { now: at }).await;
    }
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    let cause = format!("cannot write the recording {}: {error}", path.display());
    Failure::new(Exit::Failure, "VMC-RECORD", cause)
        .fix("name a file that does not exist yet, in a directory of yours")
}

fn unreadable(path: &Path, why: &str) -> Failure {
    let cause = format!("cannot replay {}: {why}", path.display());
    Failure::new(Exit::Usage, "VMC-REPLAY", cause)
        .fix("name a file that vmctl dash --record has written")
}

#[cfg(test)]
mod tests;
