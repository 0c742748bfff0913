//! Where an environment runs.

pub(crate) mod embedded;
