//! The user's own kubeconfig, touched for `up --use-context` alone: three entries and the current context are ours while
//! the environment is there, `down` takes them out again. Everything else in the file stays, comments too.

mod text;

use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Environment;
use crate::clock;
use crate::files;
use crate::hint::{Exit, Failure, chain};
use crate::output::Talk;
use text::Entries;

/// What was changed, in the environment's folder.
const RECORD: &str = "context.json";
/// The user's file as it was, and as we left it.
const BEFORE: &str = "own-kubeconfig-before";
const AFTER: &str = "own-kubeconfig-after";
/// kubectl holds its lock for moments only.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// What is known about the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    /// The file, as the user names it.
    file: PathBuf,
    /// Whether it was there.
    existed: bool,
    /// The context that was current.
    before: Option<String>,
}

/// The user's file could not be read or changed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("there is no home directory")]
    Home,
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] io::Error),
    #[error("{} is no kubeconfig: {reason}", file.display())]
    Content { file: PathBuf, reason: String },
    #[error("somebody else works on it: {} is there", .0.display())]
    Locked(PathBuf),
    #[error("cannot write {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    #[error(transparent)]
    File(#[from] files::Error),
}

impl Error {
    fn into_failure(self) -> Failure {
        let (exit, fix) = match &self {
            Self::Locked(lock) => (
                Exit::Conflict,
                format!("once nobody writes it: rm {}", lock.display()),
            ),
            Self::Home => (Exit::Environment, "set HOME or KUBECONFIG".to_owned()),
            Self::Read(..) | Self::Content { .. } | Self::Write(..) | Self::File(_) => (
                Exit::Environment,
                "leave --use-context out: eval \"$(vmctl env export)\" sets up one shell"
                    .to_owned(),
            ),
        };
        let cause = format!(
            "the environment is up, but its context is not made current: {}",
            chain(&self)
        );
        Failure::new(exit, "VMC-OWN-KUBECONFIG", cause).fix(fix)
    }
}

/// Makes the environment's context the current one of the user's kubeconfig; says what was changed.
///
/// # Errors
/// The file cannot be read, is locked, or cannot be written.
pub(super) async fn adopt(environment: &Environment) -> Result<String, Failure> {
    adopted(environment).await.map_err(Error::into_failure)
}

async fn adopted(environment: &Environment) -> Result<String, Error> {
    let file = own_file()?;
    let entries = entries(environment)?;
    let _lock = Lock::take(&file).await?;
    let present = read(&file)?;
    let text = present.clone().unwrap_or_default();
    let (new, current) = text::added(&text, &entries).map_err(|reason| Error::Content {
        file: file.clone(),
        reason,
    })?;
    let shown = file.display();
    if new == text {
        return Ok(format!("context {} is current in {shown}", entries.name));
    }
    let earlier = record(environment).filter(|record| record.file == file);
    let before = current.filter(|current| *current != entries.name);
    let was = before.clone().unwrap_or_else(|| "none".to_owned());
    let dir = environment.dir();
    if earlier.is_none() {
        files::write_private(&dir.join(BEFORE), text.as_bytes())?;
    }
    let record = Record {
        existed: earlier
            .as_ref()
            .map_or(present.is_some(), |record| record.existed),
        before: before.or(earlier.and_then(|record| record.before)),
        file: file.clone(),
    };
    // First the note, then the change: what is noted and not done is found out by looking.
    files::write_private(
        &dir.join(RECORD),
        &serde_json::to_vec(&record).unwrap_or_default(),
    )?;
    files::write_private(&dir.join(AFTER), new.as_bytes())?;
    write(&file, &new)?;
    Ok(format!(
        "context {} is now current in {shown}; it was {was}; vmctl down --env {} puts that back",
        entries.name,
        environment.name()
    ))
}

/// Takes out of the user's kubeconfig what [`adopt`] put in and is still as it was. What cannot be done is said and holds
/// nothing up.
pub(super) async fn release(environment: &Environment, talk: &Talk) {
    let Some(record) = record(environment) else {
        return;
    };
    match released(environment, &record).await {
        Ok(true) => talk.line(&format!(
            "{} is without its context again",
            record.file.display()
        )),
        Ok(false) => {}
        Err(error) => talk.line(&format!(
            "context {} stays in your kubeconfig: {}",
            name(environment),
            chain(&error)
        )),
    }
}

async fn released(environment: &Environment, record: &Record) -> Result<bool, Error> {
    let file = &record.file;
    let _lock = Lock::take(file).await?;
    let Some(present) = read(file)? else {
        return Ok(false);
    };
    let kept = |name: &str| fs::read_to_string(environment.dir().join(name)).ok();
    if kept(AFTER).as_ref() == Some(&present) {
        // Nobody has touched it since: it becomes what it was to the last byte.
        match kept(BEFORE).filter(|_| record.existed) {
            Some(before) => write(file, &before)?,
            None => fs::remove_file(file).map_err(|error| Error::Write(file.clone(), error))?,
        }
        return Ok(true);
    }
    let entries = entries(environment)?;
    let new = text::removed(&present, &entries, record.before.as_deref());
    let new = new.map_err(|reason| Error::Content {
        file: file.clone(),
        reason,
    })?;
    if new == present {
        return Ok(false);
    }
    write(file, &new)?;
    Ok(true)
}

fn record(environment: &Environment) -> Option<Record> {
    let text = fs::read(environment.dir().join(RECORD)).ok()?;
    serde_json::from_slice(&text).ok()
}

fn name(environment: &Environment) -> String {
    format!("vmctl-{}", environment.name())
}

/// The environment's cluster, user and context under a name that says whose they are.
fn entries(environment: &Environment) -> Result<Entries, Error> {
    let path = environment.kubeconfig();
    let wrong = |reason: String| Error::Content {
        file: path.clone(),
        reason,
    };
    let text = fs::read_to_string(&path).map_err(|error| Error::Read(path.clone(), error))?;
    let ours: Value = serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(Entries {
        name: name(environment),
        cluster: ours["clusters"][0]["cluster"].clone(),
        user: ours["users"][0]["user"].clone(),
    })
}

/// The file that kubectl would write: the first of `KUBECONFIG` that is there, else the first; else the one at home.
fn own_file() -> Result<PathBuf, Error> {
    let named = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let named: Vec<PathBuf> = std::env::split_paths(&named)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    let there = named.iter().find(|path| path.exists());
    if let Some(file) = there.or(named.first()) {
        return Ok(file.clone());
    }
    let base = etcetera::choose_base_strategy().map_err(|_none| Error::Home)?;
    Ok(base.home_dir().join(".kube").join("config"))
}

fn read(file: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::Read(file.to_owned(), error)),
    }
}

/// In one step, with the mode that it has, behind a symbolic link where it is one.
fn write(file: &Path, text: &str) -> Result<(), Error> {
    let real = fs::canonicalize(file).unwrap_or_else(|_new| file.to_owned());
    let failed = |error: io::Error| Error::Write(real.clone(), error);
    if let Some(folder) = real.parent() {
        files::private_dir(folder)?;
    }
    let mode = fs::metadata(&real).map_or(0o600, |there| there.permissions().mode() & 0o7777);
    files::write_private(&real.with_extension("vmctl"), text.as_bytes())?;
    let temporary = real.with_extension("vmctl");
    fs::set_permissions(&temporary, fs::Permissions::from_mode(mode))
        .and_then(|()| fs::rename(&temporary, &real))
        .map_err(failed)
}

/// kubectl's own lock: a file beside it.
struct Lock(PathBuf);

impl Lock {
    async fn take(file: &Path) -> Result<Self, Error> {
        let mut name = file.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        if let Some(folder) = path.parent() {
            files::private_dir(folder)?;
        }
        for _try in 0..LOCK_TRIES {
            let mut options = fs::OpenOptions::new();
            match options.write(true).create_new(true).mode(0o600).open(&path) {
                Ok(_) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::Write(path, error)),
            }
            clock::sleep(LOCK_PAUSE).await;
        }
        Err(Error::Locked(path))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
