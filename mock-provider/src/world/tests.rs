//! The world.
