//! The workflow: foreign actions by commit, and no right that a job does not name.

use std::path::Path;

use serde_json::Value;

fn workflow() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows/ci.yml");
    let text = std::fs::read_to_string(path).expect("the workflow can be read");
    serde_saphyr::from_str(&text).expect("YAML")
}

fn jobs(workflow: &Value) -> Vec<(&String, &Value)> {
    let jobs = workflow["jobs"].as_object().expect("jobs");
    jobs.iter().collect()
}

fn steps(job: &Value) -> &[Value] {
    job["steps"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn every_action_is_pinned_by_commit() {
    let workflow = workflow();
    let mut pinned = 0;
    for (name, job) in jobs(&workflow) {
        for action in steps(job).iter().filter_map(|step| step["uses"].as_str()) {
            let commit = action.split_once('@').map_or("", |(_, commit)| commit);
            let is_commit = commit.len() == 40 && commit.bytes().all(|one| one.is_ascii_hexdigit());
            assert!(is_commit, "{name}: {action}");
            pinned += 1;
        }
    }
    assert!(pinned >= 6, "only {pinned} actions found");
}

#[test]
fn rights_are_named_job_by_job_and_only_the_job_of_images_writes() {
    let workflow = workflow();
    assert_eq!(workflow["permissions"], serde_json::json!({}));
    for (name, job) in jobs(&workflow) {
        let rights = job["permissions"].as_object().expect(name);
        for (of, right) in rights {
            let writes = name == "image" && of == "packages";
            assert_eq!(right, if writes { "write" } else { "read" }, "{name}: {of}");
        }
        assert!(
            job["timeout-minutes"].is_number(),
            "{name} may run for ever"
        );
        for step in steps(job) {
            let checks_out = step["uses"]
                .as_str()
                .is_some_and(|action| action.starts_with("actions/checkout@"));
            if checks_out {
                assert_eq!(step["with"]["persist-credentials"], false, "{name}");
            }
            // What people write into a title or a branch's name is no part of a script.
            let script = step["run"].as_str().unwrap_or_default();
            for hostile in ["github.event", "github.head_ref"] {
                assert!(!script.contains(hostile), "{name}: {script}");
            }
        }
    }
}

#[test]
fn the_gate_both_runtimes_the_manifests_and_the_images_are_run() {
    let workflow = workflow();
    let text = workflow["jobs"].to_string();
    for words in [
        "scripts/check.sh",
        "scripts/lint-manifests.sh",
        "scripts/e2e.sh ${{ matrix.runtime }}",
        "scripts/image.sh",
        "scripts/dockerfile.sh",
        "kubectl apply -f config/crd/",
        "kubectl apply -f config/rbac/",
        "kubectl apply -f config/manager/",
        "dist/install.yaml",
        "docker/build-push-action@",
    ] {
        assert!(text.contains(words), "{words}");
    }
    let runtimes = &workflow["jobs"]["e2e"]["strategy"]["matrix"]["runtime"];
    assert_eq!(*runtimes, serde_json::json!(["embedded", "kind"]));
    // Images are pushed by tags alone.
    let push = steps(&workflow["jobs"]["image"])
        .iter()
        .find_map(|step| step["with"]["push"].as_str());
    assert_eq!(push, Some("${{ startsWith(github.ref, 'refs/tags/v') }}"));
}
