//! What goes into the archive.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DynamicObject, ListParams, LogParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::redact::Redactor;
use crate::doctor;
use crate::env::Environment;
use crate::env::outlets::Outlets;
use crate::env::workload::{self, MOCK, NAMESPACE, OPERATOR};
use crate::hint::chain;

/// The end of a log is what counts; so much of it is kept.
const LOG_BYTES: u64 = 1024 * 1024;
/// Objects of one kind that are kept.
const OBJECTS: u32 = 1000;
/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(10);
/// Kinds that are kept: group, version, kind. No Secret.
const KINDS: [(&str, &str, &str); 10] = [
    ("compute.example.com", "v1", "VirtualMachine"),
    ("compute.example.com", "v1", "ProviderConfig"),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ("coordination.k8s.io", "v1", "Lease"),
    ("discovery.k8s.io", "v1", "EndpointSlice"),
    ("apps", "v1", "Deployment"),
    ("", "v1", "Pod"),
    ("", "v1", "Service"),
    ("", "v1", "Event"),
    ("", "v1", "Namespace"),
];

/// Files of an archive, and what could not be had.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    redactor: Redactor,
    files: Vec<(String, String)>,
    missing: Vec<String>,
}

impl Bundle {
    /// Collects everything of an environment.
    pub(super) async fn collect(environment: &Environment) -> Self {
        let mut bundle = Self {
            redactor: credentials(environment.dir()),
            ..Self::default()
        };
        // First of all: what is collected before a credential is known would keep it.
        if let Ok(client) = environment.client().await {
            bundle.learn_provider_keys(&client).await;
        }
        let mut parts = vec![
            ("machine", doctor::machine::findings(environment.dir())),
            (
                "containers",
                doctor::kind::findings(environment, None).await,
            ),
        ];
        parts.extend(doctor::of_environment(environment).await);
        bundle.add_value("doctor.json", doctor::as_json(&parts));
        bundle.add_value(
            "version.json",
            json!({ "vmctl": env!("CARGO_PKG_VERSION") }),
        );
        bundle.own_files(environment.dir());
        if Environment::open(environment.name()).is_ok() {
            bundle.cluster(environment).await;
            bundle.outlets(environment).await;
        } else {
            bundle
                .missing
                .push("objects and metrics: nothing of the environment runs".to_owned());
        }
        bundle
    }

    /// What could not be had, a line each.
    pub(super) fn lacks(&self) -> &[String] {
        &self.missing
    }

    /// The archive.
    ///
    /// # Errors
    /// It cannot be packed.
    pub(super) fn archive(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        let missing = self
            .redactor
            .text(&format!("{}\n", self.missing.join("\n")));
        let missing = ("missing.txt".to_owned(), missing);
        for (name, text) in self.files.iter().chain(std::iter::once(&missing)) {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            header.set_cksum();
            archive.append_data(&mut header, format!("vmctl-diag/{name}"), text.as_bytes())?;
        }
        archive.into_inner()?.finish()
    }

    fn own_files(&mut self, dir: &Path) {
        let kind = dir.join("kind.json");
        let own: &[&str] = if kind.is_file() {
            &["kind.json", "journal.jsonl"]
        } else {
            &["plan.json", "state.json", "journal.jsonl"]
        };
        for name in own {
            self.add_file(name, &dir.join(name));
        }
        let logs = dir.join("logs");
        let mut names: Vec<String> = fs::read_dir(&logs)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        for name in names {
            self.add_file(&format!("logs/{name}"), &logs.join(&name));
        }
    }

    async fn cluster(&mut self, environment: &Environment) {
        let client = match environment.client().await {
            Ok(client) => client,
            Err(failure) => return self.missing.push(format!("objects: {}", failure.cause)),
        };
        for (group, version, kind) in KINDS {
            let name = format!("objects/{}.json", kind.to_lowercase());
            match listed(&client, group, version, kind).await {
                Ok(list) => self.add_value(&name, list),
                Err(why) => self.missing.push(format!("{name}: {why}")),
            }
        }
        if matches!(environment.kind(), Ok(Some(_))) {
            self.pods(&client).await;
        }
    }

    /// The logs of operator and mock provider where they are pods.
    async fn pods(&mut self, client: &Client) {
        let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
        for deployment in [OPERATOR, MOCK] {
            let pods = tokio::time::timeout(CALL, workload::pods(client, deployment)).await;
            let Ok(Ok(pods)) = pods else {
                self.missing
                    .push(format!("logs of {deployment}: no answer"));
                continue;
            };
            for name in pods.iter().map(ResourceExt::name_any) {
                let params = LogParams {
                    limit_bytes: i64::try_from(LOG_BYTES).ok(),
                    ..LogParams::default()
                };
                let log = tokio::time::timeout(CALL, api.logs(&name, &params)).await;
                match log {
                    Ok(Ok(text)) => self.add(&format!("logs/{name}.log"), &text),
                    Ok(Err(error)) => self
                        .missing
                        .push(format!("logs/{name}.log: {}", chain(&error))),
                    Err(_elapsed) => self.missing.push(format!("logs/{name}.log: no answer")),
                }
            }
        }
    }

    /// The keys of ProviderConfigs are read only to be taken out wherever else they turn up.
    async fn learn_provider_keys(&mut self, client: &Client) {
        let list = listed(client, "", "v1", "Secret").await.unwrap_or_default();
        for secret in list["items"].as_array().into_iter().flatten() {
            for value in secret["data"]
                .as_object()
                .into_iter()
                .flatten()
                .filter_map(|(_, value)| value.as_str())
            {
                let decoded = serde_json::from_value::<k8s_openapi::ByteString>(json!(value));
                self.redactor.add(value);
                if let Some(text) = decoded
                    .ok()
                    .and_then(|bytes| String::from_utf8(bytes.0).ok())
                {
                    self.redactor.add(&text);
                }
            }
        }
    }

    async fn outlets(&mut self, environment: &Environment) {
        let outlets = match Outlets::of(Some(environment)).await {
            Ok(outlets) => outlets,
            Err(why) => return self.missing.push(format!("metrics: {why}")),
        };
        match outlets.metrics().await {
            Ok(text) => self.add("metrics.txt", &text),
            Err(why) => self.missing.push(format!("metrics.txt: {why}")),
        }
        match outlets.debug_state().await {
            Ok(state) => self.add_value("debug-state.json", state),
            Err(why) => self.missing.push(format!("debug-state.json: {why}")),
        }
        match outlets.provider_log().await {
            Ok(text) => self.add("provider-log.jsonl", &text),
            Err(why) => self.missing.push(format!("provider-log.jsonl: {why}")),
        }
    }

    fn add_file(&mut self, name: &str, path: &Path) {
        match tail(path) {
            Ok(text) => self.add(name, &text),
            Err(error) => self.missing.push(format!("{name}: {error}")),
        }
    }

    fn add_value(&mut self, name: &str, mut value: Value) {
        self.redactor.value(&mut value);
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        self.files.push((name.to_owned(), text));
    }

    fn add(&mut self, name: &str, text: &str) {
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            return self.add_value(name, value);
        }
        self.files.push((name.to_owned(), self.redactor.text(text)));
    }
}

/// Every credential that an environment's folder holds.
fn credentials(dir: &Path) -> Redactor {
    let mut redactor = Redactor::default();
    for line in text(&dir.join("mock").join("api-keys")).lines() {
        redactor.add(line.split_once('=').map_or(line, |(_account, key)| key));
    }
    redactor.add(&text(&dir.join("operator").join("token")));
    for entry in fs::read_dir(dir.join("pki"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let content = text(&entry.path());
        if content.contains("PRIVATE KEY") {
            let body = content.lines().filter(|line| !line.starts_with("-----"));
            body.for_each(|line| redactor.add(line));
        }
    }
    let kubeconfig: Value =
        serde_saphyr::from_str(&text(&dir.join("kubeconfig"))).unwrap_or_default();
    for user in kubeconfig["users"].as_array().into_iter().flatten() {
        for field in ["client-key-data", "token", "password"] {
            redactor.add(user["user"][field].as_str().unwrap_or_default());
        }
    }
    redactor
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn listed(client: &Client, group: &str, version: &str, kind: &str) -> Result<Value, String> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let params = ListParams::default().limit(OBJECTS);
    let answer = tokio::time::timeout(CALL, api.list(&params)).await;
    let mut list = answer
        .map_err(|_elapsed| "no answer".to_owned())?
        .map_err(|error| chain(&error))?;
    for object in &mut list.items {
        object.metadata.managed_fields = None;
    }
    serde_json::to_value(&list).map_err(|error| error.to_string())
}
