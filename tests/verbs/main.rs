//! The resource verbs of vmctl against a real API server. In the operator's place the tests write the status, so that
//! every outcome can be shown; `environment` has the real operator.
#![cfg(test)]

#[path = "../dash/pty.rs"]
#[cfg(test)]
mod pty;
#[path = "../sandbox/mod.rs"]
#[cfg(test)]
mod sandbox;
#[path = "../support/mod.rs"]
#[cfg(test)]
mod support;

#[cfg(test)]
mod apply;
#[cfg(test)]
mod completion;
#[cfg(test)]
mod create;
#[cfg(test)]
mod delete;
#[cfg(test)]
mod describe;
#[cfg(test)]
mod edit;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod events;
#[cfg(test)]
mod get;
#[cfg(test)]
mod manners;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod restart;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod selectors;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod transcripts;
#[cfg(test)]
mod wait;
#[cfg(test)]
mod watches;
