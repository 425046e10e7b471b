//! The paper's claims about capacity, judged on built-in measurements: the part of `reproduce` that is not
//! simulated.

use towtank_capacity::{Mix, Part, Run, Shares, apart, claims, fit, present};
use towtank_imports::{File, iops};
use towtank_report::{Report, Warning};

use crate::Trouble;

/// The common name of all of them.
pub(crate) const CAPACITY: &str = "capacity";

/// Names of the measurements: of Ceph, and of a plain file.
pub(crate) const PUBLISHED: [&str; 2] = ["capacity-ceph", "capacity-file"];

const CEPH: &str = include_str!("../../../scenarios/papers/capacity-ceph.csv");
const PLAIN: &str = include_str!("../../../scenarios/papers/capacity-file.csv");

/// The title of the measurements with this name.
pub(crate) fn title(name: &str) -> Option<&'static str> {
    match name {
        "capacity-ceph" => Some("Reads and writes of a small Ceph, measured"),
        "capacity-file" => Some("Reads and writes of a plain file, measured"),
        _ => None,
    }
}

/// The claims judged by the measurements with this name, or the separate table; `None` for other names.
pub(crate) fn published(name: &str) -> Option<Result<Report, Trouble>> {
    let (text, of_ceph) = match name {
        "capacity-ceph" => (CEPH, true),
        "capacity-file" => (PLAIN, false),
        _ => return None,
    };
    Some(judged(name, text, of_ceph))
}

fn judged(name: &str, text: &str, of_ceph: bool) -> Result<Report, Trouble> {
    let read = iops::read(File { name, bytes: text.as_bytes() }).map_err(Trouble::failed)?;
    let runs: Vec<Run> = read.value.into_iter().map(|reading| capacity_run(name, reading)).collect();
    let model = fit(&runs).map_err(Trouble::failed)?;
    let mut warnings: Vec<Warning> = read.notes.into_iter().map(Warning::note).collect();
    if of_ceph {
        let text = "Swift was not measured here, so its f_rw of 2 to 3 is not judged";
        warnings.push(Warning::unknown(text));
    }
    // A plain file is not a distributed system, to which the paper's claims apply.
    let (claims, figures, tables) = if of_ceph {
        (claims(&model), present::as_published(&model), Vec::new())
    } else {
        (Vec::new(), Vec::new(), vec![apart(&model)])
    };
    Ok(Report { study: CAPACITY.to_owned(), claims, figures, tables, warnings, ..Report::default() })
}

/// Converts one run of a benchmark's file for the model of capacity.
///
/// # Panics
/// When a reader returned sizes of zero or shares that do not add up, which readers refuse.
#[must_use]
pub fn capacity_run(file: &str, reading: iops::Reading) -> Run {
    let part = |part: &iops::Part| Part {
        size_bytes: part.size_bytes,
        share: part.share_percent / 100.0,
        reads: part.read_percent / 100.0,
    };
    let mix = Mix::new(reading.parts.iter().map(part).collect());
    let shares = match reading.shares {
        iops::Shares::Operations => Shares::Operations,
        iops::Shares::Concurrency => Shares::Concurrency,
        iops::Shares::Capacity => Shares::Capacity,
    };
    Run {
        system: reading.system,
        mix: mix.expect("readers give sizes above zero, and shares that add up"),
        shares,
        iops: reading.iops,
        file: file.to_owned(),
        place: reading.place,
    }
}
