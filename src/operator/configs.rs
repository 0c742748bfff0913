//! The loop over ProviderConfigs and the Secrets that they name, wired: watches → queue → workers.

use std::fmt::Debug;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use kube::Resource;
use kube::core::PartialObjectMeta;
use serde::de::DeserializeOwned;
use tracing::Span;

use super::Parts;
use super::connect::{Cloud, HttpConnect};
use super::inventories::Inventories;
use super::machines::{Machines, outcome};
use super::ports::Task;
use super::scopes::{FirstList, Scope};
use crate::api::{ANNOTATION_PREFIX, IN_USE_FINALIZER, ProviderConfig};
use crate::controller::View;
use crate::controller::configs::{ConfigBook, ConfigReconciler, ConfigTarget, key_of};
use crate::domain::ObjectKey;
use crate::provider::limited::Standing;
use crate::runtime::queue::WorkQueue;
use crate::runtime::schedule::{Job, Lane, Options as Waits, Tenant};
use crate::runtime::watch::{Event, Listener, Options as Watching, Wake, Watch, Watched};
use crate::runtime::workers::{Options, Pass, Reconcile, Workers};
use crate::telemetry::health::Checks;

/// The loop's name in metrics.
const NAME: &str = "providerconfig";
/// Longest pass (3 min): a probe may take two minutes.
const PASS_LIMIT: Duration = Duration::from_mins(3);
/// ProviderConfigs looked at at the same time: there are few, and one slow provider must not hold up the others.
const CONCURRENCY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

impl Tenant for ConfigTarget {
    fn tenant(&self) -> &str {
        match self {
            Self::Config(key) | Self::Secret(key) => &key.namespace,
        }
    }
}

/// Queue and loop of ProviderConfigs.
#[derive(Clone)]
pub(super) struct Configs {
    reconciler: Arc<ConfigReconciler<HttpConnect>>,
    book: Arc<ConfigBook<Cloud>>,
    queue: WorkQueue<ConfigTarget>,
    inventories: Inventories,
}

impl Configs {
    pub(super) fn new(parts: &Parts, machines: &Machines, inventories: &Inventories) -> Self {
        let queue = WorkQueue::new(
            Waits::default(),
            fastrand::Rng::new(),
            Arc::clone(&parts.clock),
            parts.queues.observer(NAME),
        );
        parts.queues.watch(NAME, &queue);
        let refused = check_again(Arc::clone(&parts.book), queue.clone());
        let reconciler = ConfigReconciler {
            cluster: parts.cluster.clone(),
            connect: HttpConnect::new(parts, refused),
            book: Arc::clone(&parts.book),
            wakes: Arc::new(machines.clone()),
            clock: Arc::clone(&parts.clock),
            orphans: Arc::default(),
            events: Arc::clone(&parts.events),
        };
        let (book, going) = (Arc::clone(&parts.book), queue.clone());
        machines.on_finished(move |namespace| {
            for config in book.going_in(namespace) {
                going.add(ConfigTarget::Config(config), Lane::High);
            }
        });
        let (book, suspect) = (Arc::clone(&parts.book), queue.clone());
        machines.on_suspected(move |config| {
            if !book.shows_losses(&config) {
                suspect.add(ConfigTarget::Config(config), Lane::High);
            }
        });
        Self {
            reconciler: Arc::new(reconciler),
            book: Arc::clone(&parts.book),
            queue,
            inventories: inventories.clone(),
        }
    }

    pub(super) fn queue(&self) -> WorkQueue<ConfigTarget> {
        self.queue.clone()
    }

    /// How many ProviderConfigs are looked at at the same time.
    pub(super) const fn concurrency() -> usize {
        CONCURRENCY.get()
    }

    /// How the limits of each ProviderConfig stand.
    pub(super) fn standings(&self) -> Vec<(ObjectKey, Standing)> {
        self.reconciler.connect.standings()
    }

    /// How many instances without an object are known.
    pub(super) fn orphans(&self) -> usize {
        self.reconciler.orphans.total()
    }

    /// A VirtualMachine went: a ProviderConfig that waits for that may go now.
    pub(super) fn user_went(&self, view: &View) {
        let object = &view.object;
        let key = ObjectKey::new(
            Arc::clone(&object.key.namespace),
            object.provider_ref.as_str(),
        );
        if self.book.is_going(&key) {
            self.queue.add(ConfigTarget::Config(key), Lane::High);
        }
    }

    pub(super) fn watches(&self, parts: &Parts, ready: &Checks) -> Vec<Task> {
        let scopes = Scope::all(&parts.settings);
        let mut tasks: Vec<Task> = Vec::new();
        for (scope, first_list) in scopes.iter().zip(FirstList::of(scopes.len())) {
            let listener = ConfigListener {
                configs: self.clone(),
                first_list,
            };
            let configs = self.watch::<ProviderConfig, _>(parts, scope, listener);
            scope.awaits(ready, "providerconfigs", configs.status());
            tasks.push(Box::pin(configs.run()));
            if parts.settings.watch_secrets {
                let secrets = SecretListener(self.clone());
                let secrets = self.watch::<PartialObjectMeta<Secret>, _>(parts, scope, secrets);
                tasks.push(Box::pin(secrets.run()));
            }
        }
        tasks
    }

    fn watch<K, L>(&self, parts: &Parts, scope: &Scope, listener: L) -> Watch<K, L>
    where
        K: Resource<Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + Sync
            + 'static,
        K::DynamicType: Default,
        L: Listener<K>,
    {
        let watch = Watch::new(
            scope.api(parts),
            Watching {
                scope: scope.name(),
                ..Watching::default()
            },
            listener,
            Arc::clone(&parts.clock),
            fastrand::Rng::new(),
            parts.watches.clone(),
        );
        parts.watches.watch(watch.status());
        watch
    }

    pub(super) fn start(&self, parts: &Parts) -> Workers<ConfigTarget> {
        Workers::start(
            self.queue.clone(),
            Options {
                concurrency: CONCURRENCY,
                pass_limit: PASS_LIMIT,
            },
            Arc::new(self.clone()),
            Arc::clone(&parts.clock),
            parts.passes.observer(NAME, CONCURRENCY),
        )
    }
}

/// Credentials were refused in the middle of work: they may have been replaced a moment ago, whether or not a watch says
/// so.
fn check_again(
    book: Arc<ConfigBook<Cloud>>,
    queue: WorkQueue<ConfigTarget>,
) -> impl Fn(&ObjectKey) + Send + Sync + 'static {
    move |key| {
        book.doubted(key);
        queue.cut_short(ConfigTarget::Config(key.clone()));
    }
}

impl Reconcile<ConfigTarget> for Configs {
    fn span(&self, job: &Job<ConfigTarget>, pass: u64) -> Span {
        match &job.key {
            ConfigTarget::Config(key) => tracing::info_span!(
                "pass", kind = "ProviderConfig", namespace = %key.namespace, name = %key.name, pass
            ),
            ConfigTarget::Secret(key) => tracing::info_span!(
                "pass", kind = "Secret", namespace = %key.namespace, name = %key.name, pass
            ),
        }
    }

    async fn reconcile(&self, job: &Job<ConfigTarget>) -> Pass {
        let pass = self.reconciler.reconcile(&job.key).await;
        if let ConfigTarget::Config(key) = &job.key {
            self.inventories.follow(key);
        }
        Pass {
            outcome: outcome(pass.requeue),
            summary: pass.summary,
            changed: false,
        }
    }
}

struct ConfigListener {
    configs: Configs,
    first_list: FirstList,
}

impl Listener<ProviderConfig> for ConfigListener {
    fn fingerprint(&self, object: &ProviderConfig) -> u64 {
        Watched {
            finalizer: IN_USE_FINALIZER,
            annotation_prefix: ANNOTATION_PREFIX,
            labels: &[],
        }
        .fingerprint(&object.metadata)
    }

    fn on_event(&self, event: Event<ProviderConfig>) {
        let configs = &self.configs;
        match event {
            Event::Created(object) | Event::Added(object) | Event::Changed { new: object, .. } => {
                if let Some(config) = object.sound() {
                    configs.book.arrived(config.as_ref().clone());
                }
            }
            Event::Removed(object) => {
                configs.book.vanished(&object.key());
                let spec = object
                    .sound()
                    .and_then(|config| config.spec.secret_ref.clone());
                if let Some(reference) = spec {
                    let key = ObjectKey::new(object.key().namespace, reference.name);
                    configs.queue.add(ConfigTarget::Secret(key), Lane::High);
                }
            }
            // What arrives replaces what was known, whatever its version.
            Event::ListingAgain | Event::WentBack => {}
            Event::Listed => {
                if self.first_list.complete() {
                    configs.book.listed();
                }
            }
        }
    }

    fn wake(&self, key: &ObjectKey, _why: Wake) {
        let target = ConfigTarget::Config(key.clone());
        self.configs.queue.cut_short(target);
    }
}

fn is_marked(meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> bool {
    let finalizers = meta.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|one| one == IN_USE_FINALIZER)
}

/// Metadata of the Secrets that a ProviderConfig names or that bear our mark; all others are dropped as they arrive.
/// What one of them holds is read by the pass that needs it.
struct SecretListener(Configs);

impl Listener<PartialObjectMeta<Secret>> for SecretListener {
    fn prune(&self, object: &mut PartialObjectMeta<Secret>) {
        object.metadata.annotations = None;
        object.metadata.labels = None;
    }

    fn keeps(&self, object: &PartialObjectMeta<Secret>) -> bool {
        is_marked(&object.metadata) || self.0.book.names_secret(&key_of(&object.metadata))
    }

    fn fingerprint(&self, object: &PartialObjectMeta<Secret>) -> u64 {
        // Every version counts: a Secret has no generation, and its data are not watched.
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        object.metadata.resource_version.hash(&mut hasher);
        hasher.finish()
    }

    fn on_event(&self, event: Event<PartialObjectMeta<Secret>>) {
        // One that bears our mark at the start may be left over: its ProviderConfig went, and then a process ended.
        let Event::Added(object) = event else { return };
        if is_marked(object.meta()) {
            let key = ConfigTarget::Secret(object.key());
            self.0.queue.add(key, Lane::Low);
        }
    }

    fn wake(&self, key: &ObjectKey, why: Wake) {
        let Self(configs) = self;
        for (config, _) in configs.book.users_of_secret(key) {
            configs.queue.cut_short(ConfigTarget::Config(config));
        }
        // Only what carries our finalizer, or once did, is worth a read; the pass itself finds out.
        if why == Wake::Changed && configs.book.has_listed() {
            configs
                .queue
                .add(ConfigTarget::Secret(key.clone()), Lane::Low);
        }
    }
}
