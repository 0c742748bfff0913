//! The program `kind`.

use std::path::Path;
use std::time::Duration;

use super::engine::Engine;
use super::program::{Error, Program};

/// Oldest version that does what we need, as `major.minor`.
pub(crate) const NEEDED: (u32, u32) = (0, 30);
/// A look.
const LOOK: Duration = Duration::from_secs(10);
/// Making a cluster, the download of the node image included.
const CREATE: Duration = Duration::from_secs(900);
/// Everything else.
const ACT: Duration = Duration::from_secs(300);

/// `kind`, new enough.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    version: String,
    program: Program,
}

impl Kind {
    /// Finds it on the PATH.
    ///
    /// # Errors
    /// One sentence: it is not there, too old, or does not work.
    pub(crate) async fn find(engine: &Engine, dir: &Path) -> Result<Self, String> {
        let program = Program::on_path("kind").ok_or("kind: not on the PATH")?;
        let program = program
            .marked(dir)
            .with("KIND_EXPERIMENTAL_PROVIDER", engine.name());
        let answer = program.run(&["version", "-q"], LOOK).await;
        let version = answer.map_err(|error| format!("kind: {}", crate::hint::chain(&error)))?;
        let version = version.trim().trim_start_matches('v').to_owned();
        let (major, minor) = NEEDED;
        match parse(&version) {
            Some(found) if found >= NEEDED => Ok(Self { version, program }),
            _older => Err(format!(
                "kind: {} is version {version:?}, needed is {major}.{minor} or newer",
                program.path().display()
            )),
        }
    }

    /// Its version, without `v`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Makes a cluster and writes its kubeconfig; no other kubeconfig is touched.
    ///
    /// # Errors
    /// kind fails.
    pub(crate) async fn create(
        &self,
        cluster: &str,
        node_image: Option<&str>,
        kubeconfig: &Path,
    ) -> Result<(), Error> {
        let kubeconfig = kubeconfig.to_string_lossy();
        let mut args = vec!["create", "cluster", "--name", cluster];
        args.extend(["--kubeconfig", &kubeconfig, "--wait", "0s"]);
        if let Some(image) = node_image {
            args.extend(["--image", image]);
        }
        self.program.run(&args, CREATE).await.map(drop)
    }

    /// Writes the kubeconfig of a cluster that is there.
    ///
    /// # Errors
    /// kind fails.
    pub(crate) async fn export_kubeconfig(
        &self,
        cluster: &str,
        kubeconfig: &Path,
    ) -> Result<(), Error> {
        let kubeconfig = kubeconfig.to_string_lossy();
        let mut args = vec!["export", "kubeconfig", "--name", cluster];
        args.extend(["--kubeconfig", &kubeconfig]);
        self.program.run(&args, LOOK).await.map(drop)
    }

    /// Loads an image archive into every node. Archives work with every image store of the engine; images by name
    /// do not.
    ///
    /// # Errors
    /// kind fails.
    pub(crate) async fn load(&self, cluster: &str, archive: &Path) -> Result<(), Error> {
        let archive = archive.to_string_lossy();
        let args = ["load", "image-archive", "--name", cluster, &archive];
        self.program.run(&args, ACT).await.map(drop)
    }
}

/// `0.33.0` or `0.34.0-alpha` as major and minor.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?;
    let digits = minor.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((major, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of kind's two ways to load an image, the other one never arrives with some image stores of the engine (kind #3795).
    #[test]
    fn images_go_into_clusters_as_archives_and_never_by_name() {
        let by_name = concat!("docker", "-image");
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("cli")];
        let (mut archives, mut read) = (0, 0);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                assert!(!text.contains(by_name), "{}", path.display());
                archives += text.matches(concat!("\"image", "-archive\"")).count();
                read += 1;
            }
        }
        assert!(read > 100 && archives == 1, "{read} files, {archives}");
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (version, enough) in [
            ("0.30.0", true),
            ("0.33.0", true),
            ("0.100.0-alpha+1", true),
            ("1.0", true),
            ("0.9.0", false),
            ("0.29.0", false),
            ("", false),
            ("unknown", false),
        ] {
            assert_eq!(parse(version) >= Some(NEEDED), enough, "{version}");
        }
    }
}
