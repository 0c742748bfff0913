//! Checks of what a kind cluster stands on: engine, kind, node image, kernel. Nothing is fetched or started.

use std::fs;
use std::path::Path;

use super::Finding;
use super::id::Id;
use super::machine::free_mib;
use crate::env::Environment;
use crate::hint::chain;
use crate::runtime::kind::engine::{Engine, Host};
use crate::runtime::kind::record::Record;
use crate::runtime::kind::tool::Kind;

/// Watches and instances of inotify that a node of kind wants; they are counted per user, over all containers.
const INOTIFY: [(&str, u64); 2] = [("max_user_watches", 524_288), ("max_user_instances", 512)];
/// Room that a cluster needs, and room that lasts.
const DISK_MIB: (u64, u64) = (1024, 4096);
/// Controllers that a node without the rights of root needs.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// All checks; without an engine only that.
pub(crate) async fn findings(environment: &Environment, node_image: Option<&str>) -> Vec<Finding> {
    let record = environment.kind().unwrap_or_default();
    let engine = match Engine::find(environment.dir()).await {
        Ok(engine) => engine,
        Err(lacks) => return vec![no_engine(&lacks, record.is_some())],
    };
    let note = format!("{} {} answers", engine.name(), engine.version());
    let mut findings = vec![
        Finding::ok(Id::Engine, note),
        kind(&engine, environment.dir()).await,
        image(&engine, node_image, record.as_ref()).await,
    ];
    match engine.host().await {
        Ok(host) => findings.extend([cgroups(&host), disk(&engine, &host)]),
        Err(error) => {
            let note = format!("not told by the engine: {}", chain(&error));
            findings.push(Finding::warn(
                Id::Cgroups,
                note,
                "see what the engine's own log says",
            ));
        }
    }
    findings.push(inotify(Path::new("/proc/sys/fs/inotify")));
    findings
}

/// Without an engine an environment runs as processes; one that is in an engine already cannot.
fn no_engine(lacks: &[String], needed: bool) -> Finding {
    let absent = lacks.iter().all(|lack| lack.ends_with("not on the PATH"));
    if absent && !needed {
        let note = "none: environments run as processes of this machine";
        return Finding::ok(Id::Engine, note);
    }
    let note = lacks.join("; ");
    let fix = "start it (systemctl start docker), or join its group (usermod -aG docker $USER, then log in anew)";
    if needed {
        return Finding::fail(Id::Engine, note, fix);
    }
    Finding::warn(
        Id::Engine,
        note,
        format!("{fix}; without it: vmctl up --runtime embedded"),
    )
}

async fn kind(engine: &Engine, dir: &Path) -> Finding {
    match Kind::find(engine, dir).await {
        Ok(kind) => Finding::ok(Id::Kind, format!("kind {}", kind.version())),
        Err(lack) => Finding::warn(
            Id::Kind,
            lack,
            "go install sigs.k8s.io/kind@latest; without it: vmctl up --runtime embedded",
        ),
    }
}

async fn image(engine: &Engine, named: Option<&str>, record: Option<&Record>) -> Finding {
    let recorded = record.and_then(|record| record.node_image.as_deref());
    let Some(image) = named.or(recorded) else {
        let note = "kind's own: it is fetched where it is not there; --offline wants one named with --node-image";
        return Finding::ok(Id::NodeImage, note);
    };
    match engine.image(image).await {
        Some(_id) => Finding::ok(Id::NodeImage, format!("{image} is there")),
        None => Finding::warn(
            Id::NodeImage,
            format!("{image} is not there; up fetches it"),
            format!("{} pull {image}", engine.name()),
        ),
    }
}

fn cgroups(host: &Host) -> Finding {
    match (host.cgroups, host.rootless) {
        (Some(1), true) => Finding::fail(
            Id::Cgroups,
            "version 1, and the engine runs without the rights of root: nodes cannot start",
            "boot with systemd.unified_cgroup_hierarchy=1, or run the engine as root",
        ),
        (Some(1), false) => Finding::warn(
            Id::Cgroups,
            "version 1: this kind still takes it, later ones and recent node images may not",
            "boot with systemd.unified_cgroup_hierarchy=1",
        ),
        (Some(version), true) => delegated(version, Path::new("/sys/fs/cgroup")),
        (Some(version), false) => Finding::ok(Id::Cgroups, format!("version {version}")),
        (None, _) => Finding::ok(Id::Cgroups, "not told by the engine"),
    }
}

/// What an engine without the rights of root may give to nodes.
fn delegated(version: u32, root: &Path) -> Finding {
    let user = rustix::process::getuid().as_raw();
    let file = root.join(format!(
        "user.slice/user-{user}.slice/user@{user}.service/cgroup.controllers"
    ));
    let Ok(given) = fs::read_to_string(&file) else {
        return Finding::ok(Id::Cgroups, format!("version {version}, rootless"));
    };
    let given: Vec<&str> = given.split_whitespace().collect();
    let missing: Vec<&str> = CONTROLLERS
        .into_iter()
        .filter(|one| !given.contains(one))
        .collect();
    if missing.is_empty() {
        return Finding::ok(
            Id::Cgroups,
            format!("version {version}, rootless, delegated"),
        );
    }
    Finding::fail(
        Id::Cgroups,
        format!("rootless, and not delegated: {}", missing.join(", ")),
        "put [Service] Delegate=yes into /etc/systemd/system/user@.service.d/delegate.conf, systemctl daemon-reload, log in anew",
    )
}

fn inotify(folder: &Path) -> Finding {
    let mut low = Vec::new();
    let mut notes = Vec::new();
    for (name, wanted) in INOTIFY {
        let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
        let Ok(limit) = text.trim().parse::<u64>() else {
            continue;
        };
        notes.push(format!("{name} {limit}"));
        if limit < wanted {
            low.push((name, wanted));
        }
    }
    if notes.is_empty() {
        return Finding::ok(Id::Inotify, "not told by this system");
    }
    let note = notes.join(", ");
    if low.is_empty() {
        return Finding::ok(Id::Inotify, note);
    }
    let settings = low
        .iter()
        .map(|(name, wanted)| format!("fs.inotify.{name}={wanted}"));
    let settings: Vec<String> = settings.collect();
    let fix = format!(
        "sudo sysctl {}; to keep it, write the same into /etc/sysctl.d/99-kind.conf",
        settings.join(" ")
    );
    Finding::warn(
        Id::Inotify,
        format!("{note}: pods may fail with too many open files"),
        fix,
    )
}

fn disk(engine: &Engine, host: &Host) -> Finding {
    let Some(root) = host.root.as_deref().filter(|root| root.exists()) else {
        return Finding::ok(Id::EngineDisk, "not on a disk of this machine");
    };
    let Ok(free) = free_mib(root) else {
        return Finding::ok(Id::EngineDisk, format!("not told about {}", root.display()));
    };
    let note = format!("{free} MiB are free at {}", root.display());
    let fix = format!("{} system prune", engine.name());
    if free < DISK_MIB.0 {
        Finding::fail(Id::EngineDisk, format!("only {note}"), fix)
    } else if free < DISK_MIB.1 {
        Finding::warn(Id::EngineDisk, format!("only {note}"), fix)
    } else {
        Finding::ok(Id::EngineDisk, note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn an_engine_that_is_there_and_silent_is_told_with_what_starts_it() {
        let absent = ["docker: not on the PATH".to_owned()];
        assert_eq!(no_engine(&absent, false).verdict, Verdict::Ok);
        assert_eq!(no_engine(&absent, true).verdict, Verdict::Fail);
        let silent = ["docker: cannot connect to the daemon".to_owned()];
        let finding = no_engine(&silent, false);
        assert_eq!(finding.verdict, Verdict::Warn);
        let fix = finding.fix.unwrap();
        assert!(
            fix.contains("systemctl start docker") && fix.contains("--runtime embedded"),
            "{fix}"
        );
    }

    #[test]
    fn low_limits_of_inotify_are_told_with_the_line_that_raises_them() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(inotify(dir.path()).verdict, Verdict::Ok);
        fs::write(dir.path().join("max_user_watches"), "1000000\n").unwrap();
        fs::write(dir.path().join("max_user_instances"), "128\n").unwrap();
        let finding = inotify(dir.path());
        assert_eq!(finding.verdict, Verdict::Warn);
        let fix = finding.fix.unwrap();
        assert!(
            fix.contains("sysctl fs.inotify.max_user_instances=512;"),
            "{fix}"
        );
        assert!(!fix.contains("watches"), "{fix}");
    }

    #[test]
    fn control_groups_are_judged_by_version_rights_and_delegation() {
        let host = |cgroups, rootless| Host {
            cgroups,
            rootless,
            root: None,
        };
        assert_eq!(cgroups(&host(Some(2), false)).verdict, Verdict::Ok);
        assert_eq!(cgroups(&host(Some(1), false)).verdict, Verdict::Warn);
        assert_eq!(cgroups(&host(Some(1), true)).verdict, Verdict::Fail);
        assert_eq!(cgroups(&host(None, false)).verdict, Verdict::Ok);
        let dir = tempfile::tempdir().unwrap();
        let user = rustix::process::getuid().as_raw();
        let slice = dir
            .path()
            .join(format!("user.slice/user-{user}.slice/user@{user}.service"));
        fs::create_dir_all(&slice).unwrap();
        fs::write(slice.join("cgroup.controllers"), "cpuset memory pids\n").unwrap();
        let finding = delegated(2, dir.path());
        assert_eq!(finding.verdict, Verdict::Fail);
        assert!(
            finding.note.ends_with("not delegated: cpu"),
            "{}",
            finding.note
        );
        fs::write(slice.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
        assert_eq!(delegated(2, dir.path()).verdict, Verdict::Ok);
    }
}
