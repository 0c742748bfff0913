//! Mock cloud.
