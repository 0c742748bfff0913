//! Named environments: everything that `vmctl up` makes, in one directory per name.

pub(crate) mod apply;
pub(crate) mod command;
mod context;
pub(crate) mod counts;
pub(crate) mod down;
mod drift;
pub(crate) mod forward;
pub(crate) mod journal;
pub(crate) mod leftovers;
mod machine;
pub(crate) mod manifests;
pub(crate) mod name;
pub(crate) mod outlets;
mod rehearsal;
pub(crate) mod report;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod steps;
mod summary;
pub(crate) mod up;
pub(crate) mod workload;

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::files;
use crate::hint::{Exit, Failure, chain};
use crate::runtime::embedded::kubeconfig;
use crate::runtime::kind::record::Record;
use name::Name;
use state::{Plan, State};

/// Which environment a command works on.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Selection {
    /// Name of the environment
    #[arg(
        long = "env",
        env = "VMCTL_ENV",
        hide_env_values = true,
        value_name = "NAME",
        default_value = "dev",
        add = crate::verbs::completion::environments()
    )]
    pub(crate) name: Name,
}

/// An environment and the places of its files.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    name: Name,
    dir: PathBuf,
}

impl Environment {
    /// The environment of that name, whether it exists or not.
    ///
    /// # Errors
    /// There is no home directory.
    pub(crate) fn at(name: &Name) -> Result<Self, Failure> {
        Ok(Self {
            name: name.clone(),
            dir: all_dir()?.join(name.as_str()),
        })
    }

    /// The environment of that name, which must be up: verbs that use an environment start here.
    ///
    /// # Errors
    /// [`Exit::NotFound`] when it does not exist, [`Exit::Environment`] when nothing of it runs.
    pub(crate) fn open(name: &Name) -> Result<Self, Failure> {
        let environment = Self::at(name)?;
        let up = format!("vmctl up --env {name}");
        if !environment.dir.is_dir() {
            let cause = format!("there is no environment {name}");
            return Err(Failure::new(Exit::NotFound, "VMC-NO-ENVIRONMENT", cause).fix(up));
        }
        let there = environment.running()?.is_some()
            || environment.kind()?.is_some_and(|record| record.complete);
        if !there {
            let cause = format!("environment {name} exists, but nothing of it runs");
            return Err(Failure::new(Exit::Environment, "VMC-NOT-RUNNING", cause).fix(up));
        }
        Ok(environment)
    }

    /// The names of all environments that exist.
    ///
    /// # Errors
    /// There is no home directory.
    pub(crate) fn all() -> Result<Vec<Name>, Failure> {
        let entries = std::fs::read_dir(all_dir()?)
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<Name> = entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        names.sort();
        Ok(names)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    /// Its directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// Client settings of the administrator. They are fixed from here on: what happens to the file later does not
    /// redirect a running command.
    ///
    /// # Errors
    /// The kubeconfig is missing or damaged.
    pub(crate) async fn config(&self) -> Result<kube::Config, Failure> {
        kubeconfig::config(&self.kubeconfig())
            .await
            .map_err(|error| self.unusable(&error))
    }

    /// The administrator's client.
    ///
    /// # Errors
    /// As [`Environment::config`].
    pub(crate) async fn client(&self) -> Result<kube::Client, Failure> {
        kubeconfig::client(&self.kubeconfig())
            .await
            .map_err(|error| self.unusable(&error))
    }

    /// What its supervisor last said about itself; `None` when it never said anything.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub(crate) fn state(&self) -> Result<Option<State>, Failure> {
        self.read(&self.dir.join("state.json"))
    }

    /// The same, but only of a supervisor that runs.
    ///
    /// # Errors
    /// As [`Environment::state`].
    pub(crate) fn running(&self) -> Result<Option<State>, Failure> {
        Ok(self.state()?.filter(|state| state.supervisor.is_alive()))
    }

    /// What is wanted of the supervisor.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub(crate) fn plan(&self) -> Result<Option<Plan>, Failure> {
        self.read(&self.dir.join("plan.json"))
    }

    /// What is known about its cluster, if it is one of kind.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub(crate) fn kind(&self) -> Result<Option<Record>, Failure> {
        Record::read(&self.dir).map_err(|error| self.unusable(&error))
    }

    /// Says what is known about its cluster. True when that is new.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn set_kind(&self, record: &Record) -> Result<bool, Failure> {
        record
            .write(&self.dir)
            .map_err(|error| self.unusable(&error))
    }

    /// It is not, or no longer, one of kind.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub(crate) fn forget_kind(&self) -> Result<(), Failure> {
        Record::remove(&self.dir).map_err(|error| self.unusable(&error))
    }

    /// Says what is wanted of the supervisor. True when that is new.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn set_plan(&self, plan: &Plan) -> Result<bool, Failure> {
        let text = serde_json::to_vec_pretty(plan).map_err(|error| self.unusable(&error))?;
        files::write_if_changed(&self.dir.join("plan.json"), &text)
            .map_err(|error| self.unusable(&error))
    }

    /// Takes the environment for oneself until the lock is dropped.
    ///
    /// # Errors
    /// [`Exit::Conflict`] when another command works on it.
    pub(crate) fn lock(&self) -> Result<files::Lock, Failure> {
        let path = self.dir.join("lock");
        match files::Lock::try_take(&path).map_err(|error| self.unusable(&error))? {
            Some(lock) => Ok(lock),
            None => {
                let holder = files::Lock::holder(&path)
                    .map_or(String::new(), |pid| format!(", process {pid}"));
                let cause = format!("another vmctl works on environment {}{holder}", self.name);
                Err(Failure::new(Exit::Conflict, "VMC-LOCKED", cause)
                    .fix("wait until it has ended, or end it"))
            }
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, Failure> {
        let Some(text) = files::read_optional(path).map_err(|error| self.unusable(&error))? else {
            return Ok(None);
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            let cause = format!("{} is damaged: {error}", path.display());
            Failure::new(Exit::Environment, "VMC-STATE", cause).fix(self.remove_command())
        })
    }

    fn unusable(&self, error: &dyn std::error::Error) -> Failure {
        let cause = format!("environment {} cannot be used: {}", self.name, chain(error));
        Failure::new(Exit::Environment, "VMC-ENVIRONMENT", cause).fix(self.remove_command())
    }

    fn remove_command(&self) -> String {
        format!(
            "remove it and make it anew: vmctl down --env {0} && vmctl up --env {0}",
            self.name
        )
    }
}

/// `$XDG_STATE_HOME/vmctl/env`.
fn all_dir() -> Result<PathBuf, Failure> {
    let no_home = |cause: String| {
        Failure::new(Exit::Environment, "VMC-HOME", cause).fix("set HOME or XDG_STATE_HOME")
    };
    let base = etcetera::choose_base_strategy().map_err(|error| no_home(chain(&error)))?;
    let state = base
        .state_dir()
        .ok_or_else(|| no_home("there is no state directory".to_owned()))?;
    Ok(state.join("vmctl").join("env"))
}
