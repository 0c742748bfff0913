//! Finding etcd, kube-apiserver, kube-controller-manager and kubectl. The first place that has them wins; what was
//! looked at, and with what outcome, is said on the way.

mod build;
mod cache;
mod check;
mod download;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::hint::{Exit, Failure, chain};
use crate::output::Talk;

/// Where to look, as options of the commands that need the programs.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Lookup {
    /// Directory with etcd and kube-apiserver (and kubectl, kube-controller-manager) [default: $KUBEBUILDER_ASSETS]
    #[arg(long, value_name = "DIR")]
    pub(crate) assets: Option<PathBuf>,
    /// Neither download nor build anything
    #[arg(long)]
    pub(crate) offline: bool,
}

/// The programs of a control plane, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Binaries {
    /// etcd.
    pub(crate) etcd: PathBuf,
    /// kube-apiserver.
    pub(crate) api_server: PathBuf,
    /// kube-controller-manager, which no envtest archive has.
    pub(crate) controller_manager: Option<PathBuf>,
    /// kubectl.
    pub(crate) kubectl: Option<PathBuf>,
    /// What kube-apiserver calls its version, such as `v1.36.3`.
    pub(crate) version: String,
}

impl Binaries {
    /// The programs that lie in one directory under their usual names.
    fn in_dir(dir: &Path, version: String) -> Self {
        let optional = |name: &str| Some(dir.join(name)).filter(|path| path.is_file());
        Self {
            etcd: dir.join("etcd"),
            api_server: dir.join("kube-apiserver"),
            controller_manager: optional("kube-controller-manager"),
            kubectl: optional("kubectl"),
            version,
        }
    }
}

/// Finds the programs, in the documented order.
///
/// # Errors
/// `--assets` names a directory without them, a cached file was changed, or no place has them: then all places are
/// listed with what was found there and what to do.
pub(crate) async fn find(args: &Lookup, talk: &Talk) -> Result<Binaries, Failure> {
    if let Some(dir) = &args.assets {
        return check::directory(dir).await.map_err(|error| {
            Failure::new(Exit::Environment, "VMC-ASSETS", format!("--assets {}: {}", dir.display(), chain(&error)))
                .fix("point --assets at a directory with executable etcd and kube-apiserver, or leave it out")
        });
    }
    let mut looked = Looked {
        talk,
        outcomes: Vec::new(),
    };
    match std::env::var_os("KUBEBUILDER_ASSETS")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
    {
        None => looked.say("KUBEBUILDER_ASSETS: not set".to_owned()),
        Some(dir) => match check::directory(&dir).await {
            Ok(found) => {
                talk.line(&format!(
                    "control plane {} from KUBEBUILDER_ASSETS={}",
                    found.version,
                    dir.display()
                ));
                return Ok(found);
            }
            Err(error) => looked.say(format!(
                "KUBEBUILDER_ASSETS={}: {}",
                dir.display(),
                chain(&error)
            )),
        },
    }
    let cache = cache::Cache::locate()?;
    if let Some(found) = look_in(&cache, &mut looked).await? {
        return Ok(found);
    }
    if args.offline {
        looked.say("download: skipped, --offline".to_owned());
        looked.say("build: skipped, --offline".to_owned());
        return Err(looked.failure(&cache));
    }
    obtain(&cache, &mut looked).await
}

/// Looks into the cache, every version that we can make.
async fn look_in(
    cache: &cache::Cache,
    looked: &mut Looked<'_>,
) -> Result<Option<Binaries>, Failure> {
    for version in [build::VERSION, download::VERSION] {
        let dir = cache.version(version);
        match cache::verified(&dir).map_err(|error| error.into_failure())? {
            None => looked.say(format!("cache {}: empty", dir.display())),
            Some(()) => match check::directory(&dir).await {
                Ok(found) => {
                    looked.talk.line(&format!(
                        "control plane {} from the cache {}, verified",
                        found.version,
                        dir.display()
                    ));
                    return Ok(Some(found));
                }
                Err(error) => looked.say(format!("cache {}: {}", dir.display(), chain(&error))),
            },
        }
    }
    Ok(None)
}

/// Downloads, else builds. One process at a time: a second one finds the first one's result.
async fn obtain(cache: &cache::Cache, looked: &mut Looked<'_>) -> Result<Binaries, Failure> {
    let _lock = cache.lock(looked.talk).await?;
    // Somebody may have filled it while we waited. What was said about it a moment ago is not said again.
    let mut again = Looked {
        talk: &Talk::new(true),
        outcomes: Vec::new(),
    };
    if let Some(found) = look_in(cache, &mut again).await? {
        looked.talk.line(&format!(
            "control plane {} from the cache, just filled",
            found.version
        ));
        return Ok(found);
    }
    match download::into(cache, looked.talk).await {
        Ok(dir) => return checked(&dir).await,
        Err(error) => looked.say(format!("download: {}", chain(&error))),
    }
    match build::into(cache, looked.talk).await {
        Ok(dir) => return checked(&dir).await,
        Err(error) => looked.say(format!("build: {}", chain(&error))),
    }
    Err(looked.failure(cache))
}

async fn checked(dir: &Path) -> Result<Binaries, Failure> {
    check::directory(dir).await.map_err(|error| {
        Failure::new(Exit::Environment, "VMC-BINARIES", chain(&error))
            .fix(format!("delete {} and try again", dir.display()))
    })
}

/// The places that were looked at so far.
struct Looked<'a> {
    talk: &'a Talk,
    outcomes: Vec<String>,
}

impl Looked<'_> {
    fn say(&mut self, outcome: String) {
        self.talk.line(&format!("control plane: {outcome}"));
        self.outcomes.push(outcome);
    }

    fn failure(&self, cache: &cache::Cache) -> Failure {
        let cause = "no place has etcd and kube-apiserver";
        Failure::new(Exit::Environment, "VMC-BINARIES", cause).evidence(self.outcomes.clone()).fix(format!(
            "do one of these: set KUBEBUILDER_ASSETS to a directory with etcd and kube-apiserver; run once without \
             --offline where the download hosts can be reached; install Go {} or newer and run again; the result is \
             kept in {}",
            build::GO_NEEDED,
            cache.dir().display()
        ))
    }
}
