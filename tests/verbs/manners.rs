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
