//! Logs of children: bounded on disk, with the last lines at hand for an error message.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Size at which a log is moved aside. With the one old file that is kept a child holds at most twice this.
pub(crate) const LIMIT: u64 = 8 * 1024 * 1024;
/// Lines kept for an error message.
const TAIL: usize = 20;
/// Longest part of a line that is kept for an error message.
const WIDTH: usize = 400;

/// A log file that is moved to `NAME.1` when it has grown to its limit.
#[derive(Debug)]
pub(crate) struct RotatingLog {
    path: PathBuf,
    file: File,
    written: u64,
    limit: u64,
    tail: VecDeque<String>,
}

impl RotatingLog {
    /// Opens, or makes, the log at `path`.
    ///
    /// # Errors
    /// The file cannot be opened for appending.
    pub(crate) fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let file = append(path)?;
        let written = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            written,
            limit,
            tail: VecDeque::new(),
        })
    }

    /// Appends one line, its end included.
    ///
    /// # Errors
    /// The disk is full, or the directory has gone.
    pub(crate) fn line(&mut self, line: &[u8]) -> io::Result<()> {
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        let text = String::from_utf8_lossy(line);
        self.tail
            .push_back(text.trim_end().chars().take(WIDTH).collect());
        let size = line.len() as u64;
        if self.written > 0 && self.written + size > self.limit {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
            self.file = append(&self.path)?;
            self.written = 0;
        }
        self.file.write_all(line)?;
        self.written += size;
        Ok(())
    }

    /// The last lines, oldest first.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.tail.iter().cloned().collect()
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_moved_aside_and_only_one_old_one_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("etcd.log");
        let mut log = RotatingLog::open(&path, 10).unwrap();
        for line in ["first\n", "second\n", "third\n", "fourth\n"] {
            log.line(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "fourth\n");
        assert_eq!(
            fs::read_to_string(dir.path().join("etcd.log.1")).unwrap(),
            "third\n"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        assert_eq!(log.tail(), ["first", "second", "third", "fourth"]);
    }

    #[test]
    fn a_log_that_exists_is_continued_and_its_size_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("etcd.log");
        fs::write(&path, "123456789\n").unwrap();
        RotatingLog::open(&path, 12)
            .unwrap()
            .line(b"new\n")
            .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
    }
}
