//! The container engine below kind: Docker, else Podman.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::program::{Error, Program};
use crate::clock;

/// Looks at what is there.
const LOOK: Duration = Duration::from_secs(10);
/// Starts and removals of containers.
const ACT: Duration = Duration::from_secs(60);
/// Transfers of images.
const TRANSFER: Duration = Duration::from_secs(600);
/// How often containers that do not go are removed again, and the pause in between.
const REMOVALS: usize = 20;
const PAUSE: Duration = Duration::from_millis(500);
/// Label that kind puts on the containers of a cluster.
const LABEL: &str = "io.x-k8s.kind.cluster";

/// An engine that answers.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    name: &'static str,
    version: String,
    program: Program,
}

/// A container of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Container {
    /// Its name.
    pub(crate) name: String,
    /// Whether it runs.
    pub(crate) running: bool,
}

/// What an engine says about the machine that it runs on. What it does not say is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Host {
    /// Version of control groups, 1 or 2.
    pub(crate) cgroups: Option<u32>,
    /// Where images and containers are kept.
    pub(crate) root: Option<PathBuf>,
    /// Whether it runs without the rights of root.
    pub(crate) rootless: bool,
}

impl Engine {
    /// The first engine that answers.
    ///
    /// # Errors
    /// None does; one sentence for each that was looked for.
    pub(crate) async fn find(dir: &Path) -> Result<Self, Vec<String>> {
        let mut lacks = Vec::new();
        for name in ["docker", "podman"] {
            let Some(program) = Program::on_path(name) else {
                lacks.push(format!("{name}: not on the PATH"));
                continue;
            };
            let program = program.marked(dir);
            match program
                .run(&["version", "--format", "{{.Server.Version}}"], LOOK)
                .await
            {
                Ok(version) => {
                    let version = version.trim().to_owned();
                    return Ok(Self {
                        name,
                        version,
                        program,
                    });
                }
                Err(error) => lacks.push(format!("{name}: {}", crate::hint::chain(&error))),
            }
        }
        Err(lacks)
    }

    /// `docker` or `podman`, as kind's variable KIND_EXPERIMENTAL_PROVIDER has it.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Its version.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// What it says about its machine.
    ///
    /// # Errors
    /// The engine fails.
    pub(crate) async fn host(&self) -> Result<Host, Error> {
        let form = match self.name {
            "podman" => {
                "{{.Host.CgroupsVersion}}\t{{.Store.GraphRoot}}\t{{.Host.Security.Rootless}}"
            }
            _docker => "{{.CgroupVersion}}\t{{.DockerRootDir}}\t{{.SecurityOptions}}",
        };
        let said = self.program.run(&["info", "--format", form], LOOK).await?;
        Ok(host(&said))
    }

    /// The containers of a cluster; none when there is no such cluster.
    ///
    /// # Errors
    /// The engine fails.
    pub(crate) async fn nodes(&self, cluster: &str) -> Result<Vec<Container>, Error> {
        let filter = format!("label={LABEL}={cluster}");
        let form = "{{.Names}}\t{{.State}}";
        let args = ["ps", "-a", "--filter", &filter, "--format", form];
        let list = self.program.run(&args, LOOK).await?;
        Ok(parse(&list))
    }

    /// Starts a container that was stopped.
    ///
    /// # Errors
    /// The engine fails.
    pub(crate) async fn start(&self, container: &str) -> Result<(), Error> {
        self.program.run(&["start", container], ACT).await.map(drop)
    }

    /// Removes the containers of a cluster with their volumes. Returns how many there were. One that is just being made or
    /// removed may take a few looks.
    ///
    /// # Errors
    /// The engine fails, or something stays.
    pub(crate) async fn remove(&self, cluster: &str) -> Result<usize, Error> {
        let mut nodes = self.nodes(cluster).await?;
        let count = nodes.len();
        let mut outcome = Ok(String::new());
        for _look in 0..REMOVALS {
            if nodes.is_empty() {
                return Ok(count);
            }
            let mut args = vec!["rm", "--force", "--volumes"];
            args.extend(nodes.iter().map(|node| node.name.as_str()));
            outcome = self.program.run(&args, ACT).await;
            nodes = self.nodes(cluster).await?;
            if !nodes.is_empty() {
                clock::sleep(PAUSE).await;
            }
        }
        outcome.map(|_said| count)
    }

    /// Whether a node's runtime has an image.
    pub(crate) async fn node_has(&self, node: &str, image: &str) -> bool {
        let args = ["exec", node, "crictl", "inspecti", "-q", image];
        self.program.run(&args, LOOK).await.is_ok()
    }

    /// The id of an image; `None` when the engine does not have it.
    pub(crate) async fn image(&self, image: &str) -> Option<String> {
        let args = ["image", "inspect", "--format", "{{.Id}}", image];
        let id = self.program.run(&args, LOOK).await.ok()?;
        Some(id.trim().to_owned())
    }

    /// Fetches an image.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub(crate) async fn pull(&self, image: &str) -> Result<(), Error> {
        self.program
            .run(&["pull", "--quiet", image], TRANSFER)
            .await
            .map(drop)
    }

    /// Writes an image to an archive, under another name.
    ///
    /// # Errors
    /// The engine fails.
    pub(crate) async fn save_as(
        &self,
        image: &str,
        name: &str,
        archive: &Path,
    ) -> Result<(), Error> {
        self.program.run(&["tag", image, name], ACT).await?;
        let archive = archive.to_string_lossy();
        let args = ["save", "--output", &archive, name];
        let saved = self.program.run(&args, TRANSFER).await;
        // The name was for the archive alone.
        let untagged = self.program.run(&["rmi", name], ACT).await;
        saved.and(untagged).map(drop)
    }
}

fn host(said: &str) -> Host {
    let mut fields = said.trim_end_matches('\n').split('\t');
    let mut field = || fields.next().unwrap_or_default().trim();
    let (cgroups, root, security) = (field(), field(), field());
    Host {
        cgroups: cgroups.trim_start_matches('v').parse().ok(),
        root: (!root.is_empty()).then(|| PathBuf::from(root)),
        rootless: security == "true" || security.contains("rootless"),
    }
}

fn parse(list: &str) -> Vec<Container> {
    let lines = list.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(name, state)| Container {
            name: name.to_owned(),
            running: state.trim() == "running",
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_engine_tells_about_its_machine_and_may_leave_things_out() {
        let docker = host("1\t/var/lib/docker\t[name=seccomp,profile=builtin]\n");
        assert_eq!((docker.cgroups, docker.rootless), (Some(1), false));
        assert_eq!(docker.root, Some(PathBuf::from("/var/lib/docker")));
        let podman = host("v2\t/home/me/storage\ttrue\n");
        assert_eq!((podman.cgroups, podman.rootless), (Some(2), true));
        assert!(host("2\t/x\t[name=rootless]").rootless);
        assert_eq!(host(""), Host::default());
    }

    #[test]
    fn containers_are_read_with_their_state() {
        let list = "one-control-plane\trunning\none-worker\texited\n";
        let read = parse(list);
        assert_eq!(read.len(), 2);
        assert!(read[0].running && read[0].name == "one-control-plane");
        assert!(!read[1].running);
        assert_eq!(parse(""), []);
    }
}
