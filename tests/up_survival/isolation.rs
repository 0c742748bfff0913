//! What `up` must not touch and must not need: the user's kubeconfig, the user's home, the network.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::sandbox::Sandbox;

/// The cache that the other tests use, before HOME is another one.
fn cache() -> PathBuf {
    std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").expect("HOME")).join(".cache"),
        PathBuf::from,
    )
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            found.push(entry.path());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// A home with a kubeconfig behind a symbolic link, and a stale lock beside it.
fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let real = home.path().join("dotfiles-config");
    fs::write(
        &real,
        "# mine\napiVersion: v1\nkind: Config\ncurrent-context: mine\nunknown: field\n",
    )
    .unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.path().join(".kube")).unwrap();
    let link = home.path().join(".kube").join("config");
    symlink(&real, &link).unwrap();
    fs::write(home.path().join(".kube").join("config.lock"), "stale").unwrap();
    (home, link)
}

/// Runs vmctl for whoever lives there.
fn at_home(sandbox: &Sandbox, home: &Path, args: &[&str]) -> Output {
    let mut command = sandbox.command(args);
    command
        .env("HOME", home)
        .env("XDG_CACHE_HOME", cache())
        .env_remove("KUBECONFIG");
    command.output().unwrap()
}

#[test]
fn the_users_own_kubeconfig_and_home_are_as_before_to_the_last_bit() {
    let sandbox = Sandbox::new();
    let (home, link) = home();
    let state = || {
        let metadata = fs::metadata(&link).unwrap();
        let target = fs::read_link(&link).unwrap();
        let times = (
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ino(),
            metadata.mode(),
        );
        (
            fs::read(&link).unwrap(),
            target,
            times,
            all_files(home.path()),
        )
    };
    let before = state();
    let run = |args: &[&str]| at_home(&sandbox, home.path(), args);
    let succeed = |args: &[&str]| {
        let output = run(args);
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    for args in [
        &["up"][..],
        &[
            "create",
            "vm",
            "a",
            "--image=ubuntu-22.04",
            "--cpu=1",
            "--memory=1Gi",
            "--wait=false",
        ],
        &["kubectl", "get", "vm"],
        &["up"],
    ] {
        succeed(args);
        assert!(state() == before, "after {args:?}");
    }
    only_what_is_asked_for_is_changed_and_put_back(&sandbox, home.path(), &link);
}

/// `--use-context` in an environment that is up, and `down`.
fn only_what_is_asked_for_is_changed_and_put_back(sandbox: &Sandbox, home: &Path, link: &Path) {
    let run = |args: &[&str]| at_home(sandbox, home, args);
    let state = || {
        let mode = fs::metadata(link).unwrap().mode();
        let target = fs::read_link(link).unwrap();
        (fs::read(link).unwrap(), target, mode, all_files(home))
    };
    let before = state();
    let lock = home.join(".kube").join("config.lock");
    // A stale lock of somebody else keeps only what would change the file from being done.
    let locked = run(&["up", "--use-context"]);
    assert_eq!(locked.status.code(), Some(5), "{locked:?}");
    let words = String::from_utf8_lossy(&locked.stderr);
    assert!(words.contains("config.lock"), "{words}");
    assert!(state() == before);
    fs::remove_file(&lock).unwrap();
    let adopted = run(&["up", "--use-context"]);
    assert!(adopted.status.success(), "{adopted:?}");
    only_the_context_is_changed(link);
    let changed = state();
    for args in [&["up"][..], &["up", "--use-context"]] {
        assert!(run(args).status.success());
        assert!(state() == changed, "{args:?} changes nothing more");
    }
    let down = run(&["down", "--verify"]);
    assert!(down.status.success(), "{down:?}");
    fs::write(&lock, "stale").unwrap();
    assert!(state() == before, "to the last byte");
}

/// The user's lines are there, the link is one, and the environment's context is current.
fn only_the_context_is_changed(link: &Path) {
    let text = fs::read_to_string(link).unwrap();
    assert!(
        text.starts_with("# mine\n") && text.contains("\nunknown: field\n"),
        "{text}"
    );
    let config: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(config["current-context"], "vmctl-dev");
    assert_eq!(config["contexts"][0]["name"], "vmctl-dev");
    let mode = fs::metadata(link).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o640);
    assert!(fs::symlink_metadata(link).unwrap().is_symlink());
}

/// Runs a script in a network namespace of its own, with nothing but the loopback address, and with a home that cannot
/// be written. `None` where this machine does not allow that.
fn alone(sandbox: &Sandbox, cache: &Path, script: &str) -> Option<Output> {
    let prepared = "ip link set lo up && mkdir -p \"$STAGE\" && mount -t tmpfs -o ro none \"$STAGE\" && export HOME=\"$STAGE\" && ";
    let run = |script: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "--mount", "sh", "-c", script]);
        unshare
            .env("STAGE", sandbox.state_home().join("home"))
            .env("VMCTL", env!("CARGO_BIN_EXE_vmctl"));
        unshare
            .env("XDG_STATE_HOME", sandbox.state_home())
            .env("XDG_CACHE_HOME", cache);
        unshare
            .env("VMCTL_RUNTIME", "embedded")
            .env_remove("VMCTL_ENV")
            .output()
    };
    let allowed = run(&format!("{prepared} true"));
    if !allowed.as_ref().is_ok_and(|output| output.status.success()) {
        let why = allowed.map_or_else(
            |error| error.to_string(),
            |output| String::from_utf8_lossy(&output.stderr).into_owned(),
        );
        eprintln!("SKIPPED: this machine gives no network namespace: {why}");
        return None;
    }
    Some(run(&format!("{prepared} {script}")).unwrap())
}

#[test]
fn offline_with_a_warm_cache_it_works_without_any_route_and_with_a_read_only_home() {
    let sandbox = Sandbox::new();
    // Whoever runs this alone has filled the cache by then.
    sandbox.succeed(&["up", "--env", "warm"]);
    sandbox.succeed(&["down", "--env", "warm"]);
    let script = "\"$VMCTL\" up --offline && \"$VMCTL\" status && ! ip route | grep . && \"$VMCTL\" down --verify";
    let Some(output) = alone(&sandbox, &cache(), script) else {
        return;
    };
    let words = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{words}");
    assert!(
        words.contains("environment dev is up") && words.contains("nothing is left"),
        "{words}"
    );
}

#[test]
fn offline_with_an_empty_cache_it_fails_in_preflight_and_lists_what_is_missing() {
    let sandbox = Sandbox::new();
    let empty = tempfile::tempdir().unwrap();
    let script = "unset KUBEBUILDER_ASSETS; \"$VMCTL\" up --offline -o json; code=$?; \"$VMCTL\" down -q; exit $code";
    let Some(output) = alone(&sandbox, empty.path(), script) else {
        return;
    };
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(6), "{stdout}{stderr}");
    assert!(
        stdout.contains("\"step\":\"preflight\"") && !stdout.contains("\"step\":\"tools\""),
        "{stdout}"
    );
    for words in [
        "VMC-OFFLINE",
        "etcd, kube-apiserver",
        "KUBEBUILDER_ASSETS: not set",
        "cache ",
        "what to do",
    ] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
}

#[test]
fn a_home_that_cannot_be_written_is_named_with_the_variables_that_help() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["up"]);
    command
        .env("HOME", "/proc/sys")
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CACHE_HOME");
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(6), "{words}");
    assert!(
        words.contains("XDG_STATE_HOME") && words.contains("/proc/sys"),
        "{words}"
    );
}
