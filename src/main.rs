//! In-cluster controller.
fn main() {}
