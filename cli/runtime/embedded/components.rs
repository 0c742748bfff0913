//! The command lines of the control plane.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::pki::Pki;

/// The loopback ports of one control plane. Kept over restarts, so that a kubeconfig stays valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ports {
    /// etcd's clients.
    pub(crate) etcd: u16,
    /// etcd's peers; there are none, but it insists on listening.
    pub(crate) etcd_peer: u16,
    /// The API server.
    pub(crate) api_server: u16,
}

/// Records every request with who, what and when, and no body: a Secret must not end in a log. A Lease holds nothing but
/// who leads, which is what its history is read for.
pub(crate) const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  resources:
  - group: coordination.k8s.io
    resources: [leases]
- level: Metadata
";

/// Turns `["--a", "b"]`-like pieces into arguments.
fn flag(name: &str, value: impl AsRef<std::ffi::OsStr>) -> OsString {
    let mut flag = OsString::from(format!("--{name}="));
    flag.push(value);
    flag
}

/// etcd without fsync: a crash of the machine may lose this data, which is worth nothing by then.
pub(crate) fn etcd(dir: &Path, pki: &Pki, ports: Ports) -> Vec<OsString> {
    let clients = format!("https://{}:{}", Ipv4Addr::LOCALHOST, ports.etcd);
    let peers = format!("http://{}:{}", Ipv4Addr::LOCALHOST, ports.etcd_peer);
    vec![
        flag("name", "default"),
        flag("data-dir", dir.join("etcd")),
        flag("listen-client-urls", &clients),
        flag("advertise-client-urls", &clients),
        flag("listen-peer-urls", &peers),
        flag("initial-advertise-peer-urls", &peers),
        flag("initial-cluster", format!("default={peers}")),
        flag("cert-file", pki.certificate("etcd")),
        flag("key-file", pki.key("etcd")),
        flag("trusted-ca-file", pki.authority()),
        flag("client-cert-auth", "true"),
        flag("auto-compaction-retention", "10m"),
        flag("quota-backend-bytes", "4294967296"),
        flag("log-level", "warn"),
        OsString::from("--unsafe-no-fsync"),
    ]
}

/// kube-apiserver with RBAC, its certificates and, on request, an audit log.
pub(crate) fn api_server(
    dir: &Path,
    pki: &Pki,
    ports: Ports,
    audit_log: Option<&Path>,
) -> Vec<OsString> {
    let mut flags = vec![
        flag(
            "etcd-servers",
            format!("https://{}:{}", Ipv4Addr::LOCALHOST, ports.etcd),
        ),
        flag("etcd-cafile", pki.authority()),
        flag("etcd-certfile", pki.certificate("etcd-client")),
        flag("etcd-keyfile", pki.key("etcd-client")),
        flag("bind-address", Ipv4Addr::LOCALHOST.to_string()),
        flag("advertise-address", Ipv4Addr::LOCALHOST.to_string()),
        // Nobody looks the API server up through an Endpoints object here, and a loopback address is refused in one.
        flag("endpoint-reconciler-type", "none"),
        flag("secure-port", ports.api_server.to_string()),
        flag("cert-dir", dir.join("apiserver")),
        flag("tls-cert-file", pki.certificate("apiserver")),
        flag("tls-private-key-file", pki.key("apiserver")),
        flag("client-ca-file", pki.authority()),
        flag("authorization-mode", "RBAC"),
        flag("service-cluster-ip-range", "10.96.0.0/12"),
        flag(
            "service-account-issuer",
            "https://kubernetes.default.svc.cluster.local",
        ),
        flag("service-account-key-file", pki.tokens_public_key()),
        flag("service-account-signing-key-file", pki.tokens_key()),
        flag("profiling", "false"),
    ];
    if let Some(audit_log) = audit_log {
        flags.push(flag("audit-policy-file", dir.join("audit-policy.yaml")));
        flags.push(flag("audit-log-path", audit_log));
        flags.push(flag("audit-log-maxsize", "1024"));
    }
    flags
}

/// What must run for owned objects to be collected, namespaces to go, and ServiceAccounts to work.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,serviceaccount-controller,\
serviceaccount-token-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller,\
resourcequota-controller";

/// kube-controller-manager with the controllers that make sense without nodes; it listens nowhere.
pub(crate) fn controller_manager(pki: &Pki, kubeconfig: &Path) -> Vec<OsString> {
    vec![
        flag("kubeconfig", kubeconfig),
        flag("controllers", CONTROLLERS),
        // A quota on a kind that was defined after it counts from the next round on; the default of five minutes suits
        // clusters with thousands of quotas.
        flag("resource-quota-sync-period", "15s"),
        flag("use-service-account-credentials", "true"),
        flag("service-account-private-key-file", pki.tokens_key()),
        flag("root-ca-file", pki.authority()),
        flag("leader-elect", "false"),
        flag("secure-port", "0"),
        flag("profiling", "false"),
    ]
}

/// Where the kubeconfig of kube-controller-manager is.
pub(crate) fn controller_manager_kubeconfig(dir: &Path) -> PathBuf {
    dir.join("controller-manager.kubeconfig")
}
