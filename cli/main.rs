//! Developer CLI.
fn main() {}
