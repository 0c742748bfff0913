//! The operator's log file, followed as it grows and over its rotation.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vm_tui::{Health, Message, Source};

use super::out::Out;
use super::read;
use crate::clock;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// So much of the end is read at first, and at most at once: bytes.
const PIECE: u64 = 128 * 1024;

/// A file that is followed.
struct Tail {
    path: PathBuf,
    file: Option<(File, u64)>,
    /// A line without its end.
    rest: Vec<u8>,
}

/// What a look found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    lines: Vec<String>,
    /// Lines that were skipped because too much came.
    dropped: u64,
}

/// Follows the file for ever.
pub(super) async fn follow(path: PathBuf, out: Out) {
    let mut tail = Tail::new(&path);
    let mut live = None;
    loop {
        match tail.look() {
            Ok(found) => {
                if live != Some(true) {
                    live = Some(true);
                    out.health(&Source::Logs, Health::Live).await;
                }
                let now = out.clock.now();
                let lines: Vec<_> = found
                    .lines
                    .iter()
                    .map(|line| read::log_line(line, "operator", now))
                    .collect();
                if !lines.is_empty() || found.dropped > 0 {
                    let dropped = found.dropped;
                    out.send(Message::Logs { lines, dropped }).await;
                }
            }
            Err(error) if live != Some(false) => {
                live = Some(false);
                out.lost(&Source::Logs, format!("{}: {error}", path.display()))
                    .await;
            }
            Err(_known) => {}
        }
        clock::sleep(LOOK).await;
    }
}

impl Tail {
    fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            rest: Vec::new(),
        }
    }

    /// What was written since the last look. A file that was moved aside is read to its end first.
    fn look(&mut self) -> io::Result<Found> {
        let mut found = Found::default();
        let inode = std::fs::metadata(&self.path)?.ino();
        match &self.file {
            Some((_, known)) if *known == inode => {}
            Some(_) => {
                self.read(&mut found)?;
                self.rest.clear();
                self.file = Some((File::open(&self.path)?, inode));
            }
            None => {
                let mut file = File::open(&self.path)?;
                let length = file.metadata()?.len();
                let skipped = length.saturating_sub(PIECE);
                file.seek(SeekFrom::Start(skipped))?;
                self.file = Some((file, inode));
                self.read(&mut found)?;
                if skipped > 0 && !found.lines.is_empty() {
                    // The first one is cut.
                    found.lines.remove(0);
                }
                return Ok(found);
            }
        }
        self.read(&mut found)?;
        Ok(found)
    }

    fn read(&mut self, found: &mut Found) -> io::Result<()> {
        let Some((file, _)) = &mut self.file else {
            return Ok(());
        };
        let (at, length) = (file.stream_position()?, file.metadata()?.len());
        let mut cut = false;
        if length < at {
            // It was made shorter: what is in it is new.
            file.seek(SeekFrom::Start(0))?;
            self.rest.clear();
        } else if length - at > PIECE {
            let mut skipped = Vec::new();
            io::Read::by_ref(file)
                .take(length - at - PIECE)
                .read_to_end(&mut skipped)?;
            found.dropped += skipped.iter().filter(|byte| **byte == b'\n').count() as u64;
            cut = skipped.last() != Some(&b'\n');
            self.rest.clear();
        }
        let mut bytes = std::mem::take(&mut self.rest);
        io::Read::by_ref(file).take(PIECE).read_to_end(&mut bytes)?;
        let end = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        self.rest = bytes.split_off(end);
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines();
        if cut && lines.next().is_some() {
            found.dropped += 1;
        }
        found.lines.extend(lines.map(str::to_owned));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_log_is_followed_over_its_rotation_and_no_line_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("operator.log");
        let mut tail = Tail::new(&path);
        assert!(tail.look().is_err());
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(tail.look().unwrap().lines, ["one"]);
        file.write_all(b"o\nthree\n").unwrap();
        assert_eq!(tail.look().unwrap().lines, ["two", "three"]);
        file.write_all(b"four\n").unwrap();
        std::fs::rename(&path, dir.path().join("operator.log.1")).unwrap();
        std::fs::write(&path, "five\n").unwrap();
        assert_eq!(tail.look().unwrap().lines, ["four", "five"]);
        assert_eq!(tail.look().unwrap(), Found::default());
    }

    #[test]
    fn more_than_can_be_read_is_left_out_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("operator.log");
        std::fs::write(&path, "begin\n").unwrap();
        let mut tail = Tail::new(&path);
        tail.look().unwrap();
        let lines: String = (0..40_000)
            .map(|number| format!("line {number:05}\n"))
            .collect();
        std::fs::write(&path, format!("begin\n{lines}")).unwrap();
        let found = tail.look().unwrap();
        assert_eq!(found.lines.last().unwrap(), "line 39999");
        assert_eq!(found.lines[0].len(), 10, "a line that is cut is none");
        assert_eq!(found.lines.len() as u64 + found.dropped, 40_000);
    }
}
