//! A real control plane as child processes on loopback: etcd, kube-apiserver and, where found,
//! kube-controller-manager.
//!
//! Reading order: `binaries` finds the programs, `pki` and `kubeconfig` make the files they need, `components`
//! spells their command lines, `child` starts one so that it cannot outlive us, `plane` runs them as one unit, and
//! `foreground` is the command that the tests of this repository start.

pub(crate) mod binaries;
pub(crate) mod child;
mod components;
pub(crate) mod foreground;
pub(crate) mod identity;
pub(crate) mod kept;
pub(crate) mod kubeconfig;
mod log;
mod pki;
pub(crate) mod plane;
pub(crate) mod ports;
pub(crate) mod services;
pub(crate) mod supervisor;
mod token;
