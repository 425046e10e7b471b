//! `towtank show NAME`: a built-in scenario as it is, comments and all.

use towtank::{Registry, Trouble};

use super::print;
use crate::exit::Exit;

/// Prints it.
pub fn show(registry: &Registry, name: &str) -> Result<Exit, Trouble> {
    print(registry.find_scenario(name)?.text)
}
