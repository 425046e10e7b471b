//! `towtank merge DIR…`: joins the shards of one campaign.

use towtank::{Options, Registry, Trouble};

use crate::args::Merge;
use crate::exit::Exit;
use crate::watching::Watching;
use crate::{output, screen};

/// Joins the parts, and prints the report.
pub(super) fn merge(registry: &Registry, flags: &Merge) -> Result<Exit, Trouble> {
    let out = flags.keep.out.as_deref();
    let options = Options { out: flags.keep.out.clone(), force: flags.force, ..Options::default() };
    let watching = Watching::new(flags.output.quiet);
    let merged = towtank::merge(registry, &flags.parts, &flags.fail_if, &options, &watching)?;
    output::print(&merged.report, &flags.output, out)?;
    if merged.complete {
        return Ok(output::gates(&merged.unmet));
    }
    if !flags.fail_if.is_empty() {
        screen::say("not judged: a gate is about the whole, and runs are missing\n");
    }
    Ok(Exit::Failed)
}
