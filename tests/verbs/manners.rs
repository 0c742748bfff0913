//! What holds for every command that there is: closed pipes, dumb and narrow terminals, odd locales.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::json;

use crate::scene::{Scene, run, running};

/// A call of a command that ends by itself.
pub(crate) struct Call {
    /// The command, as the page of commands has it.
    command: &'static str,
    pub(crate) words: Vec<String>,
    /// How it exits; any documented code where none is given.
    pub(crate) code: Option<i32>,
    /// Whether it works on the scene's cluster.
    placed: bool,
}

fn call(command: &'static str, words: &str, code: i32, placed: bool) -> Call {
    Call {
        command,
        words: words.split_whitespace().map(str::to_owned).collect(),
        code: Some(code),
        placed,
    }
}

/// A call for every command of the page that is made from the command line itself: a command without one fails the
/// test, so that a new one cannot be forgotten.
fn calls(file: &str) -> Vec<Call> {
    let on_scene = |command, words: &str, code| call(command, words, code, true);
    let alone = |command, words: &str, code| call(command, words, code, false);
    let mut calls = vec![
        alone("vmctl", "--help", 0),
        alone(
            "vmctl up",
            "up --env manners-up --assets /no/such/folder",
            6,
        ),
        alone(
            "vmctl up",
            "up --env manners-up --dry-run --assets /no/such/folder",
            6,
        ),
        alone("vmctl down", "down --env nowhere", 0),
        alone("vmctl status", "status --env nowhere", 4),
        alone("vmctl env", "env --help", 0),
        alone("vmctl env list", "env list", 0),
        alone("vmctl env export", "env export --env nowhere", 4),
        alone("vmctl doctor", "doctor --pre --assets /no/such/folder", 6),
        alone("vmctl diag", "diag --env nowhere", 4),
        alone("vmctl install", "install", 2),
        alone("vmctl uninstall", "uninstall", 2),
        on_scene(
            "vmctl create",
            "create vm a --image=ubuntu-22.04 --cpu=2 --memory=4Gi --if-absent",
            0,
        ),
        on_scene("vmctl logs", "logs vm a", 0),
        on_scene("vmctl get", "get vm -o wide", 0),
        on_scene("vmctl get", "get vm -o json", 0),
        on_scene("vmctl get", "get vm nope", 4),
        on_scene("vmctl describe", "describe vm a", 0),
        on_scene("vmctl edit", "edit vm a", 0),
        on_scene("vmctl delete", "delete vm nope", 4),
        on_scene(
            "vmctl wait",
            "wait vm a --for=condition=Ready --timeout=10s",
            0,
        ),
        on_scene("vmctl events", "events", 0),
        on_scene("vmctl top", "top vm --sum", 0),
        alone("vmctl explain", "explain vm --recursive", 0),
        alone("vmctl kubectl", "kubectl --env nowhere get pods", 4),
        alone("vmctl mock", "mock --listen nonsense", 2),
        alone("vmctl completion", "completion bash", 0),
        alone("vmctl man", "man", 0),
        alone("vmctl version", "version", 0),
    ];
    calls.push(on_scene("vmctl apply", &format!("apply -f {file}"), 0));
    // Commands that other parts bring; they have tests of their own for what they do.
    for (command, words) in [
        ("vmctl logs", "logs --env nowhere"),
        ("vmctl run", "run --env nowhere"),
        ("vmctl dash", "dash --env nowhere --once"),
    ] {
        calls.push(Call {
            code: None,
            ..call(command, words, 0, false)
        });
    }
    calls
}

/// The commands of the page in the docs, which a test holds to the command line.
fn commands() -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/commands.md");
    let page = fs::read_to_string(page).unwrap();
    page.lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(str::to_owned)
        .collect()
}

/// A scene with a VM, and the calls for all commands that there are.
pub(crate) fn furnished() -> (Scene<'static>, Vec<Call>) {
    let scene = Scene::new();
    scene.machine("a", &[]);
    scene.status("a", &running(1));
    let event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e", "namespace": scene.namespace },
        "involvedObject": { "kind": "VirtualMachine", "name": "a", "namespace": scene.namespace },
        "type": "Normal", "reason": "Told", "message": "odd \u{1b}[2J text\r\u{9b}", "lastTimestamp": "2026-01-01T00:00:00Z" });
    scene.plane.apply(&event.to_string());
    let file = scene.plane.dir().join(format!("{}.json", scene.namespace));
    fs::write(&file, scene.manifest("a", &[]).to_string()).unwrap();
    // One who applied it before owns its fields.
    run(&mut scene.command(&["apply", "--force-conflicts", "-f", file.to_str().unwrap()]))
        .is_plain();
    let there = commands();
    let calls = calls(file.to_str().unwrap());
    let covered: BTreeSet<String> = calls.iter().map(|call| call.command.to_owned()).collect();
    let forgotten: Vec<_> = there.difference(&covered).collect();
    assert!(
        forgotten.is_empty(),
        "commands without a call in this file: {forgotten:?}"
    );
    let calls = calls
        .into_iter()
        .filter(|call| there.contains(call.command))
        .collect();
    (scene, calls)
}

pub(crate) fn command(scene: &Scene<'_>, call: &Call) -> Command {
    let words: Vec<&str> = call.words.iter().map(String::as_str).collect();
    let mut command = if call.placed {
        scene.command(&words)
    } else {
        scene.bare(&words)
    };
    command.env("EDITOR", "true").env_remove("VISUAL");
    command
}

/// The codes of the page of errors.
pub(crate) const CODES: [i32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

#[test]
fn a_reader_that_has_gone_is_no_panic_and_no_message_for_any_command() {
    let (scene, calls) = furnished();
    let watches = ["get vm -w", "events -w"].map(|words| call("", words, 141, true));
    for call in calls.iter().chain(&watches) {
        let mut process = command(&scene, call).spawn().unwrap();
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        let usual = call.code.is_none_or(|usual| code == Some(usual))
            && code.is_some_and(|code| CODES.contains(&code));
        assert!(
            usual || matches!(code, Some(0 | 141)),
            "{:?}: {} {words}",
            call.words,
            output.status
        );
        assert!(!words.contains("panicked"), "{:?}: {words}", call.words);
        if call.code == Some(0) {
            assert!(!words.contains("error"), "{:?}: {words}", call.words);
        }
    }
}

#[test]
fn no_terminal_and_no_locale_changes_how_a_command_ends_or_puts_control_bytes_into_a_pipe() {
    let (scene, calls) = furnished();
    for call in &calls {
        for variables in [
            &[][..],
            &[("TERM", "dumb"), ("NO_COLOR", "1")],
            &[("TERM", ""), ("COLUMNS", "20")],
            &[("LC_ALL", "ja_JP.eucJP"), ("LANG", "C")],
        ] {
            let mut command = command(&scene, call);
            let answer = run(command.envs(variables.iter().copied()));
            match call.code {
                Some(code) => assert_eq!(
                    answer.code,
                    Some(code),
                    "{:?} {variables:?}: {answer:?}",
                    call.words
                ),
                None => assert!(
                    answer.code.is_some_and(|code| CODES.contains(&code)),
                    "{:?}: {answer:?}",
                    call.words
                ),
            }
            answer.is_plain();
        }
    }
}

#[test]
fn a_failure_is_red_only_where_that_is_wanted() {
    let scene = Scene::new();
    let color = |flag: &str, variable: (&str, &str)| {
        let mut command = scene.bare(&["status", "--env", "nowhere", flag]);
        run(command.env(variable.0, variable.1))
            .stderr
            .contains('\u{1b}')
    };
    assert!(
        color("--color=always", ("NO_COLOR", "1")),
        "the flag is stronger than the variable"
    );
    assert!(!color("--color=never", ("CLICOLOR_FORCE", "1")));
    assert!(color("--color=auto", ("CLICOLOR_FORCE", "1")));
    assert!(!color("--color=auto", ("NO_COLOR", "1")));
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
