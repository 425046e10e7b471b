//! COSBench's results of a workload as CSV (`archive/w1-name/w1-name.csv`): one row per operation of each
//! stage.
//!
//! The file does not give the size of objects. Bytes divided by operations is their mean, and the size if it
//! is a whole number. Stages that prepare or clean up are skipped; each other stage is one run, with its
//! reads and writes.

use super::{Counted, Reading, Shares, of_both};
use crate::table::{Row, Table};
use crate::{ImportError, Imported};

/// Operations that are not load.
const PASSED: [&str; 6] = ["init", "prepare", "cleanup", "dispose", "delay", "n/a"];

/// The sums of a stage.
struct Stage {
    name: String,
    line: usize,
    reads: Sums,
    writes: Sums,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    operations: f64,
    bytes: f64,
    rate: f64,
}

pub(super) fn read(table: &Table<'_>) -> Result<Imported<Vec<Reading>>, ImportError> {
    let mut stages: Vec<Stage> = Vec::new();
    for row in table.rows() {
        take(&mut stages, &row)?;
    }
    let (mut readings, mut notes) = (Vec::new(), Vec::new());
    for stage in stages {
        let mut counted = |sums: Sums, what: &str| {
            if sums.operations == 0.0 {
                return None;
            }
            let mean = sums.bytes / sums.operations;
            if mean.fract() != 0.0 {
                let Stage { name, .. } = &stage;
                let file = table.file().name;
                notes.push(format!(
                    "`{file}`: {what} of stage `{name}` differ in size; their mean of {mean:.0} bytes is used"
                ));
            }
            Some(Counted { iops: sums.rate, size_bytes: mean.round().max(1.0) as u64 })
        };
        let found = of_both(counted(stage.reads, "reads"), counted(stage.writes, "writes"), None);
        let place = format!("line {}", stage.line);
        readings.extend(found.map(|(parts, iops)| Reading {
            system: None,
            parts,
            shares: Shares::Operations,
            iops,
            place,
        }));
    }
    Ok(Imported { value: readings, notes })
}

fn take(stages: &mut Vec<Stage>, row: &Row<'_>) -> Result<(), ImportError> {
    let kind = row.needed("Op-Type")?.to_ascii_lowercase();
    if PASSED.contains(&kind.as_str()) {
        return Ok(());
    }
    let name = row.needed("Stage")?;
    let reads = match kind.as_str() {
        "read" => true,
        "write" => false,
        _ => {
            let reason = format!(
                "stage `{name}` has operations of type `{kind}`, but a capacity is defined for reads and writes only"
            );
            return Err(row.wrong("Op-Type", reason).hint("measure a stage that reads and writes only"));
        }
    };
    refuse_failures(row, name)?;
    let sums = Sums {
        operations: row.number("Op-Count")?,
        bytes: row.number("Byte-Count")?,
        rate: row.number("Throughput")?,
    };
    if sums.operations == 0.0 || sums.bytes == 0.0 || sums.rate == 0.0 {
        return Err(
            row.wrong("Op-Count", format!("stage `{name}` did no I/O: no operation, no bytes or no rate"))
        );
    }
    if stages.last().is_none_or(|last| last.name != name) {
        let (reads, writes) = (Sums::default(), Sums::default());
        stages.push(Stage { name: name.to_owned(), line: row.line, reads, writes });
    }
    let Some(stage) = stages.last_mut() else { return Ok(()) };
    let all = if reads { &mut stage.reads } else { &mut stage.writes };
    all.operations += sums.operations;
    all.bytes += sums.bytes;
    all.rate += sums.rate;
    Ok(())
}

fn refuse_failures(row: &Row<'_>, stage: &str) -> Result<(), ImportError> {
    let ratio = row.text("Succ-Ratio");
    if !ratio.is_empty() {
        let percent: Option<f64> = ratio.strip_suffix('%').unwrap_or(ratio).parse().ok();
        if percent != Some(100.0) {
            let reason = format!(
                "`{ratio}` of the operations of stage `{stage}` succeeded; runs with errors are not usable"
            );
            return Err(row.wrong("Succ-Ratio", reason).hint("fix the cause and measure again"));
        }
    }
    let status = row.text("Status");
    if !(status.is_empty() || status.eq_ignore_ascii_case("completed")) {
        return Err(row
            .wrong("Status", format!("stage `{stage}` is `{status}`, not completed"))
            .hint("measure again until its end"));
    }
    Ok(())
}
