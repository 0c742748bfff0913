//! Building the programs from source with Go. The two small modules that pin every source by its sum are part of this
//! program, so an installed vmctl can do it, too.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};

use super::cache::{self, Cache};
use crate::clock;
use crate::output::Talk;

/// The version that the modules pin.
pub(crate) const VERSION: &str = "1.36.3";
/// The oldest Go that can build it.
pub(crate) const GO_NEEDED: &str = "1.26";
/// How often a long build says that it goes on.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The build did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// There is no Go.
    #[error("there is no go on the PATH")]
    NoGo,
    /// Go is too old.
    #[error("go is {found}, {GO_NEEDED} or newer is needed")]
    OldGo {
        /// What was found.
        found: String,
    },
    /// A file could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Go could not be run.
    #[error("cannot run go")]
    Run(#[source] io::Error),
    /// The compiler refused.
    #[error("go build of {name} failed: {last_words}")]
    Failed {
        /// What was built.
        name: &'static str,
        /// The end of its output.
        last_words: String,
    },
    /// The result could not be put into the cache.
    #[error(transparent)]
    Cache(#[from] cache::Error),
}

/// A pinned module and the programs that it makes.
struct Module {
    name: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
    programs: &'static [(&'static str, &'static str)],
}

const MODULES: &[Module] = &[
    Module {
        name: "etcd",
        go_mod: include_str!("../../../../scripts/control-plane/etcd/go.mod"),
        go_sum: include_str!("../../../../scripts/control-plane/etcd/go.sum"),
        programs: &[("etcd", "go.etcd.io/etcd/server/v3")],
    },
    Module {
        name: "kubernetes",
        go_mod: include_str!("../../../../scripts/control-plane/kubernetes/go.mod"),
        go_sum: include_str!("../../../../scripts/control-plane/kubernetes/go.sum"),
        programs: &[
            ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
            (
                "kube-controller-manager",
                "k8s.io/kubernetes/cmd/kube-controller-manager",
            ),
        ],
    },
];

/// Builds all programs into the cache.
///
/// # Errors
/// There is no Go or it is too old, the sources cannot be had, or the compiler refuses.
pub(crate) async fn into(cache: &Cache, talk: &Talk) -> Result<PathBuf, Error> {
    check_go().await?;
    talk.line(
        "control plane: building from source; five minutes on two cores, once, kept in the cache",
    );
    let sources = cache.dir().join(".modules");
    let staged = cache.staging()?;
    for module in MODULES {
        let dir = write_module(&sources, module)?;
        for (name, package) in module.programs {
            build(name, package, &dir, &staged, talk).await?;
        }
    }
    let _ = fs::remove_dir_all(&sources);
    Ok(cache.install(
        &staged,
        VERSION,
        "built from source by go build, module sums pinned",
    )?)
}

fn write_module(sources: &Path, module: &Module) -> Result<PathBuf, Error> {
    let dir = sources.join(module.name);
    let failed = |source| Error::Write {
        path: dir.clone(),
        source,
    };
    fs::create_dir_all(&dir).map_err(failed)?;
    fs::write(dir.join("go.mod"), module.go_mod).map_err(failed)?;
    fs::write(dir.join("go.sum"), module.go_sum).map_err(failed)?;
    Ok(dir)
}

/// Environment that must not leak into the build: a workspace, vendoring, another toolchain fetched by itself.
fn settings(command: &mut tokio::process::Command) {
    command
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOTOOLCHAIN", "local");
    command.stdin(Stdio::null()).kill_on_drop(true);
}

async fn check_go() -> Result<(), Error> {
    let mut command = tokio::process::Command::new("go");
    command.args(["env", "GOVERSION"]).current_dir("/");
    settings(&mut command);
    let output = command.output().await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NoGo,
        _other => Error::Run(error),
    })?;
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if is_new_enough(&found) {
        Ok(())
    } else {
        Err(Error::OldGo { found })
    }
}

/// Whether a version such as `go1.26.8` or `go1.27rc1` is [`GO_NEEDED`] or newer.
fn is_new_enough(version: &str) -> bool {
    let parse = |text: &str| {
        let mut parts = text.split('.').map(|part| {
            let digits = part
                .find(|c: char| !c.is_ascii_digit())
                .map_or(part, |end| part.get(..end).unwrap_or(part));
            digits.parse::<u32>().ok()
        });
        Some((parts.next()??, parts.next()??))
    };
    match (version.strip_prefix("go").and_then(parse), parse(GO_NEEDED)) {
        (Some(found), Some(needed)) => found >= needed,
        _unreadable => false,
    }
}

async fn build(
    name: &'static str,
    package: &str,
    dir: &Path,
    staged: &Path,
    talk: &Talk,
) -> Result<(), Error> {
    let started = clock::now();
    let mut output = OsString::from("-o=");
    output.push(staged.join(name));
    let mut command = tokio::process::Command::from(super::super::child::tied(Path::new("go")));
    command
        .args(["build", "-v", "-trimpath", "-ldflags", &link_flags()])
        .arg(output)
        .arg(package);
    command
        .current_dir(dir)
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    settings(&mut command);
    let mut process = command.spawn().map_err(Error::Run)?;
    let Some(stderr) = process.stderr.take() else {
        return Err(Error::Run(io::Error::other("no output")));
    };
    let mut lines = BufReader::new(stderr).lines();
    let (mut compiled, mut tail) = (0_u32, VecDeque::new());
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => {
                    compiled += 1;
                    tail.push_back(line);
                    if tail.len() > 5 { tail.pop_front(); }
                }
                Ok(None) | Err(_) => break,
            },
            _ = heartbeat.tick() => talk.line(&format!(
                "control plane: building {name}, {compiled} steps in {} s", started.elapsed().as_secs())),
        }
    }
    if process.wait().await.map_err(Error::Run)?.success() {
        talk.line(&format!(
            "control plane: built {name} in {} s",
            started.elapsed().as_secs()
        ));
        return Ok(());
    }
    Err(Error::Failed {
        name,
        last_words: tail.make_contiguous().join("; "),
    })
}

/// No symbols, and the version that the programs tell about themselves.
fn link_flags() -> String {
    let mut parts = VERSION.split('.');
    let (major, minor) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let package = "k8s.io/component-base/version";
    format!(
        "-s -w -X {package}.gitVersion=v{VERSION} -X {package}.gitMajor={major} -X {package}.gitMinor={minor} \
         -X {package}.gitTreeState=clean"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_versions_are_compared_by_number() {
        for (version, enough) in [
            ("go1.26", true),
            ("go1.26.8", true),
            ("go1.27rc1", true),
            ("go1.100.1", true),
            ("go2.0", true),
            ("go1.25.9", false),
            ("go1.3", false),
            ("devel +abc", false),
            ("", false),
        ] {
            assert_eq!(is_new_enough(version), enough, "{version}");
        }
    }

    #[test]
    fn the_modules_pin_the_version_that_is_announced() {
        let kubernetes = MODULES
            .iter()
            .find(|module| module.name == "kubernetes")
            .unwrap();
        assert!(
            kubernetes
                .go_mod
                .contains(&format!("k8s.io/kubernetes v{VERSION}"))
        );
        for module in MODULES {
            assert!(
                module.go_mod.contains(&format!("go {GO_NEEDED}")),
                "{}",
                module.name
            );
        }
    }
}
