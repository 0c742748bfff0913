//! What is under `config/` is well formed, hardened, and gives exactly the rights that are written down here.
#![cfg(test)]

mod files;
mod hardening;
mod rights;
