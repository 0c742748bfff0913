//! The cluster that a verb works on, and the objects in it.

pub(crate) mod call;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod follow;
pub(crate) mod kind;
pub(crate) mod object;
pub(crate) mod print;
pub(crate) mod table;

use std::ffi::OsString;
use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::env::Environment;
use crate::env::name::Name;
use crate::hint::{Exit, Failure, chain};
use kind::is_name;

/// The environment that is meant when nothing is said.
const DEFAULT_ENVIRONMENT: &str = "dev";
/// Names the environment where no flag does.
const VARIABLE: &str = "VMCTL_ENV";

/// Which cluster and namespace a verb works on.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Environment to work on; else the one in VMCTL_ENV, else dev
    #[arg(long = "env", value_name = "NAME", conflicts_with_all = ["kubeconfig", "context"],
        add = crate::verbs::completion::environments())]
    environment: Option<Name>,
    /// Work on another cluster: the one of this kubeconfig
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// Work on another cluster: the one of this context, of --kubeconfig or of your own kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespace [default: that of the kubeconfig]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
}

/// A cluster whose address and authority are fixed from the start: what happens to the kubeconfig later does not
/// redirect a running command.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// Talks to the API server.
    pub(crate) client: Client,
    /// The namespace that is meant.
    pub(crate) namespace: String,
    /// In words: `environment dev`, or `context NAME`.
    pub(crate) label: String,
    /// URL of the API server, for messages.
    pub(crate) server: String,
    /// Whether it is an environment that `vmctl up` made.
    pub(crate) ours: bool,
    /// That environment.
    pub(crate) environment: Option<Environment>,
    /// Whether the command line named the namespace.
    pub(crate) namespace_named: bool,
    /// Whether the command line named the context.
    pub(crate) context_named: bool,
    /// Program and first arguments of kubectl for this cluster.
    pub(crate) kubectl_words: Vec<OsString>,
    flags: String,
    kubectl: String,
}

impl ClusterArgs {
    /// What a half-written command line says about it; the rest of the line may be anything.
    pub(crate) fn of_line(line: &[String]) -> Self {
        let value = |names: &[&str]| {
            let at = line.iter().rposition(|word| names.contains(&word.as_str()));
            let apart = at.and_then(|at| line.get(at + 1)).cloned();
            apart.or_else(|| {
                line.iter().rev().find_map(|word| {
                    let (name, value) = word.split_once('=')?;
                    names.contains(&name).then(|| value.to_owned())
                })
            })
        };
        Self {
            environment: value(&["--env"]).and_then(|name| name.parse().ok()),
            kubeconfig: value(&["--kubeconfig"]).map(PathBuf::from),
            context: value(&["--context"]),
            namespace: value(&["-n", "--namespace"]),
        }
    }

    /// The namespace for an object that is only printed; no cluster is asked.
    ///
    /// # Errors
    /// The namespace cannot be a name.
    pub(crate) fn namespace_or_default(&self) -> Result<&str, Failure> {
        let namespace = self.namespace.as_deref().unwrap_or("default");
        checked(namespace)
    }

    /// The namespace that the command line names.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Takes the namespace that a manifest names, unless the command line named another one.
    ///
    /// # Errors
    /// It did.
    pub(crate) fn settle_namespace(&mut self, named: &str) -> Result<(), Failure> {
        match &self.namespace {
            _ if named.is_empty() => Ok(()),
            None => {
                self.namespace = Some(checked(named)?.to_owned());
                Ok(())
            }
            Some(present) if present == named => Ok(()),
            Some(present) => {
                let cause = format!("it is of namespace {named}, not of {present}");
                Err(Failure::new(Exit::Usage, "VMC-USAGE", cause)
                    .fix("run the command once for each namespace, without -n"))
            }
        }
    }

    /// Whether the command line names a cluster that `vmctl up` does not look after.
    pub(crate) fn is_by_hand(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// Opens the cluster. Nothing is sent to it yet.
    ///
    /// # Errors
    /// The environment is not up, the kubeconfig cannot be used, or the namespace cannot be a name.
    pub(crate) async fn open(&self) -> Result<Cluster, Failure> {
        self.namespace_or_default()?;
        if self.kubeconfig.is_some() || self.context.is_some() {
            return self.open_other().await;
        }
        let name = self.environment_name()?;
        let environment = Environment::open(&name)?;
        let config = environment.config().await?;
        let flags = if name.as_str() == DEFAULT_ENVIRONMENT {
            String::new()
        } else {
            format!(" --env {name}")
        };
        let kubectl = format!("vmctl kubectl{flags}");
        let label = format!("environment {name}");
        let mut cluster = self.cluster(config, label, flags, kubectl, Some(environment))?;
        let ourselves = std::env::current_exe().unwrap_or_else(|_| "vmctl".into());
        cluster.kubectl_words = vec![ourselves.into(), "kubectl".into(), "--env".into()];
        cluster.kubectl_words.push(name.as_str().into());
        Ok(cluster)
    }

    /// The environment that is meant where no other cluster is named.
    ///
    /// # Errors
    /// The variable names none.
    pub(crate) fn environment_name(&self) -> Result<Name, Failure> {
        if let Some(name) = &self.environment {
            return Ok(name.clone());
        }
        let word = std::env::var(VARIABLE).ok().filter(|word| !word.is_empty());
        let word = word.unwrap_or_else(|| DEFAULT_ENVIRONMENT.to_owned());
        word.parse().map_err(|error| {
            let cause = format!("{VARIABLE}={word} names no environment: {error}");
            Failure::new(Exit::Usage, "VMC-NAME", cause).fix(format!("unset {VARIABLE}"))
        })
    }

    async fn open_other(&self) -> Result<Cluster, Failure> {
        let unusable = |error: kube::config::KubeconfigError| {
            let place = self.kubeconfig.as_ref().map_or_else(
                || "your kubeconfig".to_owned(),
                |path| format!("the kubeconfig {}", path.display()),
            );
            let cause = format!("cannot use {place}: {}", chain(&error));
            Failure::new(Exit::Environment, "VMC-KUBECONFIG", cause)
                .fix("see what there is with: kubectl config get-contexts")
        };
        let file = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        }
        .map_err(unusable)?;
        let current = file.current_context.clone().unwrap_or_default();
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = Config::from_custom_kubeconfig(file, &options)
            .await
            .map_err(unusable)?;
        config.default_retry = false;
        let mut flags = self.kubeconfig.as_ref().map_or(String::new(), |path| {
            format!(" --kubeconfig {}", path.display())
        });
        if let Some(context) = &self.context {
            flags.push_str(&format!(" --context {context}"));
        }
        let label = format!("context {}", self.context.as_ref().unwrap_or(&current));
        let ours = environment_of(&config).await;
        let kubectl = format!("kubectl{flags}");
        let mut cluster = self.cluster(config, label, flags, kubectl, ours)?;
        cluster.kubectl_words = vec!["kubectl".into()];
        if let Some(path) = &self.kubeconfig {
            cluster.kubectl_words.push("--kubeconfig".into());
            cluster.kubectl_words.push(path.into());
        }
        if let Some(context) = &self.context {
            cluster.kubectl_words.push("--context".into());
            cluster.kubectl_words.push(context.into());
        }
        Ok(cluster)
    }

    fn cluster(
        &self,
        config: Config,
        label: String,
        mut flags: String,
        mut kubectl: String,
        environment: Option<Environment>,
    ) -> Result<Cluster, Failure> {
        let home = config.default_namespace.clone();
        let namespace = checked(self.namespace.as_deref().unwrap_or(&home))?.to_owned();
        if namespace != home {
            flags.push_str(&format!(" -n {namespace}"));
            kubectl.push_str(&format!(" -n {namespace}"));
        }
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| {
            let cause = format!("cannot build a client for {label}: {}", chain(&error));
            Failure::new(Exit::Environment, "VMC-KUBECONFIG", cause)
                .fix("check the certificates in the kubeconfig")
        })?;
        Ok(Cluster {
            client,
            namespace,
            label,
            server,
            ours: environment.is_some(),
            environment,
            namespace_named: self.namespace.is_some(),
            context_named: self.context.is_some(),
            kubectl_words: Vec::new(),
            flags,
            kubectl,
        })
    }
}

impl Cluster {
    /// A cluster behind a client that a test made.
    #[cfg(test)]
    pub(crate) fn for_tests(client: Client) -> Self {
        Self {
            client,
            namespace: "default".to_owned(),
            label: "environment test".to_owned(),
            server: "https://test".to_owned(),
            ours: true,
            environment: None,
            namespace_named: false,
            context_named: false,
            kubectl_words: vec!["kubectl".into()],
            flags: " --env test".to_owned(),
            kubectl: "vmctl kubectl --env test".to_owned(),
        }
    }

    /// The namespace of a manifest, unless the command line named another one.
    ///
    /// # Errors
    /// It did.
    pub(crate) fn settled(&self, named: &str) -> Result<String, Failure> {
        if self.namespace_named && named != self.namespace {
            let cause = format!("it is of namespace {named}, not of {}", self.namespace);
            return Err(Failure::new(Exit::Usage, "VMC-USAGE", cause).fix("leave out -n"));
        }
        checked(named).map(str::to_owned)
    }

    /// A command of vmctl for this cluster and namespace, to paste.
    pub(crate) fn vmctl(&self, words: &str) -> String {
        format!("vmctl {words}{}", self.flags)
    }

    /// A command of kubectl for this cluster and namespace, to paste.
    pub(crate) fn kubectl(&self, words: &str) -> String {
        format!("{} {words}", self.kubectl)
    }
}

fn checked(namespace: &str) -> Result<&str, Failure> {
    if is_name(namespace) {
        return Ok(namespace);
    }
    let cause = format!("{namespace:?} cannot be the name of a namespace");
    Err(Failure::new(Exit::Usage, "VMC-NAME", cause)
        .fix("a name has a to z, 0 to 9, '-' and '.': give another one with -n"))
}

/// Every environment has an authority of its own, so that the same authority means the same environment.
async fn environment_of(config: &Config) -> Option<Environment> {
    config.root_cert.as_ref()?;
    for name in Environment::all().unwrap_or_default() {
        let Ok(environment) = Environment::at(&name) else {
            continue;
        };
        if let Ok(own) = environment.config().await
            && own.root_cert == config.root_cert
            && own.cluster_url == config.cluster_url
        {
            return Some(environment);
        }
    }
    None
}
