//! `towtank reproduce [NAME…]`: runs published set-ups and compares the results with the published ones.

use towtank::{Registry, Trouble};

use crate::args::Reproduce;
use crate::exit::Exit;
use crate::watching::Watching;
use crate::{output, screen};

/// Runs them, and prints all claims together. A claim that misses is a result, not a failure.
pub fn reproduce(registry: &Registry, flags: &Reproduce) -> Result<Exit, Trouble> {
    let out = flags.keep.out.as_deref();
    let watching = Watching::new(flags.output.quiet);
    let all = towtank::reproduce(registry, &flags.names, &flags.machine.options(out), &watching)?;
    if let Some(dir) = out {
        output::say_where(&flags.output, dir);
    }
    output::print(&all, &flags.output)?;
    if all.partial {
        screen::say("interrupted: what follows the last scenario was not run\n");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}
