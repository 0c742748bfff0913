//! The verbs that are not about an environment itself. A new one gets a file here and a variant in `args`.

pub(crate) mod kubectl;
pub(crate) mod mock;
pub(crate) mod version;
