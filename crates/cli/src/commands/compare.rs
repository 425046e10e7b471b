//! `towtank compare RUN_A RUN_B`: two results side by side.

use std::path::Path;
use towtank_campaign::{Inputs, LoadError, Side, Writer, load_side};

use crate::args::Compare;
use crate::exit::{Exit, Trouble};
use crate::{output, street};

/// Compares them and reports the differences.
pub fn compare(compare: &Compare) -> Result<Exit, Trouble> {
    let a = load(&compare.run_a, "A")?;
    let b = load(&compare.run_b, "B")?;
    let report = towtank_campaign::compare(&a, &b).map_err(Trouble::input)?;
    if let Some(dir) = &compare.report.out {
        let inputs = [&compare.run_a, &compare.run_b]
            .into_iter()
            .flat_map(|run| [run.clone(), run.join("report.json")]);
        let writer = Writer::new(Inputs::new(inputs));
        output::write_alone(&report, dir, &writer)?;
    }
    output::print(&report, compare.output.format)?;
    if let Some(dir) = &compare.report.out {
        output::say_where(&compare.output, dir);
    }
    Ok(Exit::Done)
}

fn load(path: &Path, name: &str) -> Result<Side, Trouble> {
    load_side(path, name).map_err(|error| match error {
        LoadError::Store(error) => street::trouble_of(error),
        error => Trouble::input(error),
    })
}
