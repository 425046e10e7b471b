//! `towtank record`: prints shell lines that keep of the next recovery what can be learned from. It runs
//! none of them.

use towtank::Trouble;
use towtank_imports::File;
use towtank_imports::ceph::read_report;
use towtank_past::{ClusterSize, Script};
use towtank_scenario::Problem;

use super::print;
use crate::args::Record;
use crate::crush::{name_of, read_bytes};
use crate::exit::Exit;

/// The shortest time between two questions: a `ceph -s` takes up to a second to start.
const EVERY_MIN_S: u64 = 2;

/// Prints the lines.
pub fn record(flags: &Record) -> Result<Exit, Trouble> {
    let every_s = flags.every.as_secs_f64().round() as u64;
    if every_s < EVERY_MIN_S {
        let message = format!("--every is {}, and `ceph -s` takes up to a second to start", flags.every);
        return Err(Problem::new(message).hint(format!("{EVERY_MIN_S}s or more")).into());
    }
    if flags
        .prometheus
        .as_ref()
        .is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://"))
    {
        return Err(Problem::new("--prometheus is no address of a server")
            .hint("such as http://HOST:9090")
            .into());
    }
    let size = flags.report.as_deref().map(size_of).transpose()?;
    let script = Script { dir: flags.dir.clone(), every_s, prometheus: flags.prometheus.clone(), size };
    print(&script.text())
}

fn size_of(path: &std::path::Path) -> Result<ClusterSize, Problem> {
    let (name, bytes) = (name_of(path), read_bytes(path)?);
    let read = read_report(File { name: &name, bytes: &bytes });
    let report = read.map_err(|error| super::learn::of_import(&error))?.value;
    let pools = report.osd_dump.pools.iter();
    Ok(ClusterSize {
        groups: pools.map(|pool| u64::from(pool.placed().pg_num)).sum(),
        devices: report.osd_dump.osds.len() as u64,
    })
}
