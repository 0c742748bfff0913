//! The data file: the whole cloud in one JSON file that is replaced as a whole.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::world::{LoadError, Loaded, Saved};

/// The file, held by this process alone.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    /// Keeps a second process from the file; freed by the system however this one ends.
    _lock: File,
}

/// Why the data file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The lock file beside it could not be opened.
    #[error("cannot open {path}: {source}; the folder of the data file must exist and be writable")]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Somebody else has it.
    #[error(
        "the data file {path} is in use by another mock provider; stop that one or name another file"
    )]
    InUse {
        /// The data file.
        path: PathBuf,
    },
    /// It could not be read.
    #[error(
        "cannot read the data file {path}: {source}; check its permissions or name another file"
    )]
    Read {
        /// The data file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what this program writes.
    #[error(
        "the data file {path} is not a saved cloud: {source}; move it away to start empty, or name another file"
    )]
    Parse {
        /// The data file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// It is not what this program can take over.
    #[error("the data file {path} {source}; move it away to start empty, or name another file")]
    Load {
        /// The data file.
        path: PathBuf,
        /// Why.
        source: LoadError,
    },
    /// It could not be replaced.
    #[error(
        "cannot write the data file {path}: {source}; free some space or check the folder's permissions"
    )]
    Write {
        /// The data file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The write broke off: a bug, or the end of the runtime.
    #[error("writing the data file broke off: {0}")]
    Interrupted(tokio::task::JoinError),
}

/// A written file that has not taken the old one's place yet.
#[derive(Debug)]
pub(crate) struct Draft {
    file: File,
    path: PathBuf,
}

impl Store {
    /// Takes the file over; `None` when there is none yet.
    pub(crate) fn open(path: &Path) -> Result<(Self, Option<Loaded>), StoreError> {
        let lock_path = beside(path, ".lock");
        let lock = create(&lock_path).map_err(|source| StoreError::Lock {
            path: lock_path.clone(),
            source,
        })?;
        lock.try_lock().map_err(|error| match error {
            std::fs::TryLockError::WouldBlock => StoreError::InUse { path: path.into() },
            std::fs::TryLockError::Error(source) => StoreError::Lock {
                path: lock_path,
                source,
            },
        })?;
        let store = Self {
            path: path.into(),
            _lock: lock,
        };
        match File::open(path) {
            Ok(file) => {
                let parse = |source| StoreError::Parse {
                    path: path.into(),
                    source,
                };
                serde_json::from_reader(BufReader::new(file))
                    .map(|loaded| (store, Some(loaded)))
                    .map_err(parse)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((store, None)),
            Err(source) => Err(StoreError::Read {
                path: path.into(),
                source,
            }),
        }
    }

    pub(crate) fn unusable(&self, source: LoadError) -> StoreError {
        StoreError::Load {
            path: self.path.clone(),
            source,
        }
    }

    /// Writes the state beside the file. Quick: nothing waits for the disk yet.
    pub(crate) fn draft(&self, state: &Saved<'_>) -> Result<Draft, StoreError> {
        let path = beside(&self.path, ".new");
        let written = create(&path).and_then(|file| {
            file.set_len(0)?;
            let mut writer = BufWriter::with_capacity(1 << 16, file);
            serde_json::to_writer(&mut writer, state)?;
            writer.flush()?;
            writer
                .into_inner()
                .map_err(std::io::IntoInnerError::into_error)
        });
        written
            .map(|file| Draft { file, path })
            .map_err(|source| self.failed(source))
    }

    /// Puts a draft in the file's place, so that the file is always a whole one: the old or the new.
    pub(crate) fn replace(&self, draft: &Draft) -> Result<(), StoreError> {
        let placed = draft
            .file
            .sync_all()
            .and_then(|()| std::fs::rename(&draft.path, &self.path));
        placed.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> StoreError {
        StoreError::Write {
            path: self.path.clone(),
            source,
        }
    }
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
