//! `towtank compare RUN_A RUN_B`: the comparison of two results.

use towtank::Trouble;

use crate::args::Compare;
use crate::exit::Exit;
use crate::output;

/// Compares them and reports the differences.
pub fn compare(compare: &Compare) -> Result<Exit, Trouble> {
    let out = compare.report.out.as_deref();
    let report = towtank::compare(&compare.run_a, &compare.run_b, out)?;
    output::print(&report, &compare.output, out)?;
    Ok(Exit::Done)
}
