//! What `up` says at its end.

use serde_json::{Value, json};

use super::Environment;
use super::report::{Report, Taken};
use crate::hint::{Exit, Failure};

/// What differs between the runtimes.
pub(crate) struct Facts {
    runtime: &'static str,
    /// What the runtime is, and what does not work in it.
    lines: Vec<&'static str>,
    kubernetes: String,
    /// Where things are, in the words of the JSON form.
    places: Vec<(&'static str, Value)>,
    server: Option<String>,
}

/// An embedded environment.
///
/// # Errors
/// It ended meanwhile.
pub(crate) fn embedded(environment: &Environment) -> Result<Facts, Failure> {
    let (Some(state), Some(plan)) = (environment.running()?, environment.plan()?) else {
        return Err(ended());
    };
    let mut lines = vec!["embedded: there are no nodes, so pods do not run"];
    let manager = plan.binaries.controller_manager.is_some();
    if !manager {
        lines.push("no kube-controller-manager: owned objects are not collected,");
        lines.push("namespaces do not finish deleting");
    }
    Ok(Facts {
        runtime: "embedded",
        lines,
        kubernetes: state.kubernetes,
        places: vec![
            ("mockProvider", json!(state.mock)),
            ("operator", json!(state.operator)),
            ("controllerManager", json!(manager)),
        ],
        server: state.server,
    })
}

/// An environment in kind.
///
/// # Errors
/// It was removed meanwhile.
pub(crate) fn kind(environment: &Environment) -> Result<Facts, Failure> {
    let record = environment.kind()?.ok_or_else(ended)?;
    let server = kube::config::Kubeconfig::read_from(environment.kubeconfig())
        .ok()
        .and_then(|file| file.clusters.into_iter().next()?.cluster?.server);
    Ok(Facts {
        runtime: "kind",
        lines: vec!["kind: operator and mock provider are pods in vmoperator-system"],
        kubernetes: record.kubernetes.unwrap_or_default(),
        places: vec![
            ("cluster", record.cluster.into()),
            ("engine", record.engine.into()),
        ],
        server,
    })
}

fn ended() -> Failure {
    let cause = "the environment ended meanwhile";
    Failure::new(Exit::Environment, "VMC-NOT-RUNNING", cause)
}

fn is_unchanged(report: &Report) -> bool {
    !report.taken().iter().any(|taken| taken.changed)
}

/// For programs.
pub(crate) fn json(
    environment: &Environment,
    report: &Report,
    facts: &Facts,
    drift: &[String],
) -> Value {
    let mut summary = json!({
        "version": 1, "type": "summary", "environment": environment.name().as_str(),
        "runtime": facts.runtime, "kubernetes": facts.kubernetes, "server": facts.server,
        "kubeconfig": environment.kubeconfig(), "unchanged": is_unchanged(report), "drift": drift,
        "seconds": report.elapsed().as_secs_f64(), "vmctl": env!("CARGO_PKG_VERSION"),
    });
    if let Some(fields) = summary.as_object_mut() {
        let places = facts.places.iter().cloned();
        fields.extend(places.map(|(name, value)| (name.to_owned(), value)));
    }
    summary
}

/// For people.
pub(crate) fn text(environment: &Environment, report: &Report, facts: &Facts) -> String {
    let name = environment.name();
    let mut slowest = report.taken().to_vec();
    slowest.sort_by_key(|taken| std::cmp::Reverse(taken.time));
    let told = |taken: &Taken| format!("{} {:.1} s", taken.step, taken.time.as_secs_f64());
    let slowest: Vec<String> = slowest.iter().take(3).map(told).collect();
    let verdict = if is_unchanged(report) {
        "is up, unchanged"
    } else {
        "is up"
    };
    let (seconds, slowest) = (report.elapsed().as_secs_f64(), slowest.join(", "));
    let mut lines = vec![format!(
        "environment {name} {verdict} ({seconds:.1} s; slowest: {slowest})"
    )];
    let labels = std::iter::once("runtime").chain(std::iter::repeat(""));
    let runtime = labels.zip(&facts.lines);
    lines.extend(runtime.map(|(label, line)| format!("  {label:<11} {line}")));
    lines.push(format!(
        "  versions    Kubernetes {}, vmctl {}",
        facts.kubernetes,
        env!("CARGO_PKG_VERSION")
    ));
    let server = facts.server.as_deref().unwrap_or_default();
    lines.push(format!("  API server  {server}"));
    lines.push(format!(
        "  kubeconfig  {}",
        environment.kubeconfig().display()
    ));
    lines.push("next:".to_owned());
    let vm = "web-1 --image ubuntu-22.04 --cpu 2 --memory 4Gi";
    lines.push(format!("  vmctl create vm {vm} --env {name}"));
    lines.push(format!("  vmctl get vm --env {name} -o wide"));
    lines.push(format!("  vmctl down --env {name}"));
    lines.join("\n")
}
