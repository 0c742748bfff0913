//! The environment's own certificates. The authority's private key never touches the disk: everything that it will
//! ever sign is made in one go, and a second environment has another authority.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose as Usage, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use crate::files;

/// The certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A key or certificate could not be made.
    #[error("cannot make the certificate of {name}")]
    Make {
        /// Whose certificate.
        name: String,
        /// Why.
        source: rcgen::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The finished set could not be put into its place.
    #[error("cannot move the certificates to {}", path.display())]
    Install {
        /// The place.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Where the certificates of an environment are.
#[derive(Clone, Debug)]
pub(crate) struct Pki {
    dir: PathBuf,
}

impl Pki {
    /// The certificates in `dir`; made when there are none yet.
    ///
    /// # Errors
    /// A key cannot be made, or a file not be written. Nothing half-made stays under `dir`.
    pub(crate) fn ensure(dir: &Path) -> Result<Self, Error> {
        if !dir.is_dir() {
            let temporary = dir.with_extension(format!("{}.tmp", std::process::id()));
            let _ = fs::remove_dir_all(&temporary);
            files::private_dir(&temporary)?;
            write_all(&temporary)?;
            fs::rename(&temporary, dir).map_err(|source| Error::Install {
                path: dir.to_owned(),
                source,
            })?;
        }
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// The authority's certificate.
    pub(crate) fn authority(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    /// A certificate: `etcd`, `etcd-client`, `apiserver`, `admin` or `controller-manager`.
    pub(crate) fn certificate(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.crt"))
    }

    /// The private key of a certificate.
    pub(crate) fn key(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.key"))
    }

    /// Private key that signs service-account tokens.
    pub(crate) fn tokens_key(&self) -> PathBuf {
        self.dir.join("service-accounts.key")
    }

    /// Public key that checks service-account tokens.
    pub(crate) fn tokens_public_key(&self) -> PathBuf {
        self.dir.join("service-accounts.pub")
    }
}

/// One certificate to issue: file name, common name, organisation, names it serves, usages.
struct Leaf {
    file: &'static str,
    common_name: &'static str,
    organisation: Option<&'static str>,
    names: &'static [&'static str],
    usages: &'static [Usage],
}

/// Who may do what follows from the names: RBAC knows `system:masters` and `system:kube-controller-manager`.
const LEAVES: &[Leaf] = &[
    // etcd calls itself with its serving certificate, so that one is a client's, too.
    Leaf {
        file: "etcd",
        common_name: "etcd",
        organisation: None,
        names: &["localhost", "127.0.0.1"],
        usages: &[Usage::ServerAuth, Usage::ClientAuth],
    },
    Leaf {
        file: "etcd-client",
        common_name: "kube-apiserver",
        organisation: None,
        names: &[],
        usages: &[Usage::ClientAuth],
    },
    Leaf {
        file: "apiserver",
        common_name: "kube-apiserver",
        organisation: None,
        names: &[
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            "127.0.0.1",
            "10.96.0.1",
        ],
        usages: &[Usage::ServerAuth],
    },
    Leaf {
        file: "admin",
        common_name: "vmctl-admin",
        organisation: Some("system:masters"),
        names: &[],
        usages: &[Usage::ClientAuth],
    },
    Leaf {
        file: "controller-manager",
        common_name: "system:kube-controller-manager",
        organisation: None,
        names: &[],
        usages: &[Usage::ClientAuth],
    },
];

fn write_all(dir: &Path) -> Result<(), Error> {
    let made = |name: &str| {
        let name = name.to_owned();
        move |source| Error::Make { name, source }
    };
    let authority_key = KeyPair::generate().map_err(made("the authority"))?;
    let mut authority = CertificateParams::default();
    authority.distinguished_name = name("vmctl-authority", None);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let certificate = authority
        .self_signed(&authority_key)
        .map_err(made("the authority"))?;
    files::write_private(&dir.join("ca.crt"), certificate.pem().as_bytes())?;
    let issuer = Issuer::new(authority, authority_key);
    for leaf in LEAVES {
        let (certificate, key) = issue(leaf, &issuer).map_err(made(leaf.file))?;
        files::write_private(
            &dir.join(format!("{}.crt", leaf.file)),
            certificate.as_bytes(),
        )?;
        files::write_private(&dir.join(format!("{}.key", leaf.file)), key.as_bytes())?;
    }
    let tokens = KeyPair::generate().map_err(made("service-account tokens"))?;
    files::write_private(
        &dir.join("service-accounts.key"),
        tokens.serialize_pem().as_bytes(),
    )?;
    files::write_private(
        &dir.join("service-accounts.pub"),
        tokens.public_key_pem().as_bytes(),
    )?;
    Ok(())
}

fn issue(leaf: &Leaf, issuer: &Issuer<'_, KeyPair>) -> Result<(String, String), rcgen::Error> {
    let names: Vec<String> = leaf.names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = name(leaf.common_name, leaf.organisation);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = leaf.usages.to_vec();
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn name(common_name: &str, organisation: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    if let Some(organisation) = organisation {
        name.push(DnType::OrganizationName, organisation);
    }
    name
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn certificates_are_made_once_private_and_without_the_authoritys_key() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("pki");
        let pki = Pki::ensure(&dir).unwrap();
        let first = fs::read(pki.certificate("admin")).unwrap();
        Pki::ensure(&dir).unwrap();
        assert_eq!(fs::read(pki.certificate("admin")).unwrap(), first);
        assert!(!pki.key("ca").exists());
        assert_eq!(
            fs::metadata(&dir).unwrap().permissions().mode() & 0o777,
            0o700
        );
        for entry in fs::read_dir(&dir).unwrap() {
            assert_eq!(
                entry.unwrap().metadata().unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        assert_eq!(
            fs::read_dir(parent.path()).unwrap().count(),
            1,
            "no temporary directory stays"
        );
    }
}
