//! Mock.
fn main() {}
