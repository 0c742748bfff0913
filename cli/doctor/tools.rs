//! Checks of the programs. Nothing is downloaded or built.

use std::path::PathBuf;

use super::Finding;
use super::id::Id;
use crate::output::Talk;
use crate::runtime::embedded::binaries::{self, Lookup};

/// All checks.
pub(super) async fn findings(lookup: &Lookup) -> Vec<Finding> {
    let offline = Lookup {
        offline: true,
        ..lookup.clone()
    };
    let found = binaries::find(&offline, &Talk::new(true)).await;
    let (tools, kubectl) = match found {
        Ok(found) => {
            let note = format!(
                "Kubernetes {} at {}; up --offline works",
                found.version,
                found.etcd.display()
            );
            (Finding::ok(Id::Tools, note), found.kubectl)
        }
        Err(failure) if failure.id == "VMC-BINARIES" && !lookup.offline => {
            let note = "not here yet; up downloads or builds them";
            let fix = "run vmctl up once with a network; up --offline works from then on";
            (Finding::warn(Id::Tools, note, fix), None)
        }
        Err(failure) => {
            let fix = failure.fix.unwrap_or_default();
            (Finding::fail(Id::Tools, failure.cause, fix), None)
        }
    };
    vec![tools, self::kubectl(kubectl)]
}

fn kubectl(known: Option<PathBuf>) -> Finding {
    match known.or_else(|| in_path("kubectl")) {
        Some(path) => Finding::ok(Id::Kubectl, path.display().to_string()),
        None => {
            let fix = "install kubectl: `vmctl kubectl` needs it, no other command does";
            Finding::warn(Id::Kubectl, "there is none", fix)
        }
    }
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}
