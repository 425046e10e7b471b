//! The exports of a cluster that a scenario names: they are read and joined by [`towtank_ceph`], and each
//! fault is reported at the key that names the file. Every study about a real cluster has these keys.

#[cfg(test)]
pub(crate) mod samples;

use towtank_ceph::{Export, JoinError, Joined, Named};
use towtank_imports::ceph::{self, DeviceUse, OsdDump, PgDump, Report};
use towtank_imports::{File, ImportError, Imported};
use towtank_placement::crush::Map;
use towtank_recovery::keys::Exports;
use towtank_report::Warning;
use towtank_scenario::{Draft, Problem, Problems};
use towtank_study::files::{Contents, Reader};

/// What states of placement groups mean to a study, by the words of the dump.
pub type States = [(&'static str, &'static str)];

/// The contents of the files.
struct Read {
    map: Option<Named<Map>>,
    osd_dump: Option<Named<OsdDump>>,
    pg_dump: Option<Named<PgDump>>,
    fill: Option<Named<Vec<DeviceUse>>>,
    report: Option<Named<Report>>,
}

/// The key of the file that has the map.
pub(crate) fn key_of_map(exports: &Exports) -> &'static str {
    if exports.crush_map.is_some() { "crush_map" } else { "report" }
}

/// The key of the file that has the osd dump.
pub(crate) fn key_of_dump(exports: &Exports) -> &'static str {
    if exports.osd_dump.is_some() { "osd_dump" } else { "report" }
}

/// Reads and joins the exports.
///
/// # Errors
/// Each problem with its place in `draft`.
pub fn load(exports: &Exports, states: &'static States, draft: &Draft) -> Result<Joined, Problems> {
    let mut warnings = Vec::new();
    let Read { map, osd_dump, pg_dump, fill, report } = read_all(exports, draft, &mut warnings)?;
    warnings.extend(other_cluster(&osd_dump, &report, draft)?);
    let in_report = || report.as_ref().map(|report| (&report.value, report.file.clone()));
    let map = map
        .or_else(|| in_report().map(|(report, file)| Named { value: report.map.clone(), file }))
        .ok_or_else(|| missing(draft, "crush_map", "`ceph osd getcrushmap -o FILE`"))?;
    let osd_dump = osd_dump
        .or_else(|| in_report().map(|(report, file)| Named { value: report.osd_dump.clone(), file }))
        .ok_or_else(|| missing(draft, "osd_dump", "`ceph osd dump -f json`"))?;
    let read = towtank_ceph::Exports {
        map,
        osd_dump,
        pg_dump,
        report: report.as_ref().map(|report| &report.value),
        report_file: exports.report.as_deref().unwrap_or_default(),
        fill,
        states,
    };
    let mut joined = towtank_ceph::join(read).map_err(|errors| problems(exports, &errors, draft))?;
    warnings.append(&mut joined.warnings);
    Ok(Joined { warnings, ..joined })
}

/// Refuses a report of another cluster than the osd dump beside it; one of another time is named.
fn other_cluster(
    dump: &Option<Named<OsdDump>>,
    report: &Option<Named<Report>>,
    draft: &Draft,
) -> Result<Option<Warning>, Problem> {
    let (Some(dump), Some(report)) = (dump, report) else { return Ok(None) };
    let (Named { value: one, file }, Named { value: other, file: of_report }) = (dump, report);
    let other = &other.osd_dump;
    if !one.fsid.is_empty() && !other.fsid.is_empty() && one.fsid != other.fsid {
        let message =
            format!("`{of_report}` is of the cluster {}, and `{file}` of {} (`fsid`)", other.fsid, one.fsid);
        return Err(draft
            .problem("report", message)
            .hint("leave one of them out, or export both from one cluster"));
    }
    Ok((one.epoch != other.epoch).then(|| {
        Warning::unknown(format!(
            "`{of_report}` has the map of epoch {}, and `{file}` that of {}: what each says is of another time",
            other.epoch, one.epoch
        ))
    }))
}

/// Why the exports do not fit together, each reason at the key of the faulty file.
fn problems(exports: &Exports, errors: &[JoinError], draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    for error in errors {
        let key = match (error, error.export()) {
            (JoinError::NoGroups, _) => {
                problems.push(missing(draft, "pg_dump", "`ceph pg dump -f json`"));
                continue;
            }
            (_, Export::OsdDump) => key_of_dump(exports),
            (_, Export::PgDump) => "pg_dump",
        };
        problems.refuse(draft, key, error.to_string(), error.hint());
    }
    problems
}

fn read_all(exports: &Exports, draft: &Draft, warnings: &mut Vec<Warning>) -> Result<Read, Problems> {
    let mut problems = Problems::new();
    let mut reader = Reader { draft, warnings, problems: &mut problems };
    let read = Read {
        map: named(&mut reader, exports.crush_map.is_some(), "crush_map", ceph::read_map),
        osd_dump: named(&mut reader, exports.osd_dump.is_some(), "osd_dump", ceph::read_osd_dump),
        pg_dump: named(&mut reader, exports.pg_dump.is_some(), "pg_dump", ceph::read_pg_dump),
        fill: named(&mut reader, exports.osd_df.is_some(), "osd_df", ceph::read_osd_df),
        report: named(&mut reader, exports.report.is_some(), "report", ceph::read_report),
    };
    problems.into_result(read)
}

/// Reads the file of a key, if the scenario has it.
fn named<T>(
    reader: &mut Reader<'_>,
    has: bool,
    key: &str,
    read: impl Fn(File<'_>) -> Result<Imported<T>, ImportError>,
) -> Option<Named<T>> {
    let Contents { file, value } = has.then(|| reader.read(key, read)).flatten()?;
    Some(Named { value, file })
}

fn missing(draft: &Draft, key: &str, export: &str) -> Problem {
    let flag = key.replace('_', "-");
    draft.problem(key, format!("`{key}` is missing")).hint(format!(
        "name the file that {export} wrote: --{flag} FILE, or {key} = \"FILE\"; or set `report` to the output of `ceph report`"
    ))
}

/// Reads the map that the key `key` names.
pub(crate) fn read_map(
    draft: &Draft,
    key: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Map>, Problems> {
    let mut problems = Problems::new();
    let read = Reader { draft, warnings, problems: &mut problems }.read(key, ceph::read_map);
    problems.into_result(read.map(|map| map.value))
}
