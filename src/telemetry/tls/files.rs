//! A certificate that somebody else writes, and renews, in a folder: cert-manager by a mounted Secret, for example.

use std::fs;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use super::{Error, Pair};

/// The two files, and what they held when they were last read with success.
#[derive(Debug)]
pub struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
    seen: Option<[u8; 32]>,
    complaint: Option<String>,
}

impl CertificateFiles {
    /// Files of these names in a folder. Nothing is read yet.
    #[must_use]
    pub fn new(folder: &Path, certificate: &str, key: &str) -> Self {
        Self {
            certificate: folder.join(certificate),
            key: folder.join(key),
            seen: None,
            complaint: None,
        }
    }

    /// The pair, where it differs from the one that was read last.
    ///
    /// # Errors
    /// A file is missing or holds something else, or the two do not belong together, as in the moment between two
    /// writes: the old pair serves on, and the next look may find better.
    pub fn read(&mut self) -> Result<Option<Pair>, Error> {
        let (certificates, key) = (bytes(&self.certificate)?, bytes(&self.key)?);
        let now = fingerprint(&certificates, &key);
        if self.seen == Some(now) {
            return Ok(None);
        }
        let names = (
            self.certificate.to_string_lossy(),
            self.key.to_string_lossy(),
        );
        let pair = Pair::read((&names.0, &names.1), &certificates, &key)?;
        self.seen = Some(now);
        Ok(Some(pair))
    }

    /// Whether this is another complaint than the last one: a log wants each of them once.
    pub fn is_news(&mut self, error: Option<&Error>) -> bool {
        let complaint = error.map(ToString::to_string);
        let news = complaint.is_some() && complaint != self.complaint;
        self.complaint = complaint;
        news
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::Read {
        path: path.display().to_string(),
        source,
    })
}

/// Of the contents, not of times: a mounted Secret changes by a link, and copies may keep times.
fn fingerprint(certificates: &[u8], key: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in [certificates, key] {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut print = [0; 32];
    print.copy_from_slice(context.finish().as_ref());
    print
}
