//! The end of a log that grows and is moved aside when it is full.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A place in a log: behind the last line that was read.
pub(in crate::verbs) struct Tail {
    path: PathBuf,
    file: Option<File>,
    /// A line that is not finished yet.
    rest: Vec<u8>,
}

impl Tail {
    /// At the beginning of a log, which need not be there yet.
    pub(in crate::verbs) fn of(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            rest: Vec::new(),
        }
    }

    /// At the end of a log as it is now.
    pub(in crate::verbs) fn at_the_end(path: PathBuf) -> Self {
        let mut tail = Self::of(path);
        tail.file = File::open(&tail.path).ok();
        if let Some(file) = &mut tail.file {
            // Where that fails, old lines are shown: no harm.
            let _ = file.seek(SeekFrom::End(0));
        }
        tail
    }

    /// The latest lines so far, the older file that was moved aside included.
    pub(in crate::verbs) fn last(&mut self, most: usize) -> Vec<String> {
        let mut lines = self.news();
        if lines.len() < most {
            let older = fs::read(self.path.with_extension("log.1")).unwrap_or_default();
            let mut all: Vec<String> = String::from_utf8_lossy(&older)
                .lines()
                .map(str::to_owned)
                .collect();
            all.append(&mut lines);
            lines = all;
        }
        lines.split_off(lines.len().saturating_sub(most))
    }

    /// Whole lines since the last look. A log that cannot be read says nothing.
    pub(in crate::verbs) fn news(&mut self) -> Vec<String> {
        let mut bytes = std::mem::take(&mut self.rest);
        if let Some(file) = &mut self.file {
            let _ = file.read_to_end(&mut bytes);
        }
        if self.was_moved() {
            // What was written to the old file before it was moved has just been read.
            self.file = File::open(&self.path).ok();
            if let Some(file) = &mut self.file {
                let _ = file.read_to_end(&mut bytes);
            }
        }
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        self.rest = bytes.split_off(end.map_or(0, |end| end + 1));
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::to_owned).collect()
    }

    fn was_moved(&self) -> bool {
        let here = self.file.as_ref().and_then(|file| file.metadata().ok());
        let there = fs::metadata(&self.path).ok();
        match (here, there) {
            (Some(here), Some(there)) => (here.dev(), here.ino()) != (there.dev(), there.ino()),
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn append(path: &std::path::Path, text: &str) {
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn lines_come_whole_and_once_also_over_a_rotation() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("operator.log");
        let mut tail = Tail::of(path.clone());
        assert_eq!(tail.news(), [""; 0], "it is not there yet");
        append(&path, "one\ntwo\nthr");
        assert_eq!(tail.news(), ["one", "two"]);
        append(&path, "ee\nfour\n");
        fs::rename(&path, path.with_extension("log.1")).unwrap();
        append(&path, "five\n");
        assert_eq!(tail.news(), ["three", "four", "five"]);
        assert_eq!(tail.news(), [""; 0]);
    }

    #[test]
    fn the_latest_lines_may_stand_in_the_file_that_was_moved_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("operator.log");
        append(&path.with_extension("log.1"), "one\ntwo\n");
        append(&path, "three\n");
        assert_eq!(Tail::of(path.clone()).last(2), ["two", "three"]);
        assert_eq!(Tail::of(path.clone()).last(1), ["three"]);
        assert_eq!(Tail::of(path.clone()).last(9), ["one", "two", "three"]);
        let mut end = Tail::at_the_end(path.clone());
        append(&path, "four\n");
        assert_eq!(end.news(), ["four"]);
    }
}
