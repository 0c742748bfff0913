//! One API server for this file, with the CRDs of `config/crd/`.

use std::path::Path;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::asked::{Asked, send};
use crate::support::ControlPlane;

static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

/// Longest wait for a kind to be served; it takes about a second.
const ESTABLISHED: Duration = Duration::from_secs(60);

/// The control plane, started by whoever asks first.
pub(crate) async fn plane() -> &'static ControlPlane {
    PLANE
        .get_or_init(|| async {
            let start = tokio::task::spawn_blocking(ControlPlane::start);
            let plane = start.await.expect("a control plane");
            install(&client(&plane).await).await;
            plane
        })
        .await
}

/// A client of this test's own runtime, and a namespace of its own.
pub(crate) async fn namespace(name: &str) -> Asked {
    let client = client(plane().await).await;
    let body = json!({ "metadata": { "generateName": format!("{name}-") } });
    let made = send(&client, "POST", "/api/v1/namespaces", &body)
        .await
        .expect("namespace");
    let namespace = made["metadata"]["name"].as_str().expect("name").to_owned();
    Asked { client, namespace }
}

async fn client(plane: &ControlPlane) -> Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(&plane.kubeconfig).expect("kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(
        kubeconfig,
        &kube::config::KubeConfigOptions::default(),
    )
    .await
    .expect("config");
    // The first to install wins; the others find it there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::try_from(config).expect("client")
}

/// Applies the files as they are, strictly, and waits until their kinds are served.
async fn install(client: &Client) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/crd");
    for plural in ["virtualmachines", "providerconfigs"] {
        let name = format!("{plural}.compute.example.com");
        let file = folder.join(format!("compute.example.com_{plural}.yaml"));
        let crd: Value =
            serde_saphyr::from_str(&std::fs::read_to_string(file).expect("file")).expect("YAML");
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        let warnings = crate::asked::apply(client, &path, &crd).await;
        assert_eq!(warnings, Vec::<String>::new(), "{name}");
        let served = tokio::time::timeout(ESTABLISHED, served(client, &path, plural)).await;
        served.unwrap_or_else(|_| panic!("{name} is not served"));
    }
}

async fn served(client: &Client, path: &str, plural: &str) {
    loop {
        let crd = send(client, "GET", path, &Value::Null)
            .await
            .expect("the definition");
        let conditions = crd["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let established = conditions
            .iter()
            .any(|one| one["type"] == "Established" && one["status"] == "True");
        // Established comes a moment before the kind answers.
        let list = format!("/apis/compute.example.com/v1/{plural}");
        if established && send(client, "GET", &list, &Value::Null).await.is_ok() {
            return;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a test that waits for another process"
        )]
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
