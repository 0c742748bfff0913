//! What of a kind environment cannot be seen by looking at the machine.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files;

/// Name of the file in an environment's directory. Where it is, the environment is one of kind.
const FILE: &str = "kind.json";

/// The record of one environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// Name of the cluster.
    pub(crate) cluster: String,
    /// The engine that it runs in.
    pub(crate) engine: String,
    /// The node image that was asked for; kind's own when none was.
    pub(crate) node_image: Option<String>,
    /// Whether somebody asked for kind or for the node image; where nobody did, another runtime may take over.
    #[serde(default)]
    pub(crate) asked: bool,
    /// Whether kind ended its work; a cluster without that is a torso.
    pub(crate) complete: bool,
    /// Version of the API server, once it answered.
    pub(crate) kubernetes: Option<String>,
    /// Whether a VirtualMachine was made and removed in it.
    pub(crate) proven: bool,
}

/// The record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The file.
    #[error(transparent)]
    File(#[from] files::Error),
    /// Its content.
    #[error("{FILE} is damaged")]
    Content(#[from] serde_json::Error),
}

impl Record {
    /// The record in an environment's directory, if it is one of kind.
    ///
    /// # Errors
    /// It cannot be read or is damaged.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, Error> {
        let text = files::read_optional(&dir.join(FILE))?;
        Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
    }

    /// Removes it: the environment is no longer one of kind.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(crate) fn remove(dir: &Path) -> Result<(), Error> {
        Ok(files::remove_if_there(&dir.join(FILE))?)
    }

    /// Writes it, where it differs. True when it did.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, dir: &Path) -> Result<bool, Error> {
        let text = serde_json::to_vec_pretty(self)?;
        Ok(files::write_if_changed(&dir.join(FILE), &text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_damage_is_said() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Record::read(dir.path()).unwrap().is_none());
        let record = Record {
            cluster: "vmctl-dev-123456".to_owned(),
            engine: "docker".to_owned(),
            node_image: None,
            asked: true,
            complete: false,
            kubernetes: None,
            proven: false,
        };
        assert!(record.write(dir.path()).unwrap());
        assert!(!record.write(dir.path()).unwrap());
        assert_eq!(Record::read(dir.path()).unwrap(), Some(record));
        Record::remove(dir.path()).unwrap();
        Record::remove(dir.path()).unwrap();
        assert!(Record::read(dir.path()).unwrap().is_none());
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        let error = Record::read(dir.path()).unwrap_err();
        assert_eq!(error.to_string(), "kind.json is damaged");
    }
}
