//! The paper's statements asked of measurements that come with the binary, for `towtank reproduce`.

use towtank_capacity::{Run, apart, claims, fit};
use towtank_imports::{File, iops};
use towtank_report::Report;

use super::files;
use crate::exit::Trouble;

/// Measurements by name: of a Ceph, and of a plain file.
pub const PUBLISHED: [&str; 2] = ["capacity-ceph", "capacity-file"];

const CEPH: &str = include_str!("../../../../scenarios/papers/capacity-ceph.csv");
const PLAIN: &str = include_str!("../../../../scenarios/papers/capacity-file.csv");

/// The claims that the measurements called `name` judge, or what is shown apart; nothing for other names.
pub fn published(name: &str) -> Option<Result<Report, Trouble>> {
    let (text, of_ceph) = match name {
        "capacity-ceph" => (CEPH, true),
        "capacity-file" => (PLAIN, false),
        _ => return None,
    };
    Some(judged(name, text, of_ceph))
}

fn judged(name: &str, text: &str, of_ceph: bool) -> Result<Report, Trouble> {
    let read = iops::read(File { name, bytes: text.as_bytes() }).map_err(Trouble::failed)?;
    let runs: Vec<Run> = read.value.into_iter().map(|reading| files::run(name, reading)).collect();
    let model = fit(&runs).map_err(Trouble::failed)?;
    let mut warnings = read.notes;
    if of_ceph {
        warnings.push("of Swift nothing was measured here, so its f_rw of 2 to 3 is not judged".to_owned());
    }
    // A plain file is no distributed system, of which the paper speaks.
    let (claims, tables) =
        if of_ceph { (claims(&model), Vec::new()) } else { (Vec::new(), vec![apart(&model)]) };
    Ok(Report { study: "capacity".to_owned(), claims, tables, warnings, ..Report::default() })
}
