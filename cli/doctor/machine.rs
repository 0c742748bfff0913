//! Checks of the machine: quick, and nothing is changed.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use etcetera::BaseStrategy;
use rustix::fs::Access;
use rustix::process::Resource;

use super::Finding;
use super::id::Id;
use crate::runtime::embedded::identity::Identity;

/// Room that an environment needs, and room that lasts.
const DISK_MIB: (u64, u64) = (256, 1024);
/// Memory below which a control plane may be killed.
const MEMORY_MIB: u64 = 512;
/// Open files that etcd and kube-apiserver may need.
const OPEN_FILES: u64 = 1024;

/// All checks, for an environment in that folder.
pub(crate) fn findings(dir: &Path) -> Vec<Finding> {
    vec![
        system(),
        proc(),
        writable(Id::StateDir, dir, "XDG_STATE_HOME"),
        cache(),
        disk(dir),
        memory(),
        cpu(),
        open_files(),
        loopback(),
        proxy(),
    ]
}

fn system() -> Finding {
    if cfg!(target_os = "linux") {
        let version = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        return Finding::ok(Id::System, format!("Linux {}", version.trim()));
    }
    let note = "the embedded runtime needs Linux: only its kernel ends children with their parent";
    Finding::fail(
        Id::System,
        note,
        "use a Linux machine, container or virtual machine",
    )
}

fn proc() -> Finding {
    match Identity::own() {
        Some(_) => Finding::ok(Id::Proc, "can be read"),
        None => Finding::fail(Id::Proc, "/proc cannot be read", "mount /proc"),
    }
}

fn cache() -> Finding {
    match etcetera::choose_base_strategy() {
        Ok(base) => writable(
            Id::CacheDir,
            &base.cache_dir().join("vmctl"),
            "XDG_CACHE_HOME",
        ),
        Err(error) => Finding::fail(
            Id::CacheDir,
            error.to_string(),
            "set HOME or XDG_CACHE_HOME",
        ),
    }
}

/// What does not exist yet is made in the nearest folder that does.
fn writable(id: Id, dir: &Path, variable: &str) -> Finding {
    let there = nearest(dir);
    let fix = || format!("set {variable} to a folder of yours");
    if !there.is_dir() {
        return Finding::fail(id, format!("{} is no folder", there.display()), fix());
    }
    match rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Finding::ok(id, dir.display().to_string()),
        Err(errno) => Finding::fail(
            id,
            format!("cannot write to {}: {errno}", there.display()),
            fix(),
        ),
    }
}

fn nearest(dir: &Path) -> &Path {
    dir.ancestors().find(|path| path.exists()).unwrap_or(dir)
}

fn disk(dir: &Path) -> Finding {
    let place = nearest(dir);
    let free = match free_mib(place) {
        Ok(free) => free,
        Err(errno) => {
            let note = format!("cannot look at {}: {errno}", place.display());
            return Finding::fail(Id::Disk, note, "set XDG_STATE_HOME to another disk");
        }
    };
    let note = format!("{free} MiB are free at {}", place.display());
    let fix = format!(
        "free {} MiB, or set XDG_STATE_HOME to a larger disk",
        DISK_MIB.1
    );
    if free < DISK_MIB.0 {
        Finding::fail(Id::Disk, format!("only {note}"), fix)
    } else if free < DISK_MIB.1 {
        Finding::warn(Id::Disk, format!("only {note}"), fix)
    } else {
        Finding::ok(Id::Disk, note)
    }
}

/// Room on the disk of a path, in MiB, for whoever is not root.
///
/// # Errors
/// It cannot be looked at.
pub(super) fn free_mib(path: &Path) -> rustix::io::Result<u64> {
    let space = rustix::fs::statvfs(path)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize) / (1024 * 1024))
}

fn memory() -> Finding {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let available = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    match available.map(|kib| kib / 1024) {
        Some(mib) if mib < MEMORY_MIB => {
            let note = format!("only {mib} MiB are available");
            Finding::warn(
                Id::Memory,
                note,
                "end other programs: a control plane needs about 512 MiB",
            )
        }
        Some(mib) => Finding::ok(Id::Memory, format!("{mib} MiB are available")),
        None => Finding::ok(Id::Memory, "not told by this system"),
    }
}

fn cpu() -> Finding {
    match std::thread::available_parallelism().map(usize::from) {
        Ok(1) => Finding::warn(
            Id::Cpu,
            "one processor",
            "expect slow starts: waits have room for that",
        ),
        Ok(count) => Finding::ok(Id::Cpu, format!("{count} processors")),
        Err(error) => Finding::ok(Id::Cpu, format!("not told by this system: {error}")),
    }
}

fn open_files() -> Finding {
    let limit = rustix::process::getrlimit(Resource::Nofile).current;
    match limit {
        Some(limit) if limit < OPEN_FILES => {
            let note = format!("at most {limit} files may be open");
            Finding::warn(Id::OpenFiles, note, format!("ulimit -n {OPEN_FILES}"))
        }
        Some(limit) => Finding::ok(Id::OpenFiles, format!("{limit} may be open")),
        None => Finding::ok(Id::OpenFiles, "no limit"),
    }
}

fn loopback() -> Finding {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
        Ok(_) => Finding::ok(Id::Loopback, "127.0.0.1 can be listened on"),
        Err(error) => {
            let note = format!("cannot listen on 127.0.0.1: {error}");
            Finding::fail(
                Id::Loopback,
                note,
                "bring the loopback interface up: ip link set lo up",
            )
        }
    }
}

/// Our own calls to the loopback address never go through a proxy; whoever else reads the variables might.
fn proxy() -> Finding {
    let value = |names: [&str; 2]| {
        names
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    };
    if value(["HTTPS_PROXY", "https_proxy"]).is_none()
        && value(["HTTP_PROXY", "http_proxy"]).is_none()
    {
        return Finding::ok(Id::Proxy, "none");
    }
    let except = value(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    if except
        .split(',')
        .any(|host| matches!(host.trim(), "127.0.0.1" | "127.0.0.0/8" | "localhost" | "*"))
    {
        return Finding::ok(Id::Proxy, "set, the loopback address is excepted");
    }
    let note = "set, and the loopback address is not excepted";
    Finding::warn(
        Id::Proxy,
        note,
        "export NO_PROXY=127.0.0.1,localhost for the programs that you run against it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn a_folder_that_cannot_be_made_fails_with_the_variable_that_helps() {
        let dir = tempfile::tempdir().unwrap();
        let good = writable(Id::StateDir, &dir.path().join("a/b"), "XDG_STATE_HOME");
        assert_eq!(good.verdict, Verdict::Ok);
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let bad = writable(Id::StateDir, &file.join("a"), "XDG_STATE_HOME");
        assert_eq!(bad.verdict, Verdict::Fail);
        assert!(bad.fix.unwrap().contains("XDG_STATE_HOME"));
    }

    #[test]
    fn this_machine_can_run_the_tests() {
        let dir = tempfile::tempdir().unwrap();
        let failed: Vec<Finding> = findings(dir.path())
            .into_iter()
            .filter(|one| one.verdict == Verdict::Fail)
            .collect();
        // The home of whoever runs this may be anything.
        assert!(
            failed.iter().all(|one| one.id == Id::CacheDir),
            "{failed:?}"
        );
    }
}
