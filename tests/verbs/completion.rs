//! Completion in a real shell, with live names, and silent where there is no cluster.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::scene::{Scene, run};

/// What bash offers for a line whose last word is being typed.
fn offered(scene: &Scene<'_>, words: &[&str]) -> (Vec<String>, String) {
    let vmctl = Path::new(env!("CARGO_BIN_EXE_vmctl"));
    let script = scene.plane.dir().join("completion.bash");
    fs::write(
        &script,
        run(&mut scene.bare(&["completion", "bash"])).stdout,
    )
    .unwrap();
    let line: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let program = format!(
        "source {}; COMP_WORDS=({}); COMP_CWORD={last}; COMP_TYPE=9; _clap_complete_vmctl vmctl '{}' ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        line.join(" "),
        words[last]
    );
    let mut bash = Command::new("bash");
    let path = format!(
        "{}:{}",
        vmctl.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    bash.arg("-c")
        .arg(program)
        .env("PATH", path)
        .env("XDG_STATE_HOME", scene.home())
        .env_remove("VMCTL_ENV");
    let output = bash.output().unwrap();
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = words.split_whitespace().map(str::to_owned).collect();
    (words, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn verbs_options_kinds_and_live_names_are_offered() {
    let scene = Scene::new();
    for name in ["web-1", "web-2", "other"] {
        scene.machine(name, &[]);
    }
    let file = scene.plane.kubeconfig.to_str().unwrap();
    assert_eq!(offered(&scene, &["vmctl", "desc"]).0, ["describe"]);
    assert_eq!(offered(&scene, &["vmctl", "get", "p"]).0, ["pcfg"]);
    assert_eq!(
        offered(&scene, &["vmctl", "create", "--if-a"]).0,
        ["--if-absent"]
    );
    let place = ["--kubeconfig", file, "-n", &scene.namespace];
    let line = |words: &[&'static str]| -> Vec<String> {
        ["vmctl", "get"]
            .iter()
            .chain(&place)
            .chain(words)
            .map(|word| (*word).to_owned())
            .collect()
    };
    // A machine that is busy may answer too late for one try.
    let mut names = Vec::new();
    for _try in 0..20 {
        let words = line(&["vm", "web-1", "web"]);
        names = offered(
            &scene,
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
        )
        .0;
        if !names.is_empty() {
            break;
        }
    }
    assert_eq!(
        names,
        ["web-2"],
        "what is named already is not offered again"
    );
}

#[test]
fn a_dead_api_server_is_silence_and_no_shell_waits_for_it() {
    let scene = Scene::new();
    let dead = scene.plane.dir().join("dead-completion-kubeconfig");
    let text = fs::read_to_string(&scene.plane.kubeconfig).unwrap();
    fs::write(
        &dead,
        text.replace(&scene.plane.server, "https://127.0.0.1:1"),
    )
    .unwrap();
    let dead = dead.to_str().unwrap();
    for place in [
        &["--kubeconfig", dead][..],
        &["--kubeconfig", "/no/such/file"],
        &["--env", "nowhere"],
        &[],
    ] {
        let line = [&["vmctl", "get"], place, &["vm", ""]].concat();
        let (words, errors) = offered(&scene, &line);
        let names: Vec<_> = words
            .iter()
            .filter(|word| !word.starts_with("--"))
            .collect();
        assert!(
            names.is_empty() && errors.is_empty(),
            "{line:?}: {names:?} {errors}"
        );
    }
}

#[test]
fn every_shell_gets_a_script_and_every_command_a_page() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&mut scene.bare(&["completion", shell]));
        assert_eq!(script.code, Some(0), "{script:?}");
        assert!(
            script.stdout.contains("VMCTL_COMPLETE"),
            "{shell}: {}",
            script.stdout
        );
    }
    assert_eq!(run(&mut scene.bare(&["completion", "csh"])).code, Some(2));
    let pages = scene.plane.dir().join("man");
    let written = run(&mut scene.bare(&["man", "--dir", pages.to_str().unwrap()]));
    assert_eq!(written.code, Some(0), "{written:?}");
    for page in ["vmctl.1", "vmctl-create.1", "vmctl-env-list.1"] {
        assert!(
            fs::read_to_string(pages.join(page))
                .unwrap()
                .contains(".TH"),
            "{page}"
        );
    }
    run(&mut scene.bare(&["man", "fly"])).failed(2, "VMC-USAGE", &["no command \"fly\""]);
}
