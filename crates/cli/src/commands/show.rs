//! `towtank show NAME`: a built-in scenario as it is, comments and all.

use super::print;
use crate::exit::{Exit, Trouble};
use crate::load;

/// Prints it.
pub fn show(name: &str) -> Result<Exit, Trouble> {
    print(load::find_builtin(name)?.text)
}
