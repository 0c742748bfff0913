//! The cache: one directory per version, with the sum of every file, checked at each use.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use ring::digest::{Algorithm, Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::hint::{Exit, Failure, chain};
use crate::output::Talk;
use crate::{clock, files};

/// Name of the list of sums inside a version's directory.
const MANIFEST: &str = "manifest.json";

/// The cache is not as it was left.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A file cannot be read or written.
    #[error("cannot use {} in the cache", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The list of sums cannot be read.
    #[error("{} is damaged", path.display())]
    Manifest {
        /// The list.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A file is there that nobody put there.
    #[error("{} is not in the list of what was put there", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// A file is not the one that was put there.
    #[error("{} is not the file that was put there: its sha256 differs", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    /// A damaged cache is never repaired in silence: somebody may have changed a program that we are about to run.
    pub(crate) fn into_failure(self) -> Failure {
        let path = match &self {
            Self::File { path, .. }
            | Self::Manifest { path, .. }
            | Self::Unknown { path }
            | Self::Changed { path } => path,
        };
        let dir = path.parent().unwrap_or(path);
        let fix = format!("delete the folder and run again: rm -r {}", dir.display());
        Failure::new(Exit::Environment, "VMC-CACHE", chain(&self)).fix(fix)
    }
}

/// What is in a version's directory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Where the files came from, in words.
    pub(crate) source: String,
    /// Sum of every file, lower-case hex.
    pub(crate) sha256: BTreeMap<String, String>,
}

/// The directory under which the versions are.
#[derive(Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// `$XDG_CACHE_HOME/vmctl/control-plane`.
    ///
    /// # Errors
    /// There is no home directory.
    pub(crate) fn locate() -> Result<Self, Failure> {
        let base = etcetera::choose_base_strategy().map_err(|error| {
            Failure::new(Exit::Environment, "VMC-HOME", chain(&error))
                .fix("set HOME or XDG_CACHE_HOME")
        })?;
        Ok(Self {
            dir: base.cache_dir().join("vmctl").join("control-plane"),
        })
    }

    /// A cache at a place of one's own.
    #[cfg(test)]
    pub(crate) fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    /// The directory of all versions.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory of one version.
    pub(crate) fn version(&self, version: &str) -> PathBuf {
        self.dir.join(version)
    }

    /// Waits for whoever fills the cache at this moment.
    ///
    /// # Errors
    /// The cache cannot be written to.
    pub(crate) async fn lock(&self, talk: &Talk) -> Result<files::Lock, Failure> {
        let failed = |error: files::Error| {
            Failure::new(Exit::Environment, "VMC-CACHE", chain(&error))
                .fix("set XDG_CACHE_HOME to a directory of yours")
        };
        files::private_dir(&self.dir).map_err(failed)?;
        let path = self.dir.join(".lock");
        let mut said = false;
        loop {
            if let Some(lock) = files::Lock::try_take(&path).map_err(failed)? {
                return Ok(lock);
            }
            if !std::mem::replace(&mut said, true) {
                talk.line("control plane: another vmctl fills the cache, waiting for it");
            }
            clock::sleep(Duration::from_millis(200)).await;
        }
    }

    /// An empty directory beside the versions, to fill and then [`Cache::install`].
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn staging(&self) -> Result<PathBuf, Error> {
        let dir = self.dir.join(".staging");
        let failed = |source| Error::File {
            path: dir.clone(),
            source,
        };
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(failed)?;
        }
        fs::create_dir_all(&dir).map_err(failed)?;
        Ok(dir)
    }

    /// Records the sums of what was staged and moves it to its version's place.
    ///
    /// # Errors
    /// A file cannot be read or moved.
    pub(crate) fn install(
        &self,
        staged: &Path,
        version: &str,
        source: &str,
    ) -> Result<PathBuf, Error> {
        let place = self.version(version);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::File { path, source }
        };
        let mut sha256 = BTreeMap::new();
        for entry in fs::read_dir(staged).map_err(failed(staged))? {
            let path = entry.map_err(failed(staged))?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            sha256.insert(name, sum(&SHA256, &path).map_err(failed(&path))?);
        }
        let manifest = Manifest {
            source: source.to_owned(),
            sha256,
        };
        let path = staged.join(MANIFEST);
        let text = serde_json::to_string_pretty(&manifest).map_err(|source| Error::Manifest {
            path: path.clone(),
            source,
        })?;
        fs::write(&path, text).map_err(failed(&path))?;
        if place.exists() {
            fs::remove_dir_all(&place).map_err(failed(&place))?;
        }
        fs::rename(staged, &place).map_err(failed(&place))?;
        Ok(place)
    }
}

/// Checks every file of a version against its sum. `None` when the version is not there.
///
/// # Errors
/// A file is missing, unreadable, changed or not in the list.
pub(crate) fn verified(dir: &Path) -> Result<Option<()>, Error> {
    let path = dir.join(MANIFEST);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !dir.exists() => return Ok(None),
        Err(source) => return Err(Error::File { path, source }),
    };
    let manifest: Manifest =
        serde_json::from_str(&text).map_err(|source| Error::Manifest { path, source })?;
    for entry in fs::read_dir(dir)
        .map_err(|source| Error::File {
            path: dir.to_owned(),
            source,
        })?
        .flatten()
    {
        let name = entry.file_name();
        if name != MANIFEST
            && !name
                .to_str()
                .is_some_and(|name| manifest.sha256.contains_key(name))
        {
            return Err(Error::Unknown { path: entry.path() });
        }
    }
    for (name, expected) in &manifest.sha256 {
        let path = dir.join(name);
        let actual = sum(&SHA256, &path).map_err(|source| Error::File {
            path: path.clone(),
            source,
        })?;
        if actual != *expected {
            return Err(Error::Changed { path });
        }
    }
    Ok(Some(()))
}

/// The sum of a file in lower-case hex.
pub(crate) fn sum(algorithm: &'static Algorithm, path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut context = Context::new(algorithm);
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(context.finish().as_ref())),
            read => context.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
