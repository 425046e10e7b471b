//! The `towtank` command.
fn main() {}
