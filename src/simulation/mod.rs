//! A deterministic world in one thread that drives the production loop: two processes, an API server, a cloud,
//! users and an adversarial network, all chosen by a seed.
//!
//! ```text
//! cargo test --lib simulation                                  a default number of seeds, the corpus, planted bugs
//! SIM_SEEDS=100000 cargo test --lib simulation::seeds          more of them
//! SIM_SEED=123 cargo test --lib simulation::replay -- --nocapture    one of them, with its trace
//! SIM_STEER=basic SIM_WORDS=crash,lost SIM_SEED=7 cargo test …    … of a world that is never drawn (or mass_loss, back_in_time)
//! ```

mod api_server;
mod arrival;
mod choice;
mod client;
mod cloud;
mod fingerprint;
mod leaders;
mod leadership;
mod losses;
mod network;
mod oracle;
mod planted;
mod process;
mod reference;
mod runner;
mod search;
mod shrink;
mod small;
mod swarm;
mod tape;
mod tests;
mod trace;
mod users;
mod wire;
mod world;
