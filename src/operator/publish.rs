//! The ConfigMap by which clients check the metrics server: the authorities of all replicas, one after the other.
//!
//! Each process has an authority of its own, whose key is gone, so that none has to be kept secret anywhere. The newest
//! stand in front; what is pushed out by others that start is put back at the next look.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};

/// Name of the ConfigMap.
const NAME: &str = "vmoperator-metrics-ca";
/// Its key, as clients expect it.
const KEY: &str = "ca.crt";
/// Authorities that are kept: more than there are replicas, through a few restarts of each.
const MOST: usize = 16;
/// Tries against other replicas that write at the same time.
const TRIES: usize = 5;
/// Longest time for one request.
const CALL_LIMIT: Duration = Duration::from_secs(10);
/// The line that ends a certificate.
const END: &str = "-----END CERTIFICATE-----";

/// Why it is not published.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The API server refused or could not be reached.
    #[error("{step} of ConfigMap {NAME} failed")]
    Call {
        step: &'static str,
        #[source]
        source: Box<kube::Error>,
    },
    /// No answer.
    #[error("{step} of ConfigMap {NAME} had no answer in time")]
    TimedOut { step: &'static str },
    /// Others wrote at the same time, each time.
    #[error("ConfigMap {NAME} was changed by others at each of {TRIES} tries")]
    Contended,
}

/// Where authorities are published.
pub(super) struct Publication {
    api: Api<ConfigMap>,
    namespace: String,
}

impl Publication {
    pub(super) fn new(client: Client, namespace: &str) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
        }
    }

    /// Sees to it that ours are in it. Writes nothing where they are.
    pub(super) async fn ensure(&self, ours: &[&str]) -> Result<(), Error> {
        for _ in 0..TRIES {
            let found = call("get", self.api.get_opt(NAME)).await?;
            let bundle = found
                .as_ref()
                .and_then(|map| map.data.as_ref()?.get(KEY))
                .map_or("", String::as_str);
            let Some(bundle) = joined(bundle, ours) else {
                return Ok(());
            };
            let written = match found {
                None => self.create(bundle).await,
                Some(map) => self.replace(map, bundle).await,
            };
            match written {
                Err(Error::Call { source, .. }) if is_conflict(&source) => {}
                other => return other,
            }
        }
        Err(Error::Contended)
    }

    async fn create(&self, bundle: String) -> Result<(), Error> {
        let mut map = ConfigMap {
            data: Some(BTreeMap::from([(KEY.to_owned(), bundle)])),
            ..ConfigMap::default()
        };
        map.metadata.name = Some(NAME.to_owned());
        map.metadata.namespace = Some(self.namespace.clone());
        let label = ("app.kubernetes.io/name".to_owned(), "vmoperator".to_owned());
        map.metadata.labels = Some(BTreeMap::from([label]));
        let params = PostParams::default();
        call("create", self.api.create(&params, &map))
            .await
            .map(drop)
    }

    /// Under the version that was read.
    async fn replace(&self, mut map: ConfigMap, bundle: String) -> Result<(), Error> {
        let data = map.data.get_or_insert_default();
        data.insert(KEY.to_owned(), bundle);
        let params = PostParams::default();
        call("update", self.api.replace(NAME, &params, &map))
            .await
            .map(drop)
    }
}

async fn call<T>(
    step: &'static str,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, Error> {
    match tokio::time::timeout(CALL_LIMIT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(Error::Call {
            step,
            source: Box::new(source),
        }),
        Err(_) => Err(Error::TimedOut { step }),
    }
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

/// The bundle with ours in front; `None` where they are in it.
fn joined(bundle: &str, ours: &[&str]) -> Option<String> {
    let missing: Vec<&str> = ours
        .iter()
        .map(|one| one.trim())
        .filter(|one| !bundle.contains(one))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let theirs = bundle
        .split_inclusive(END)
        .map(str::trim)
        .filter(|one| one.ends_with(END));
    let all: Vec<&str> = missing.into_iter().chain(theirs).take(MOST).collect();
    Some(all.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(name: &str) -> String {
        format!("-----BEGIN CERTIFICATE-----\n{name}\n{END}\n")
    }

    #[test]
    fn ours_is_put_in_front_of_those_of_the_others() {
        let (a, b) = (certificate("a"), certificate("b"));
        let one = joined("", &[&a]).unwrap();
        assert_eq!(one, a);
        let two = joined(&one, &[&b]).unwrap();
        assert_eq!(two, format!("{b}{a}"));
    }

    #[test]
    fn what_is_in_it_costs_no_write() {
        let (a, b) = (certificate("a"), certificate("b"));
        assert_eq!(joined(&format!("{a}{b}"), &[&b, &a]), None);
        let edited = format!("{b}\n# by hand\n{a}");
        assert_eq!(joined(&edited, &[&a]), None);
    }

    #[test]
    fn the_oldest_are_dropped_and_scribbles_with_them() {
        let mut bundle = "no certificate".to_owned();
        for number in 0..40 {
            bundle = joined(&bundle, &[&certificate(&number.to_string())]).unwrap();
        }
        assert_eq!(bundle.matches(END).count(), MOST);
        assert!(bundle.contains("\n39\n") && bundle.contains("\n24\n"));
        assert!(!bundle.contains("\n23\n") && !bundle.contains("no certificate"));
    }
}
