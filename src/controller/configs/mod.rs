//! ProviderConfigs: their own loop, and the book in which the loop over VirtualMachines looks them up.

mod endpoint;
mod orphans;
mod pass;
mod report;
mod resolve;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use orphans::Orphans;
pub use pass::{ConfigPass, ConfigReconciler, ConfigTarget, Wakes};
pub use resolve::{Connect, Connection};

use super::clouds::Clouds;
use crate::api::condition::{ConditionType, find};
use crate::api::{self, ProviderConfig};
use crate::domain::{ObjectKey, Reason};
use crate::lifecycle::{Config, ConfigProblem};
use crate::provider::{Inventory, Provider};

/// What is known of every ProviderConfig. Filled by the watch and by the ProviderConfigs' loop.
pub struct ConfigBook<P> {
    entries: Mutex<HashMap<ObjectKey, Entry<P>>>,
    listed: AtomicBool,
}

struct Entry<P> {
    stored: Arc<ProviderConfig>,
    /// Whether the Secret carries our finalizer, or needs none.
    secret_protected: bool,
    checked: Option<Result<Checked<P>, ConfigProblem>>,
    /// Its credentials were refused since: whoever refers to it waits for the next check, whatever it shows.
    doubted: bool,
}

/// A ProviderConfig that was found usable.
pub(super) struct Checked<P> {
    pub(super) config: Config,
    pub(super) cloud: Arc<P>,
    pub(super) made_of: MadeOf,
    /// Whoever runs it asks the book for it.
    pub(super) inventory: Option<Arc<Inventory>>,
}

impl<P> Clone for Checked<P> {
    fn clone(&self) -> Self {
        Self {
            config: self.config.clone(),
            cloud: Arc::clone(&self.cloud),
            made_of: self.made_of.clone(),
            inventory: self.inventory.clone(),
        }
    }
}

/// What a client was built from: it is built anew when any of it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MadeOf {
    pub(super) uid: String,
    pub(super) generation: i64,
    /// Uid and version of the Secret.
    pub(super) secret: Option<(String, String)>,
}

impl<P> Default for ConfigBook<P> {
    fn default() -> Self {
        Self {
            entries: Mutex::default(),
            listed: AtomicBool::new(false),
        }
    }
}

impl<P: Provider> ConfigBook<P> {
    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, Entry<P>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The watch delivered a version.
    pub fn arrived(&self, config: ProviderConfig) {
        let key = key_of(&config.metadata);
        let mut entries = self.lock();
        let config = Arc::new(config);
        match entries.get_mut(&key) {
            Some(entry) if entry.stored.metadata.uid == config.metadata.uid => {
                entry.stored = config;
            }
            Some(_) | None => {
                let fresh = Entry {
                    stored: config,
                    secret_protected: false,
                    checked: None,
                    doubted: false,
                };
                entries.insert(key, fresh);
            }
        }
    }

    /// The watch says that it is gone.
    pub fn vanished(&self, key: &ObjectKey) {
        self.lock().remove(key);
    }

    /// The first list is complete: from now on what is not in the book does not exist.
    pub fn listed(&self) {
        self.listed.store(true, Ordering::SeqCst);
    }

    /// Whether the first list is complete.
    #[must_use]
    pub fn has_listed(&self) -> bool {
        self.listed.load(Ordering::SeqCst)
    }

    /// Its credentials were refused in the middle of work.
    pub fn doubted(&self, key: &ObjectKey) {
        if let Some(entry) = self.lock().get_mut(key) {
            entry.doubted = true;
        }
    }

    /// Whether deletion of the ProviderConfig was asked for.
    #[must_use]
    pub fn is_going(&self, key: &ObjectKey) -> bool {
        let entries = self.lock();
        entries
            .get(key)
            .is_some_and(|entry| entry.stored.metadata.deletion_timestamp.is_some())
    }

    /// Whether the status of the ProviderConfig says that a mass loss is suspected.
    #[must_use]
    pub fn shows_losses(&self, key: &ObjectKey) -> bool {
        let entries = self.lock();
        let status = entries.get(key).and_then(|e| e.stored.status.as_ref());
        let ready = status.and_then(|s| find(&s.conditions, ConditionType::Ready));
        ready.is_some_and(|ready| ready.reason == Reason::MassLossSuspected.as_str())
    }

    /// The ProviderConfigs of a namespace whose deletion was asked for.
    #[must_use]
    pub fn going_in(&self, namespace: &str) -> Vec<ObjectKey> {
        let going = |entry: &Entry<P>| entry.stored.metadata.deletion_timestamp.is_some();
        let entries = self.lock();
        let here = entries
            .iter()
            .filter(|(key, _)| *key.namespace == *namespace);
        here.filter(|(_, entry)| going(entry))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// The ProviderConfigs of a namespace that name this Secret, and whether each wants it protected.
    #[must_use]
    pub fn users_of_secret(&self, secret: &ObjectKey) -> Vec<(ObjectKey, bool)> {
        let names = |entry: &Entry<P>| {
            let reference = entry.stored.spec.secret_ref.as_ref()?;
            (reference.name == *secret.name).then_some(reference.protect)
        };
        self.lock()
            .iter()
            .filter(|(key, _)| key.namespace == secret.namespace)
            .filter_map(|(key, entry)| Some((key.clone(), names(entry)?)))
            .collect()
    }

    /// Whether any ProviderConfig names this Secret.
    #[must_use]
    pub fn names_secret(&self, secret: &ObjectKey) -> bool {
        self.lock().iter().any(|(key, entry)| {
            let reference = entry.stored.spec.secret_ref.as_ref();
            key.namespace == secret.namespace
                && reference.is_some_and(|reference| reference.name == *secret.name)
        })
    }

    /// The inventory of a usable ProviderConfig, and the provider that it is to follow.
    #[must_use]
    pub fn followed(&self, key: &ObjectKey) -> Option<(Arc<Inventory>, Arc<P>)> {
        let checked = self.checked(key)?;
        Some((checked.inventory?, checked.cloud))
    }

    pub(super) fn checked(&self, key: &ObjectKey) -> Option<Checked<P>> {
        let entries = self.lock();
        entries.get(key)?.checked.as_ref()?.as_ref().ok().cloned()
    }

    pub(super) fn secret_protected(&self, key: &ObjectKey, protected: bool) -> bool {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(key) else {
            return false;
        };
        std::mem::replace(&mut entry.secret_protected, protected) != protected
    }

    /// Takes the result of a check; says whether VirtualMachines have to hear of it.
    pub(super) fn settle(
        &self,
        key: &ObjectKey,
        uid: Option<&str>,
        result: Result<Checked<P>, ConfigProblem>,
    ) -> bool {
        let mut entries = self.lock();
        let entry = entries.get_mut(key);
        let Some(entry) = entry.filter(|e| e.stored.metadata.uid.as_deref() == uid) else {
            return false;
        };
        let same = match (&entry.checked, &result) {
            (Some(Ok(old)), Ok(new)) => old.config == new.config && old.made_of == new.made_of,
            (Some(Err(old)), Err(new)) => old.reason == new.reason && old.message == new.message,
            (Some(Ok(_)), Err(_)) | (Some(Err(_)), Ok(_)) | (None, Ok(_) | Err(_)) => false,
        };
        entry.checked = Some(result);
        std::mem::take(&mut entry.doubted) || !same
    }
}

impl<P: Provider> Clouds for Arc<ConfigBook<P>> {
    type Cloud = P;

    fn resolve(&self, namespace: &str, name: &str) -> Result<(Config, Arc<P>), ConfigProblem> {
        let entries = self.lock();
        let Some(entry) = entries.get(&ObjectKey::new(namespace, name)) else {
            return Err(if self.listed.load(Ordering::SeqCst) {
                problem(
                    Reason::ProviderConfigNotFound,
                    format!("there is no ProviderConfig {name:?} in this namespace; create it"),
                )
            } else {
                pending(name)
            });
        };
        match &entry.checked {
            None => Err(pending(name)),
            Some(Err(problem)) => Err(problem.clone()),
            Some(Ok(checked)) => {
                let config = Config {
                    terminating: entry.stored.metadata.deletion_timestamp.is_some(),
                    protected: is_protected(&entry.stored) && entry.secret_protected,
                    paused: is_paused(&entry.stored),
                    confirmed_loss: confirmed_loss(&entry.stored),
                    ..checked.config.clone()
                };
                Ok((config, Arc::clone(&checked.cloud)))
            }
        }
    }

    fn inventory(&self, namespace: &str, name: &str) -> Option<Arc<Inventory>> {
        self.checked(&ObjectKey::new(namespace, name))?.inventory
    }
}

pub(super) fn problem(reason: Reason, message: String) -> ConfigProblem {
    ConfigProblem {
        reason,
        message,
        error: None,
    }
}

fn pending(name: &str) -> ConfigProblem {
    let message = format!("ProviderConfig {name:?} has not been checked yet");
    problem(Reason::ProviderConfigPending, message)
}

pub(super) fn is_protected(config: &ProviderConfig) -> bool {
    let finalizers = config.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|f| f == api::IN_USE_FINALIZER)
}

fn is_paused(config: &ProviderConfig) -> bool {
    let annotations = config.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(api::PAUSED_ANNOTATION))
        .is_some_and(|value| value == "true")
}

/// How many missing instances the user confirms to be lost.
pub(super) fn confirmed_loss(config: &ProviderConfig) -> Option<u32> {
    let annotations = config.metadata.annotations.as_ref()?;
    annotations
        .get(api::CONFIRM_LOSS_ANNOTATION)?
        .trim()
        .parse()
        .ok()
}

/// Namespace and name of an object.
pub(crate) fn key_of(
    meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
) -> ObjectKey {
    ObjectKey::new(
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default(),
    )
}
