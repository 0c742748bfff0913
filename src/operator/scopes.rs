//! Where to look: everywhere by one watch for each kind, or in some namespaces by one watch each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Resource};

use super::Parts;
use crate::runtime::watch::{Arrival, WatchStatus};
use crate::settings::Settings;
use crate::telemetry::health::Checks;

/// One watch's part of the cluster: a namespace, or all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope(Option<String>);

/// The part that one watch has in the first lists of all watches on a kind.
pub(super) struct FirstList {
    open: Arc<AtomicUsize>,
    done: AtomicBool,
}

impl Scope {
    /// One for each namespace of the settings, or one for all.
    pub(super) fn all(settings: &Settings) -> Vec<Self> {
        let mut names = settings.namespaces.clone();
        names.sort();
        names.dedup();
        if names.is_empty() {
            return vec![Self(None)];
        }
        names.into_iter().map(|name| Self(Some(name))).collect()
    }

    /// What the watch on a kind asks.
    pub(super) fn api<K>(&self, parts: &Parts) -> Api<Arrival<K>>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        match &self.0 {
            None => Api::all(parts.client.clone()),
            Some(name) => Api::namespaced(parts.client.clone(), name),
        }
    }

    /// What the watch is told of where it looks.
    pub(super) fn name(&self) -> Option<String> {
        self.0.clone()
    }

    /// Not ready before this watch has listed.
    pub(super) fn awaits(&self, ready: &Checks, what: &str, status: Arc<WatchStatus>) {
        let name = match &self.0 {
            None => format!("{what}-listed"),
            Some(namespace) => format!("{what}-listed-in-{namespace}"),
        };
        ready.add(name, move || {
            if status.is_listed() {
                return Ok(());
            }
            Err(status
                .failure()
                .map_or_else(|| "not yet".to_owned(), |failure| failure.to_string()))
        });
    }
}

impl FirstList {
    /// One for each of so many watches.
    pub(super) fn of(watches: usize) -> impl Iterator<Item = Self> {
        let open = Arc::new(AtomicUsize::new(watches));
        (0..watches).map(move |_| Self {
            open: Arc::clone(&open),
            done: AtomicBool::new(false),
        })
    }

    /// This watch has listed, perhaps again. Whether all of them have by now.
    pub(super) fn complete(&self) -> bool {
        let first = !self.done.swap(true, Ordering::SeqCst);
        if first {
            self.open.fetch_sub(1, Ordering::SeqCst) == 1
        } else {
            self.open.load(Ordering::SeqCst) == 0
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn scopes(flags: &[&str]) -> Vec<Scope> {
        let args = ["vmoperator"].iter().chain(flags);
        Scope::all(&Settings::parse_from(args))
    }

    #[test]
    fn without_namespaces_everything_is_looked_at_and_each_namespace_only_once() {
        let named = |name: &str| Scope(Some(name.to_owned()));
        assert_eq!(scopes(&[]), [Scope(None)]);
        assert_eq!(
            scopes(&["--namespaces=b,a", "--namespaces", "b"]),
            [named("a"), named("b")]
        );
    }

    #[test]
    fn an_empty_name_is_refused_because_it_would_mean_all_of_them() {
        for bad in [
            "--namespaces=",
            "--namespaces=a,",
            "--namespaces=A",
            "--namespaces=a_b",
        ] {
            assert!(
                Settings::try_parse_from(["vmoperator", bad]).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn the_first_list_is_complete_when_the_last_watch_has_listed() {
        let all: Vec<FirstList> = FirstList::of(2).collect();
        assert!(!all[0].complete());
        assert!(!all[0].complete(), "the same one again");
        assert!(all[1].complete());
        assert!(all[0].complete(), "and from then on");
    }
}
