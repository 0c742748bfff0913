//! Whether programs are there and are what their names say.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::Binaries;

/// Longest wait for `--version`. A big program on a cold disk takes a second or two.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A directory does not have what it must.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A program is missing.
    #[error("there is no {name}")]
    Missing {
        /// Which.
        name: &'static str,
    },
    /// A program could not be run.
    #[error("cannot run {}", path.display())]
    Run {
        /// The program.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A program did not answer.
    #[error("{} --version gave no answer within {} s", path.display(), TIMEOUT.as_secs())]
    Silent {
        /// The program.
        path: PathBuf,
    },
    /// A program is something else.
    #[error("{} --version does not answer as expected: {answer:?}", path.display())]
    Other {
        /// The program.
        path: PathBuf,
        /// The beginning of its answer.
        answer: String,
    },
}

/// Runs `--version` of what is in `dir`; all of it must answer.
///
/// # Errors
/// etcd or kube-apiserver is missing, or something there does not run.
pub(crate) async fn directory(dir: &Path) -> Result<Binaries, Error> {
    let dir = &std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    for name in ["etcd", "kube-apiserver"] {
        if !dir.join(name).is_file() {
            return Err(Error::Missing { name });
        }
    }
    let mut found = Binaries::in_dir(dir, String::new());
    let (etcd, api_server, controller_manager) = tokio::join!(
        version(&found.etcd, "etcd Version: "),
        version(&found.api_server, "Kubernetes "),
        async {
            match &found.controller_manager {
                Some(path) => version(path, "Kubernetes ").await.map(drop),
                None => Ok(()),
            }
        },
    );
    etcd?;
    controller_manager?;
    found.version = api_server?;
    Ok(found)
}

/// The version that a program names behind `prefix`.
async fn version(path: &Path, prefix: &str) -> Result<String, Error> {
    let mut command = tokio::process::Command::new(path);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let answer = tokio::time::timeout(TIMEOUT, command.output()).await;
    let output = answer
        .map_err(|_elapsed| Error::Silent {
            path: path.to_owned(),
        })?
        .map_err(|source| Error::Run {
            path: path.to_owned(),
            source,
        })?;
    let answer = String::from_utf8_lossy(&output.stdout);
    let version = answer
        .lines()
        .find_map(|line| line.strip_prefix(prefix))
        .map(|version| version.trim().to_owned());
    version.ok_or_else(|| Error::Other {
        path: path.to_owned(),
        answer: answer.chars().take(80).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn program(dir: &Path, name: &str, script: &str) {
        let path = dir.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[tokio::test]
    async fn programs_that_answer_are_accepted_and_the_missing_optional_ones_left_out() {
        let dir = tempfile::tempdir().unwrap();
        program(dir.path(), "etcd", "echo 'etcd Version: 3.6.16'");
        program(dir.path(), "kube-apiserver", "echo 'Kubernetes v1.36.3'");
        let found = directory(dir.path()).await.unwrap();
        assert_eq!(found.version, "v1.36.3");
        assert_eq!(found.controller_manager, None);
    }

    #[tokio::test]
    async fn a_missing_a_broken_and_a_foreign_program_are_named() {
        let dir = tempfile::tempdir().unwrap();
        program(dir.path(), "kube-apiserver", "echo 'Kubernetes v1.36.3'");
        assert_eq!(
            directory(dir.path()).await.unwrap_err().to_string(),
            "there is no etcd"
        );
        program(dir.path(), "etcd", "echo 'something else'");
        assert!(
            directory(dir.path())
                .await
                .unwrap_err()
                .to_string()
                .contains("something else")
        );
        std::fs::set_permissions(
            dir.path().join("etcd"),
            std::fs::Permissions::from_mode(0o644),
        )
        .unwrap();
        assert!(
            directory(dir.path())
                .await
                .unwrap_err()
                .to_string()
                .starts_with("cannot run")
        );
    }
}
