//! The pinned download: one archive with a sum that is built into this program, and kube-controller-manager with the
//! sum that is published beside it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{SHA256, SHA512};

use super::cache::{self, Cache};
use crate::output::Talk;

/// The pinned version.
pub(crate) const VERSION: &str = "1.36.2";
/// A host that cannot be connected to by then is taken as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A server that sends nothing for so long is given up.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Nothing that is fetched here is larger.
const LARGEST: u64 = 512 * 1024 * 1024;

/// Sums of the archives, from the release index of the project that publishes them.
const ARCHIVES: &[(&str, &str)] = &[
    (
        "linux-amd64",
        "ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08",
    ),
    (
        "linux-arm64",
        "2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac",
    ),
    (
        "darwin-amd64",
        "b4fe9f973cd1992e3880f8b230ed32c0c243b83371591e3e3315f4404df2cdbef8ee94eeb9bb245b7e5feb987d5c4a76c43e0877654ab73f00d7bbc2b9984514",
    ),
    (
        "darwin-arm64",
        "9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce",
    ),
];

/// The download did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// There is no archive for this machine.
    #[error("there is no archive for {0}")]
    Platform(String),
    /// The client could not be built.
    #[error("cannot prepare an HTTP client")]
    Client(#[source] reqwest::Error),
    /// The server could not be reached or refused.
    #[error("cannot fetch {url}")]
    Fetch {
        /// What.
        url: String,
        /// Why.
        source: reqwest::Error,
    },
    /// The answer is larger than anything that we expect.
    #[error("{url} is larger than {LARGEST} bytes")]
    TooLarge {
        /// What.
        url: String,
    },
    /// What came is not what was pinned.
    #[error("{url} is not what it must be: its sum is {actual}, not {expected}")]
    Sum {
        /// What.
        url: String,
        /// The pinned or published sum.
        expected: String,
        /// The sum of what came.
        actual: String,
    },
    /// A file could not be written or unpacked.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The archive lacks a program.
    #[error("the archive has no {0}")]
    Incomplete(&'static str),
    /// The result could not be put into the cache.
    #[error(transparent)]
    Cache(#[from] cache::Error),
}

/// What to fetch.
#[derive(Clone, Debug)]
struct Source {
    archive: String,
    archive_sha512: String,
    controller_manager: String,
}

/// Fetches the pinned version into the cache.
///
/// # Errors
/// There is none for this machine, a host cannot be reached, or a sum differs.
pub(crate) async fn into(cache: &Cache, talk: &Talk) -> Result<PathBuf, Error> {
    fetch_all(&pinned()?, cache, talk).await
}

fn pinned() -> Result<Source, Error> {
    let os = if cfg!(target_os = "macos") {
        "darwin"
    } else {
        std::env::consts::OS
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let platform = format!("{os}-{arch}");
    let Some((_, sha512)) = ARCHIVES.iter().find(|(name, _)| *name == platform) else {
        return Err(Error::Platform(platform));
    };
    Ok(Source {
        archive: format!(
            "https://github.com/kubernetes-sigs/controller-tools/releases/download/envtest-v{VERSION}/envtest-v{VERSION}-{platform}.tar.gz"
        ),
        archive_sha512: (*sha512).to_owned(),
        controller_manager: format!(
            "https://dl.k8s.io/release/v{VERSION}/bin/{os}/{arch}/kube-controller-manager"
        ),
    })
}

async fn fetch_all(source: &Source, cache: &Cache, talk: &Talk) -> Result<PathBuf, Error> {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .build()
        .map_err(Error::Client)?;
    let staged = cache.staging()?;
    let archive = cache.dir().join(".archive");
    fetch(&client, &source.archive, &archive, talk).await?;
    // Nothing is unpacked, let alone run, before this.
    let verified = check_sum(&SHA512, &source.archive, &archive, &source.archive_sha512);
    let unpacked = verified.and_then(|()| unpack(&archive, &staged));
    let _ = fs::remove_file(&archive);
    unpacked?;
    let mut words = format!("{} (sha512 pinned)", source.archive);
    match fetch_controller_manager(&client, &source.controller_manager, &staged, talk).await {
        Ok(()) => {
            words.push_str(&format!(
                " and {} (sha256 published beside it)",
                source.controller_manager
            ));
            talk.line("control plane: the sum of kube-controller-manager is recorded in the cache and checked from now on");
        }
        Err(error) => {
            let _ = fs::remove_file(staged.join("kube-controller-manager"));
            talk.line(&format!(
                "control plane: without kube-controller-manager: {}",
                crate::hint::chain(&error)
            ));
        }
    }
    Ok(cache.install(&staged, VERSION, &words)?)
}

async fn fetch_controller_manager(
    client: &reqwest::Client,
    url: &str,
    staged: &Path,
    talk: &Talk,
) -> Result<(), Error> {
    let sum_url = format!("{url}.sha256");
    let failed = |source| fetch_failed(&sum_url, source);
    let response = client
        .get(&sum_url)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .map_err(failed)?;
    let published = response.text().await.map_err(failed)?;
    let expected = published
        .split_ascii_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned();
    let path = staged.join("kube-controller-manager");
    fetch(client, url, &path, talk).await?;
    check_sum(&SHA256, url, &path, &expected)
}

async fn fetch(client: &reqwest::Client, url: &str, path: &Path, talk: &Talk) -> Result<(), Error> {
    talk.line(&format!("control plane: downloading {url}"));
    let failed = |source| fetch_failed(url, source);
    let wrote = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    let mut response = client
        .get(url)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .map_err(failed)?;
    let mut file = executable(path).map_err(wrote)?;
    let mut size = 0;
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        size += chunk.len() as u64;
        if size > LARGEST {
            return Err(Error::TooLarge {
                url: url.to_owned(),
            });
        }
        file.write_all(&chunk).map_err(wrote)?;
    }
    Ok(())
}

/// The address is said once.
fn fetch_failed(url: &str, source: reqwest::Error) -> Error {
    Error::Fetch {
        url: url.to_owned(),
        source: source.without_url(),
    }
}

fn executable(path: &Path) -> io::Result<File> {
    File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o755)
        .open(path)
}

fn check_sum(
    algorithm: &'static ring::digest::Algorithm,
    url: &str,
    path: &Path,
    expected: &str,
) -> Result<(), Error> {
    let actual = cache::sum(algorithm, path).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })?;
    if actual == expected {
        return Ok(());
    }
    Err(Error::Sum {
        url: url.to_owned(),
        expected: expected.to_owned(),
        actual,
    })
}

/// Takes the programs out of the archive by their names; its paths are not trusted.
fn unpack(archive: &Path, staged: &Path) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Write { path, source }
    };
    let file = File::open(archive).map_err(failed(archive))?;
    let mut entries = tar::Archive::new(flate2::read::GzDecoder::new(file));
    for entry in entries.entries().map_err(failed(archive))? {
        let mut entry = entry.map_err(failed(archive))?;
        let path = entry.path().map_err(failed(archive))?.into_owned();
        let name = path.file_name().unwrap_or_default();
        if entry.header().entry_type().is_file()
            && ["etcd", "kube-apiserver", "kubectl"]
                .iter()
                .any(|known| name == *known)
        {
            let target = staged.join(name);
            let mut program = executable(&target).map_err(failed(&target))?;
            io::copy(&mut entry, &mut program).map_err(failed(&target))?;
        }
    }
    let missing = ["etcd", "kube-apiserver"]
        .into_iter()
        .find(|name| !staged.join(name).is_file());
    missing.map_or(Ok(()), |name| Err(Error::Incomplete(name)))
}

#[cfg(test)]
mod tests;
