//! One pass over a ProviderConfig or over a Secret that one of them names.

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

use super::resolve::{Connect, check};
use super::{ConfigBook, Orphans, endpoint, is_protected, key_of, report};
use crate::api::{self, ProviderConfig};
use crate::controller::cluster::ClusterError;
use crate::controller::events::{EventSink, Kind, Regarding};
use crate::controller::kube::KubeCluster;
use crate::controller::{AFTER_CONFLICT, patch};
use crate::domain::{ErrorKind, ObjectKey, Uid};
use crate::lifecycle::{Config, ConfigProblem, Event, Losses, Requeue};
use crate::runtime::clock::Clock;
use crate::runtime::failpoint;

/// What the ProviderConfigs' queue holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConfigTarget {
    /// A ProviderConfig.
    Config(ObjectKey),
    /// A Secret that carries our finalizer, or once did.
    Secret(ObjectKey),
}

/// What a pass over a ProviderConfig needs to know of VirtualMachines.
pub trait Wakes: Send + Sync + 'static {
    /// How many VirtualMachines refer to it, departed ones included; `None` before all are known.
    fn users(&self, key: &ObjectKey) -> Option<usize>;
    /// How many of its VMs are missing at the provider.
    fn losses(&self, key: &ObjectKey) -> Losses;
    /// Those of the uids that no VirtualMachine bears, present or departed; `None` before all are known.
    fn without_object(&self, uids: HashSet<Uid>) -> Option<HashSet<Uid>>;
    /// How many departed objects still need it.
    fn departed(&self, key: &ObjectKey) -> usize;
    /// What is known of it changed: wakes every VirtualMachine that refers to it, in the low lane.
    fn wake(&self, key: &ObjectKey);
    /// It was written anew, or its Secret was: refusals of before are worth another try.
    fn changed(&self, key: &ObjectKey);
}

/// What a pass came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigPass {
    /// When to look again.
    pub requeue: Requeue,
    /// What was done, for the log line.
    pub summary: String,
}

/// The loop over ProviderConfigs.
pub struct ConfigReconciler<N: Connect> {
    /// The API server.
    pub cluster: KubeCluster,
    /// Builds clients.
    pub connect: N,
    /// The book that the VirtualMachines' loop reads.
    pub book: Arc<ConfigBook<N::Cloud>>,
    /// VirtualMachines.
    pub wakes: Arc<dyn Wakes>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Instances without an object.
    pub orphans: Arc<Orphans>,
    /// Who is told what happens.
    pub events: Arc<dyn EventSink>,
}

impl<N: Connect> ConfigReconciler<N> {
    /// One pass.
    pub async fn reconcile(&self, target: &ConfigTarget) -> ConfigPass {
        let result = match target {
            ConfigTarget::Config(key) => self.config(key).await,
            ConfigTarget::Secret(key) => self.secret(key).await,
        };
        result.unwrap_or_else(|error| ConfigPass {
            requeue: match error {
                ClusterError::Conflict | ClusterError::Gone => Requeue::After(AFTER_CONFLICT),
                ClusterError::Refused(_) | ClusterError::Unknown(_) => Requeue::Retry(None),
            },
            summary: error.to_string(),
        })
    }

    async fn config(&self, key: &ObjectKey) -> Result<ConfigPass, ClusterError> {
        // Past the store: it may be older than our last write, and a stale guard would only meet a conflict.
        let Some(config) = self.cluster.config(key).await? else {
            self.connect.forget(key);
            self.orphans.forget(key);
            self.book.vanished(key);
            self.wakes.wake(key);
            return Ok(done("gone"));
        };
        self.book.arrived(config.clone());
        let terminating = config.metadata.deletion_timestamp.is_some();
        if terminating && self.is_unused(key).await? {
            return self.release(config).await;
        }
        let config = if terminating || is_protected(&config) {
            config
        } else {
            self.protect(config).await?
        };
        let secret = self.named_secret(key, &config).await?;
        let before = self.book.checked(key);
        let made_of = before.as_ref().map(|checked| checked.made_of.clone());
        let in_use = self.wakes.users(key) != Some(0);
        let result = match endpoint::moved(&config, in_use) {
            Some(problem) => Err(problem),
            None => {
                let with = (&self.connect, self.cluster.identity());
                check(with, key, &config, secret.as_ref(), before).await
            }
        };
        let shown = result
            .as_ref()
            .map(|c| c.config.clone())
            .map_err(Clone::clone);
        if result
            .as_ref()
            .is_ok_and(|checked| made_of.as_ref() != Some(&checked.made_of))
        {
            self.wakes.changed(key);
        }
        if self
            .book
            .settle(key, config.metadata.uid.as_deref(), result)
        {
            self.wakes.wake(key);
        }
        let losses = self.wakes.losses(key);
        let shown = shown.map(|config| Config { losses, ..config });
        self.sweep(key, &config).await;
        self.record(&config, &shown).await?;
        if losses.missing == 0 && losses.unlooked == 0 && self.wakes.users(key).is_some() {
            self.all_are_there(key, &config).await?;
        }
        Ok(again(&config, &shown))
    }

    /// No VM is missing: a confirmation of losses was for those that were, not for the next ones.
    async fn all_are_there(
        &self,
        key: &ObjectKey,
        config: &ProviderConfig,
    ) -> Result<(), ClusterError> {
        if let Some((inventory, _)) = self.book.followed(key) {
            inventory.trust();
        }
        let annotations = config.metadata.annotations.as_ref();
        if annotations.is_some_and(|all| all.contains_key(api::CONFIRM_LOSS_ANNOTATION)) {
            // Past what the status write has changed.
            if let Some(newest) = self.cluster.config(key).await? {
                let without = json!({ "annotations": { api::CONFIRM_LOSS_ANNOTATION: null } });
                self.cluster.patch_metadata(&newest, without).await?;
            }
        }
        Ok(())
    }

    async fn is_unused(&self, key: &ObjectKey) -> Result<bool, ClusterError> {
        Ok(self.wakes.departed(key) == 0 && !self.cluster.config_is_used(key).await?)
    }

    async fn protect(&self, config: ProviderConfig) -> Result<ProviderConfig, ClusterError> {
        let with = finalizers_with(config.metadata.finalizers.as_deref());
        let written = self
            .cluster
            .patch_metadata(&config, json!({ "finalizers": with }))
            .await?;
        self.book.arrived(written.clone());
        Ok(written)
    }

    async fn release(&self, config: ProviderConfig) -> Result<ConfigPass, ClusterError> {
        if is_protected(&config) {
            let without = finalizers_without(config.metadata.finalizers.as_deref());
            self.cluster
                .patch_metadata(&config, json!({ "finalizers": without }))
                .await?;
        }
        Ok(done("released"))
    }

    /// The Secret that the config names, with our finalizer on it where it is to be protected.
    async fn named_secret(
        &self,
        key: &ObjectKey,
        config: &ProviderConfig,
    ) -> Result<Option<Secret>, ClusterError> {
        let Some(reference) = &config.spec.secret_ref else {
            self.note_protection(key, true);
            return Ok(None);
        };
        let name = ObjectKey::new(Arc::clone(&key.namespace), reference.name.as_str());
        let Some(secret) = self.cluster.secret(&name).await? else {
            self.note_protection(key, false);
            return Ok(None);
        };
        let wanted = reference.protect && config.metadata.deletion_timestamp.is_none();
        let there = has_finalizer(&secret);
        let going = secret.metadata.deletion_timestamp.is_some();
        let secret = if wanted && !there && !going {
            let with = finalizers_with(secret.metadata.finalizers.as_deref());
            self.cluster
                .patch_metadata(&secret, json!({ "finalizers": with }))
                .await?
        } else {
            secret
        };
        self.note_protection(key, has_finalizer(&secret) || !reference.protect);
        Ok(Some(secret))
    }

    fn note_protection(&self, key: &ObjectKey, protected: bool) {
        if self.book.secret_protected(key, protected) {
            self.wakes.wake(key);
        }
    }

    /// A Secret with our finalizer that nothing needs any more gets it off, so that it can go.
    async fn secret(&self, key: &ObjectKey) -> Result<ConfigPass, ClusterError> {
        if !self.book.has_listed() {
            // Who names it is not known yet.
            return Ok(ConfigPass {
                requeue: Requeue::Retry(None),
                summary: "waits for the list of ProviderConfigs".to_owned(),
            });
        }
        let Some(secret) = self.cluster.secret(key).await? else {
            return Ok(done("gone"));
        };
        if !has_finalizer(&secret) || self.secret_is_needed(key, &secret).await? {
            return Ok(done("kept"));
        }
        let without = finalizers_without(secret.metadata.finalizers.as_deref());
        self.cluster
            .patch_metadata(&secret, json!({ "finalizers": without }))
            .await?;
        Ok(done("released"))
    }

    async fn secret_is_needed(
        &self,
        key: &ObjectKey,
        secret: &Secret,
    ) -> Result<bool, ClusterError> {
        let going = secret.metadata.deletion_timestamp.is_some();
        for (config, protect) in self.book.users_of_secret(key) {
            // While it stays, one mark more or less harms nobody; once it goes, only VMs are worth holding it.
            if protect && (!going || !self.is_unused(&config).await?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn record(
        &self,
        config: &ProviderConfig,
        result: &Result<Config, ConfigProblem>,
    ) -> Result<(), ClusterError> {
        let old = config.status.clone().unwrap_or_default();
        let key = key_of(&config.metadata);
        let mut new = report::status(
            &old,
            result.as_ref(),
            &config.spec.endpoint,
            self.wakes.users(&key),
            config.metadata.generation,
            self.clock.wall(),
        );
        new.orphans = self.orphans.shown(&key, old.orphans);
        if new.orphans != old.orphans {
            failpoint::reach("report-orphans");
        }
        let value = |status| serde_json::to_value(status).unwrap_or_default();
        if let Some(difference) = patch::between(&value(&old), &value(&new)) {
            let written = self.cluster.patch_config_status(config, difference).await?;
            self.book.arrived(written);
            let orphans = self.orphans.of(&key);
            for event in report::events(&old, &new, &orphans) {
                self.tell(config, event);
            }
        }
        Ok(())
    }

    fn tell(&self, config: &ProviderConfig, event: Event) {
        let about = Regarding {
            kind: Kind::ProviderConfig,
            key: key_of(&config.metadata),
            uid: Uid::new(config.metadata.uid.as_deref().unwrap_or_default()),
        };
        self.events.tell(about, event);
    }
}

fn done(summary: &str) -> ConfigPass {
    ConfigPass {
        requeue: Requeue::OnChange,
        summary: summary.to_owned(),
    }
}

/// A config that works is looked at once in a poll interval; one that does not, by back-off.
fn again(config: &ProviderConfig, result: &Result<Config, ConfigProblem>) -> ConfigPass {
    let poll = std::time::Duration::from_secs(u64::from(config.spec.poll_interval_seconds));
    match result {
        Ok(_) => ConfigPass {
            requeue: Requeue::Steady(poll),
            summary: "usable".to_owned(),
        },
        Err(problem) => ConfigPass {
            requeue: match problem.error.as_ref().map(|error| error.kind) {
                None => Requeue::Steady(std::time::Duration::from_mins(5)),
                Some(ErrorKind::Unauthorized | ErrorKind::Forbidden) => {
                    Requeue::Retry(Some(std::time::Duration::from_mins(1)))
                }
                Some(_) => Requeue::Retry(problem.error.as_ref().and_then(|e| e.retry_after)),
            },
            summary: format!("{}: {}", problem.reason, problem.message),
        },
    }
}

fn has_finalizer(secret: &Secret) -> bool {
    let finalizers = secret.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|f| f == api::IN_USE_FINALIZER)
}

fn finalizers_with(old: Option<&[String]>) -> Vec<String> {
    let mut list = old.unwrap_or_default().to_vec();
    list.push(api::IN_USE_FINALIZER.to_owned());
    list
}

fn finalizers_without(old: Option<&[String]>) -> Vec<String> {
    let mut list = old.unwrap_or_default().to_vec();
    list.retain(|finalizer| finalizer != api::IN_USE_FINALIZER);
    list
}
