//! The resource verbs of vmctl against a real API server. In the operator's place the tests write the status, so that
//! every outcome can be shown; `environment` has the real operator.
#![cfg(test)]

#[path = "../sandbox/mod.rs"]
mod sandbox;
#[path = "../support/mod.rs"]
mod support;

mod create;
mod delete;
mod environment;
mod get;
mod manners;
mod restart;
mod scene;
mod wait;
