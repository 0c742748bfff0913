//! What holds for every verb: closed pipes, dumb and narrow terminals, help.

use crate::scene::{Scene, run, running};

#[test]
fn a_reader_that_has_gone_is_no_panic_and_no_message() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    scene.status("a", &running(1));
    let create = scene.create("a", &["--if-absent"]);
    let dry_run = scene.create("b", &["--dry-run=client", "-o=yaml"]);
    for verb in [
        &["get", "vm"][..],
        &["get", "vm", "-o", "json"],
        &["get", "vm", "-w"],
        &["wait", "vm", "a", "--for=condition=Ready"],
        &create,
        &dry_run,
        &["delete", "vm", "a"],
    ] {
        let mut process = if verb == dry_run {
            scene.bare(verb)
        } else {
            scene.command(verb)
        }
        .spawn()
        .unwrap();
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            matches!(output.status.code(), Some(0 | 141)),
            "{verb:?}: {} {words}",
            output.status
        );
        assert!(
            !words.contains("panicked") && !words.contains("error"),
            "{verb:?}: {words}"
        );
    }
}

#[test]
fn neither_a_dumb_nor_a_narrow_nor_a_colourless_terminal_changes_what_a_pipe_gets() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    scene.status("a", &running(1));
    let create = scene.create("a", &["--if-absent"]);
    for verb in [
        &["get", "vm", "-o", "name"][..],
        &["get", "vm", "nope"],
        &["wait", "vm", "a", "--for=condition=Ready", "--timeout=10s"],
        &["delete", "vm", "nope"],
        &create,
    ] {
        let usual = scene.vmctl(verb);
        usual.is_plain();
        for (variable, value) in [
            ("TERM", "dumb"),
            ("TERM", ""),
            ("NO_COLOR", "1"),
            ("COLUMNS", "20"),
        ] {
            let answer = run(scene.command(verb).env(variable, value));
            assert_eq!(
                (answer.code, &answer.stdout),
                (usual.code, &usual.stdout),
                "{variable}={value} {verb:?}"
            );
            answer.is_plain();
        }
    }
}

#[test]
fn help_begins_with_examples_that_are_understood() {
    let scene = Scene::new();
    for verb in ["create", "get", "delete", "wait"] {
        let help = run(&mut scene.bare(&[verb, "--help"]));
        assert_eq!(help.code, Some(0), "{help:?}");
        assert!(help.stdout.starts_with("Examples:\n"), "{}", help.stdout);
        let examples = help
            .stdout
            .lines()
            .skip(1)
            .take_while(|line| line.starts_with("  vmctl "));
        let mut count = 0;
        for example in examples {
            let words = example.split('>').next().unwrap();
            let words: Vec<&str> = words.split_whitespace().skip(1).collect();
            // An environment that does not exist: the command line was understood when that is what is wrong.
            let answer = run(&mut scene.bare(&[&words[..], &["--env", "nowhere"]].concat()));
            let understood = answer.stderr.contains("VMC-NO-ENVIRONMENT") || answer.code == Some(0);
            assert!(understood, "{example}: {answer:?}");
            count += 1;
        }
        assert!(count >= 3, "{}", help.stdout);
    }
    let help = run(&mut scene.bare(&["--help"]));
    for later in [
        "describe", "resize", "snapshot", "dash", "--count", "--orphan",
    ] {
        assert!(!help.stdout.contains(later), "{later} is not built");
    }
}

#[test]
fn the_environment_is_chosen_by_flag_then_variable_and_another_cluster_by_its_own_flags() {
    let scene = Scene::new();
    let get = |args: &[&str], variable: &str| {
        run(scene
            .bare(&[&["get", "vm"], args].concat())
            .env("VMCTL_ENV", variable))
    };
    get(&[], "").failed(
        4,
        "VMC-NO-ENVIRONMENT",
        &["environment dev", "vmctl up --env dev"],
    );
    get(&[], "other").failed(4, "VMC-NO-ENVIRONMENT", &["environment other"]);
    get(&["--env", "mine"], "other").failed(4, "VMC-NO-ENVIRONMENT", &["environment mine"]);
    get(&[], "Not A Name").failed(2, "VMC-NAME", &["VMCTL_ENV=Not A Name"]);
    get(&["-n", "No/Name"], "other").failed(2, "VMC-NAME", &["-n"]);
    let file = scene.plane.kubeconfig.to_str().unwrap();
    let place = ["--kubeconfig", file, "-n", &scene.namespace];
    assert_eq!(
        get(&place, "other").code,
        Some(0),
        "reading needs no context and no confirmation"
    );
    assert_eq!(
        get(&["--env", "mine", "--kubeconfig", file], "").code,
        Some(2)
    );
    get(&["--kubeconfig", "/no/such/file"], "").failed(6, "VMC-KUBECONFIG", &["/no/such/file"]);
    get(&["--kubeconfig", file, "--context", "nope"], "").failed(6, "VMC-KUBECONFIG", &["nope"]);
}
