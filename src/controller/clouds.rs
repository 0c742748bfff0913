//! Which cloud an object uses: its ProviderConfig resolved to a provider that can be called.

use std::sync::Arc;

use crate::lifecycle::{Config, ConfigProblem};
use crate::provider::{Inventory, Provider};

/// Resolves ProviderConfigs. Answers from memory, without waiting: the ProviderConfigs' own loop keeps it fresh.
pub trait Clouds: Send + Sync + 'static {
    /// The provider that calls go to.
    type Cloud: Provider;

    /// The ProviderConfig of that name: what decisions read of it, and the way to the cloud.
    ///
    /// # Errors
    /// Why it cannot be used; the caller shows it and waits to be woken.
    fn resolve(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<(Config, Arc<Self::Cloud>), ConfigProblem>;

    /// The inventory of that ProviderConfig; `None` where there is none, and every look is a call.
    fn inventory(&self, namespace: &str, name: &str) -> Option<Arc<Inventory>> {
        let _ = (namespace, name);
        None
    }
}
