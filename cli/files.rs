//! Files that are ours alone: directories 0700, files 0600, replaced in one step.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A directory could not be made.
    #[error("cannot create directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be removed.
    #[error("cannot remove {}", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Makes a directory with its parents, readable by its owner alone. An existing one is left as it is.
///
/// # Errors
/// The directory cannot be made.
pub(crate) fn private_dir(path: &Path) -> Result<(), Error> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| Error::Directory {
            path: path.to_owned(),
            source,
        })
}

/// Writes a file of mode 0600 so that a reader sees the old content or the new, never a part.
///
/// # Errors
/// The temporary file beside it cannot be written or renamed.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .map_err(failed)?;
    file.write_all(content)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|source| {
            let _ = fs::remove_file(&temporary);
            failed(source)
        })
}

/// Writes only what differs, so that a second run leaves no trace. True when it wrote.
///
/// # Errors
/// As [`write_private`].
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> Result<bool, Error> {
    if fs::read(path).is_ok_and(|present| present == content) {
        return Ok(false);
    }
    write_private(path, content).map(|()| true)
}

/// Removes a file; none is fine.
///
/// # Errors
/// It is there and cannot be removed.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Error::Remove {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Reads a file; `None` when it does not exist.
///
/// # Errors
/// It exists and cannot be read.
pub(crate) fn read_optional(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// An advisory lock that the kernel drops when its holder ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: fs::File,
}

impl Lock {
    /// Takes the lock; `None` when another process holds it.
    ///
    /// # Errors
    /// The lock file cannot be opened.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Self>, Error> {
        loop {
            let file = Self::open(path)?;
            match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_at(&file, path) => return Ok(Some(Self { _file: file })),
                // Its last holder removed the file: what we hold is a lock on nothing.
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(errno) => {
                    return Err(Error::Write {
                        path: path.to_owned(),
                        source: errno.into(),
                    });
                }
            }
        }
    }

    fn open(path: &Path) -> Result<fs::File, Error> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(|source| Error::Write {
                path: path.to_owned(),
                source,
            })
    }

    /// The process that holds the lock, as far as the kernel tells.
    pub(crate) fn holder(path: &Path) -> Option<u32> {
        let inode = fs::metadata(path).ok()?.ino();
        let locks = fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let pid = fields.nth(4)?;
            let found = fields.next()?.rsplit(':').next()?.parse::<u64>().ok()?;
            (line.contains("FLOCK") && !line.contains("->") && found == inode)
                .then(|| pid.parse().ok())?
        })
    }
}

fn is_at(file: &fs::File, path: &Path) -> bool {
    let same = |a: &fs::Metadata, b: &fs::Metadata| a.ino() == b.ino() && a.dev() == b.dev();
    matches!((file.metadata(), fs::metadata(path)), (Ok(held), Ok(there)) if same(&held, &there))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_private_and_written_only_when_it_differs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert!(write_if_changed(&path, b"one").unwrap());
        assert!(!write_if_changed(&path, b"one").unwrap());
        assert!(write_if_changed(&path, b"two").unwrap());
        assert_eq!(read_optional(&path).unwrap().as_deref(), Some("two"));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "nothing temporary stays"
        );
    }

    #[test]
    fn a_lock_is_exclusive_names_its_holder_and_is_not_fooled_by_a_removed_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = Lock::try_take(&path).unwrap().unwrap();
        assert!(Lock::try_take(&path).unwrap().is_none());
        assert_eq!(Lock::holder(&path), Some(std::process::id()));
        fs::remove_file(&path).unwrap();
        let other = Lock::try_take(&path).unwrap();
        assert!(other.is_some(), "the old lock is on a file that is gone");
        drop(lock);
        assert!(Lock::try_take(&path).unwrap().is_none());
    }
}
