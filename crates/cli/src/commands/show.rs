//! `towtank show NAME`: prints a built-in scenario unchanged, with its comments.

use towtank::{Registry, Trouble};

use super::print;
use crate::exit::Exit;

/// Prints the scenario.
pub fn show(registry: &Registry, name: &str) -> Result<Exit, Trouble> {
    print(registry.find_scenario(name)?.text)
}
