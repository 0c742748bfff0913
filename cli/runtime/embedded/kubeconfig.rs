//! Kubeconfig files of our own; the user's is never touched.

use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::pki::Pki;
use crate::files;

/// A kubeconfig could not be made or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A certificate could not be read.
    #[error("cannot read {}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The content could not be spelled as YAML.
    #[error("cannot spell the kubeconfig as YAML: {0}")]
    Yaml(String),
    /// The file is no usable kubeconfig.
    #[error("cannot use the kubeconfig {}", path.display())]
    Use {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<kube::config::KubeconfigError>,
    },
    /// No client could be built from it.
    #[error("cannot build a client from the kubeconfig {}", path.display())]
    Client {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<kube::Error>,
    },
}

/// How a kubeconfig proves who its user is.
pub(crate) enum Credential<'a> {
    /// By a client certificate, copied into the file.
    Certificate(&'a str),
    /// By a token in a file beside it, read again when it changes.
    TokenFile(&'a Path),
}

/// Writes a kubeconfig of mode 0600, if it differs from what is there. True when it wrote.
///
/// # Errors
/// A certificate cannot be read, or the file not be written.
pub(crate) fn write(
    path: &Path,
    context: &str,
    server: &str,
    pki: &Pki,
    credential: &Credential<'_>,
) -> Result<bool, Error> {
    let user = match credential {
        Credential::Certificate(name) => json!({
            "client-certificate-data": base64(&pki.certificate(name))?,
            "client-key-data": base64(&pki.key(name))?,
        }),
        Credential::TokenFile(file) => json!({ "tokenFile": file }),
    };
    let content = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "clusters": [{ "name": context, "cluster": {
            "server": server, "certificate-authority-data": base64(&pki.authority())? } }],
        "users": [{ "name": context, "user": user }],
        "contexts": [{ "name": context, "context": { "cluster": context, "user": context, "namespace": "default" } }],
    });
    let text = serde_saphyr::to_string(&content).map_err(|error| Error::Yaml(error.to_string()))?;
    Ok(files::write_if_changed(path, text.as_bytes())?)
}

fn base64(path: &Path) -> Result<Value, Error> {
    let content = fs::read(path).map_err(|source| Error::Certificate {
        path: path.to_owned(),
        source,
    })?;
    serde_json::to_value(ByteString(content)).map_err(|error| Error::Yaml(error.to_string()))
}

/// The client settings of a kubeconfig. Its client does not repeat refused requests by itself, because that would hide
/// from a waiting command what it waits for.
///
/// # Errors
/// The file is missing or no kubeconfig.
pub(crate) async fn config(path: &Path) -> Result<kube::Config, Error> {
    let wrong = |source| Error::Use {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let file = Kubeconfig::read_from(path).map_err(wrong)?;
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(wrong)?;
    config.default_retry = false;
    Ok(config)
}

/// A client for a kubeconfig, see [`config`].
///
/// # Errors
/// As [`config`], and when a certificate in it cannot be used.
pub(crate) async fn client(path: &Path) -> Result<kube::Client, Error> {
    let config = config(path).await?;
    kube::Client::try_from(config).map_err(|source| Error::Client {
        path: path.to_owned(),
        source: Box::new(source),
    })
}
