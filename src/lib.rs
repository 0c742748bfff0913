//! The operator of virtual machines.
