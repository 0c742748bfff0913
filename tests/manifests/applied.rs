//! `config/` at a real API server, as the README says.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::e2e::house::{House, OPERATOR, manifest};
use crate::files::config;
use crate::rendered::INSTALLS;
use crate::support::{Answer, until};

fn apply(flag: &str, folder: &str, options: &[&str]) -> Answer {
    let folder = config().join(folder);
    let folder = folder.to_string_lossy();
    let args = [&["apply", flag, &folder], options].concat();
    House::shared().plane.try_kubectl(&args, "")
}

/// All in one test: each step is about what the one before left.
#[test]
fn the_three_commands_work_as_they_stand_and_so_does_apply_k() {
    // Two of the three are how the house was furnished; here they find everything in place.
    let house = House::shared();
    for folder in ["crd", "rbac", "manager"] {
        let answer = apply("-f", folder, &[]);
        assert!(answer.success, "{folder}: {}", answer.stderr);
        assert_eq!(answer.stderr, "", "{folder}: the API server warns");
        if folder != "manager" {
            let lines = answer.stdout.lines();
            let changed: Vec<&str> = lines.filter(|line| !line.ends_with("unchanged")).collect();
            assert_eq!(changed, Vec::<&str>::new(), "{folder}");
        }
    }
    // The same objects, by another way.
    let answer = apply("-k", "default", &[]);
    assert!(answer.success, "{}", answer.stderr);
    let lines = answer.stdout.lines();
    let changed: Vec<&str> = lines.filter(|line| !line.ends_with("unchanged")).collect();
    assert_eq!(changed, Vec::<&str>::new());
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/install.yaml");
    let answer = house
        .plane
        .kubectl(&["apply", "-f", &dist.to_string_lossy()]);
    assert!(
        answer.lines().all(|line| line.ends_with("unchanged")),
        "{answer}"
    );

    // No controller makes its pod here; the namespace, which lets restricted ones in alone, is asked for one like it.
    let deployment = "deployment/vmoperator-controller-manager";
    let text = house
        .plane
        .kubectl(&["-n", "vmoperator-system", "get", deployment, "-o=json"]);
    let deployment: Value = serde_json::from_str(&text).expect("a Deployment is JSON");
    let mut pod = deployment["spec"]["template"].clone();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!("as-the-deployment-makes-it");
    let create = [
        "-n",
        "vmoperator-system",
        "create",
        "--dry-run=server",
        "-f",
        "-",
    ];
    let answer = house.plane.try_kubectl(&create, &pod.to_string());
    assert!(answer.success && answer.stderr.is_empty(), "{answer:?}");
    let rude = ["-n", "vmoperator-system", "run", "rude", "--image=none"];
    let answer = house.plane.try_kubectl(&rude, "");
    assert!(
        !answer.success && answer.stderr.contains("violates PodSecurity"),
        "{answer:?}"
    );
}

#[test]
fn the_api_server_takes_every_install_without_a_warning() {
    let house = House::shared();
    for folder in INSTALLS {
        let answer = apply("-k", folder, &["--dry-run=server"]);
        assert!(answer.success, "{folder}: {}", answer.stderr);
        assert_eq!(answer.stderr, "", "{folder}");
    }
    let namespace = house.namespace();
    let samples = apply("-k", "samples", &["-n", &namespace]);
    assert!(samples.success, "{}", samples.stderr);
}

#[test]
fn the_quota_counts_virtual_machines_and_refuses_one_too_many() {
    let house = House::shared();
    let namespace = house.namespace();
    let quota = apply("-k", "quota", &["-n", &namespace]);
    assert!(quota.success, "{}", quota.stderr);
    let kubectl = |args: &[&str]| {
        house
            .plane
            .try_kubectl(&[&["-n", &namespace], args].concat(), "")
    };
    // The cluster counts a kind only some time after the kind is defined.
    let path = "-o=jsonpath={.status.used.count/virtualmachines\\.compute\\.example\\.com}";
    until("VirtualMachines are counted", || {
        kubectl(&["get", "quota", "virtual-machines", path]).stdout == "0"
    });
    let one = r#"{"spec":{"hard":{"count/virtualmachines.compute.example.com":"1"}}}"#;
    let patch = [
        "patch",
        "quota",
        "virtual-machines",
        "--type=merge",
        "-p",
        one,
    ];
    assert!(kubectl(&patch).success);
    let limit = "-o=jsonpath={.status.hard.count/virtualmachines\\.compute\\.example\\.com}";
    until("the lower limit holds", || {
        kubectl(&["get", "quota", "virtual-machines", limit]).stdout == "1"
    });
    house.create(&namespace, "first");
    let second = manifest(&namespace, "second").to_string();
    let answer = house.plane.try_kubectl(&["apply", "-f", "-"], &second);
    assert!(
        !answer.success && answer.stderr.contains("exceeded quota"),
        "{answer:?}"
    );
}

/// `UPDATE_RIGHTS=1 cargo test --test manifests golden` writes the file anew: read the difference well.
#[test]
fn what_the_operator_may_do_equals_the_golden_list() {
    let house = House::shared();
    let mut found = String::new();
    for namespace in ["default", "vmoperator-system"] {
        let user = format!("--as={OPERATOR}");
        let list = ["auth", "can-i", "--list", &user, "-n", namespace];
        let list = house.plane.kubectl(&list);
        let mut lines: Vec<String> = list
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|line| !is_everybodys(line))
            .collect();
        lines.sort();
        let _ = writeln!(found, "# in {namespace}\n{}", lines.join("\n"));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests/rights.txt");
    if std::env::var_os("UPDATE_RIGHTS").is_some() {
        std::fs::write(&path, &found).expect("the file can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("tests/manifests/rights.txt");
    assert_eq!(found, golden);
}

/// What every authenticated user may do: it differs between versions of Kubernetes, and is no right of ours.
fn is_everybodys(line: &str) -> bool {
    line.starts_with("selfsubject") || line.starts_with("[/")
}
