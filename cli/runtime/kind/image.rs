//! Images of this very program, made without an engine: it holds the operator and the mock provider, so that what runs
//! in the cluster is what was just compiled.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use serde_json::{Value, json};

use super::libraries::{self, Placed};
use super::{hex, layer};

/// Who runs in the image; the manifests say the same.
const USER: &str = "65532:65532";
/// Where certificate authorities are, by the habits of systems; the first place is the one in the image.
const AUTHORITIES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// An image could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The program cannot run on a node.
    #[error("this vmctl is no Linux program, so that it cannot run in the cluster")]
    System,
    /// What goes into it cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The archive cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The archive.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The two images of this program: the same files, another first word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ourselves {
    /// Name of the operator's image.
    pub(crate) operator: String,
    /// Name of the mock provider's image.
    pub(crate) mock: String,
    files: Vec<Placed>,
}

impl Ourselves {
    /// Looks at this program. The names of the images say what is in them, so that a changed program has others.
    ///
    /// # Errors
    /// It is not for Linux, or cannot be read.
    pub(crate) fn look() -> Result<Self, Error> {
        if !cfg!(target_os = "linux") {
            return Err(Error::System);
        }
        let program = Placed {
            from: PathBuf::from("/proc/self/exe"),
            to: "vmctl".to_owned(),
        };
        let read = |path: &Path, source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let mut files = libraries::of_ourselves().map_err(|source| read(&program.from, source))?;
        files.push(program);
        let authorities = AUTHORITIES.iter().find(|path| Path::new(path).is_file());
        files.extend(
            authorities
                .zip(AUTHORITIES.first())
                .map(|(from, to)| Placed {
                    from: PathBuf::from(from),
                    to: to.trim_start_matches('/').to_owned(),
                }),
        );
        let mut sum = Context::new(&SHA256);
        for placed in &files {
            sum.update(placed.to.as_bytes());
            add(&mut sum, &placed.from).map_err(|source| read(&placed.from, source))?;
        }
        let tag = hex(sum.finish().as_ref(), 6);
        Ok(Self {
            operator: format!("localhost/vmctl-operator:{tag}"),
            mock: format!("localhost/vmctl-mock-provider:{tag}"),
            files,
        })
    }

    /// Writes both images to one archive, in the form of `docker save`.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, archive: &Path) -> Result<(), Error> {
        let part = archive.with_extension("layer");
        let written = self.write_with(&part, archive);
        let _ = fs::remove_file(&part);
        written.map_err(|source| Error::Write {
            path: archive.to_owned(),
            source,
        })
    }

    fn write_with(&self, part: &Path, archive: &Path) -> io::Result<()> {
        let digest = layer::write(&self.files, part)?;
        let mut tar = tar::Builder::new(File::create(archive)?);
        tar.append_path_with_name(part, "layer.tar")?;
        let mut images = Vec::new();
        for (name, word) in [(&self.operator, "operator"), (&self.mock, "mock")] {
            let config = format!("{word}.json");
            let content = serde_json::to_vec(&configuration(word, &digest))?;
            layer::append(&mut tar, &config, &content)?;
            images.push(json!({ "Config": config, "RepoTags": [name], "Layers": ["layer.tar"] }));
        }
        layer::append(&mut tar, "manifest.json", &serde_json::to_vec(&images)?)?;
        tar.into_inner()?.sync_all()
    }
}

/// What an engine has to know to run the image.
fn configuration(word: &str, digest: &str) -> Value {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "architecture": architecture, "os": "linux",
        "config": { "Entrypoint": ["/vmctl", word], "User": USER,
            "Env": [format!("LD_LIBRARY_PATH=/{}", libraries::FOLDER)] },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{digest}")] },
    })
}

fn add(sum: &mut Context, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; 1024 * 1024];
    loop {
        match io::Read::read(&mut file, &mut piece)? {
            0 => return Ok(()),
            count => sum.update(piece.get(..count).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_two_images_of_one_layer_whose_digest_is_right() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("program");
        fs::write(&file, "a program").unwrap();
        let ourselves = Ourselves {
            operator: "localhost/o:1".to_owned(),
            mock: "localhost/m:1".to_owned(),
            files: vec![Placed {
                from: file,
                to: "vmctl".to_owned(),
            }],
        };
        let archive = dir.path().join("images.tar");
        ourselves.write(&archive).unwrap();
        let mut entries = std::collections::BTreeMap::new();
        let mut tar = tar::Archive::new(File::open(&archive).unwrap());
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut content = Vec::new();
            io::Read::read_to_end(&mut entry, &mut content).unwrap();
            entries.insert(path, content);
        }
        let manifest: Value = serde_json::from_slice(&entries["manifest.json"]).unwrap();
        assert_eq!(manifest[0]["RepoTags"][0], "localhost/o:1");
        assert_eq!(manifest[1]["RepoTags"][0], "localhost/m:1");
        let sum = ring::digest::digest(&SHA256, &entries["layer.tar"]);
        for image in manifest.as_array().unwrap() {
            let config: Value =
                serde_json::from_slice(&entries[image["Config"].as_str().unwrap()]).unwrap();
            let digest = config["rootfs"]["diff_ids"][0].as_str().unwrap();
            assert_eq!(digest, format!("sha256:{}", hex(sum.as_ref(), 32)));
            assert_eq!(config["config"]["User"], USER);
        }
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            2,
            "nothing temporary stays"
        );
    }

    #[test]
    fn this_program_has_a_name_that_does_not_change() {
        let first = Ourselves::look().unwrap();
        assert_eq!(first, Ourselves::look().unwrap());
        assert!(first.files.iter().any(|placed| placed.to == "vmctl"));
    }
}
