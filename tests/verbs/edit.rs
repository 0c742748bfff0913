//! `vmctl edit`: what is refused comes back with the reason, and nothing that was typed is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::scene::{Answer, Scene, VM, run};

/// Runs `vmctl edit` with a shell script as the editor; the file is `$1`.
fn edit(scene: &Scene<'_>, dir: &tempfile::TempDir, name: &str, script: &str) -> Answer {
    let editor = dir.path().join("editor");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = scene.command(&["edit", "vm", name]);
    command
        .env("EDITOR", &editor)
        .env_remove("VISUAL")
        .env("TMPDIR", dir.path());
    run(&mut command)
}

fn sheets(dir: &tempfile::TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    entries
        .filter(|path| path.to_string_lossy().contains("vmctl-edit"))
        .collect()
}

fn cpu(scene: &Scene<'_>, name: &str) -> String {
    scene.kubectl(&["get", "vm", name, "-o=jsonpath={.spec.cpu}"])
}

#[test]
fn a_change_is_sent_and_none_changes_nothing() {
    let (scene, dir) = (Scene::new(), tempfile::tempdir().unwrap());
    scene.machine("a", &[]);
    edit(&scene, &dir, "a", "sed -i 's/cpu: 2/cpu: 4/' \"$1\"")
        .succeeded(&format!("{VM}/a edited\n"));
    assert_eq!(cpu(&scene, "a"), "4");
    for script in ["true", "sed -i '/./d' \"$1\""] {
        let answer = edit(&scene, &dir, "a", script);
        answer.succeeded("");
        assert!(
            answer
                .stderr
                .contains("edit cancelled, nothing was changed"),
            "{answer:?}"
        );
    }
    assert_eq!(
        (cpu(&scene, "a").as_str(), sheets(&dir)),
        ("4", vec![]),
        "no file stays"
    );
}

#[test]
fn what_is_refused_is_shown_in_the_file_and_can_be_put_right() {
    let (scene, dir) = (Scene::new(), tempfile::tempdir().unwrap());
    scene.machine("a", &[]);
    let seen = dir.path().join("seen");
    let script = format!(
        "if grep -q 'It was refused' \"$1\"; then cp \"$1\" {0}; sed -i 's/cpu: 9999/cpu: 3/; s/a: \\[//' \"$1\"; \
         elif [ -e {0}.yaml ]; then sed -i 's/cpu: 2/cpu: 9999/' \"$1\"; else echo 'a: [' >> \"$1\"; fi",
        seen.display()
    );
    edit(&scene, &dir, "a", &script).succeeded("");
    assert!(
        fs::read_to_string(&seen)
            .unwrap()
            .contains("# this is no YAML")
    );
    fs::write(seen.with_extension("yaml"), "").unwrap();
    let answer = edit(&scene, &dir, "a", &script);
    answer.succeeded(&format!("{VM}/a edited\n"));
    let text = fs::read_to_string(&seen).unwrap();
    assert!(
        text.contains("cpu: 9999")
            && text.contains("# cannot change VirtualMachine a")
            && text.contains("spec.cpu"),
        "{text}"
    );
    assert_eq!(cpu(&scene, "a"), "3");
}

#[test]
fn what_cannot_be_sent_is_kept_in_a_file() {
    let (scene, dir) = (Scene::new(), tempfile::tempdir().unwrap());
    scene.machine("a", &[]);
    let given_up = edit(&scene, &dir, "a", "sed -i 's/cpu: 2/cpu: 9999/' \"$1\"");
    given_up.failed(
        1,
        "VMC-EDIT",
        &["refused and given up", "what was typed is in"],
    );
    let [kept] = sheets(&dir).try_into().unwrap();
    assert!(fs::read_to_string(&kept).unwrap().contains("cpu: 9999"));
    assert_eq!(
        fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::remove_file(kept).unwrap();

    let kubectl = format!(
        "{} --kubeconfig {} -n {}",
        scene.plane.kubectl.display(),
        scene.plane.kubeconfig.display(),
        scene.namespace
    );
    let gone = edit(
        &scene,
        &dir,
        "a",
        &format!("sed -i 's/cpu: 2/cpu: 4/' \"$1\"; {kubectl} delete vm a >/dev/null"),
    );
    gone.failed(4, "VMC-NOT-FOUND", &["what was typed is kept in"]);
    assert_eq!(sheets(&dir).len(), 1);

    scene.machine("b", &[]);
    edit(&scene, &dir, "b", "exit 3").failed(1, "VMC-EDITOR", &["exit status: 3"]);
    scene
        .vmctl(&["edit", "vm", "nope"])
        .failed(4, "VMC-NOT-FOUND", &["nope"]);
    scene.vmctl(&["edit", "vm"]).failed(2, "VMC-NAME", &[]);
}

#[test]
fn another_object_of_the_name_never_gets_what_was_typed() {
    let (scene, dir) = (Scene::new(), tempfile::tempdir().unwrap());
    scene.machine("a", &[]);
    let manifest = dir.path().join("a.json");
    fs::write(&manifest, scene.manifest("a", &[]).to_string()).unwrap();
    let kubectl = format!(
        "{} --kubeconfig {} -n {}",
        scene.plane.kubectl.display(),
        scene.plane.kubeconfig.display(),
        scene.namespace
    );
    let script = format!(
        "sed -i 's/cpu: 2/cpu: 4/' \"$1\"; {kubectl} delete vm a >/dev/null; {kubectl} create -f {} >/dev/null",
        manifest.display()
    );
    edit(&scene, &dir, "a", &script).failed(5, "VMC-CONFLICT", &["what was typed is kept in"]);
    assert_eq!(cpu(&scene, "a"), "2");
}
