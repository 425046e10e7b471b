//! The exports of a cluster that a scenario names: they are read and joined by [`towtank_ceph`], and each
//! fault is reported at the key that names the file. Every study about a real cluster has these keys.

#[cfg(test)]
pub(crate) mod samples;
mod texts;

use towtank_ceph::{Export, Exports, JoinError, Joined, Named};
use towtank_imports::ceph::{self, DeviceUse, OsdDump, PgDump, Report};
use towtank_imports::{File, ImportError, Imported};
use towtank_placement::crush::Map;
use towtank_placement::swift::Ring;
use towtank_report::Warning;
use towtank_scenario::{Draft, Input, Problem, Problems};

pub use self::texts::Texts;

/// The files that a user names, each under the key of its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exported<'a> {
    /// The CRUSH map.
    pub map: Option<&'a str>,
    /// `ceph osd dump`.
    pub osd_dump: Option<&'a str>,
    /// `ceph pg dump`.
    pub pg_dump: Option<&'a str>,
    /// `ceph osd df`.
    pub osd_df: Option<&'a str>,
    /// `ceph report`.
    pub report: Option<&'a str>,
    /// What states of placement groups mean to the study, by the words of the dump.
    pub states: &'a [(&'a str, &'a str)],
}

/// The contents of the files.
struct Read {
    map: Option<Named<Map>>,
    osd_dump: Option<Named<OsdDump>>,
    pg_dump: Option<Named<PgDump>>,
    fill: Option<Vec<DeviceUse>>,
    report: Option<Report>,
}

/// Reads and joins the exports.
pub(crate) fn load(named: &Exported<'_>, draft: &Draft) -> Result<Joined, Problems> {
    let mut warnings = Vec::new();
    let Read { map, osd_dump, pg_dump, fill, report } = read_all(named, draft, &mut warnings)?;
    let in_report = || Some((report.as_ref()?, named.report?.to_owned()));
    let map = map
        .or_else(|| in_report().map(|(report, file)| Named { value: report.map.clone(), file }))
        .ok_or_else(|| missing(draft, "crush_map", "`ceph osd getcrushmap -o FILE`"))?;
    let osd_dump = osd_dump
        .or_else(|| in_report().map(|(report, file)| Named { value: report.osd_dump.clone(), file }))
        .ok_or_else(|| missing(draft, "osd_dump", "`ceph osd dump -f json`"))?;
    let exports = Exports {
        map,
        osd_dump,
        pg_dump,
        report: report.as_ref(),
        report_file: named.report.unwrap_or_default(),
        fill,
        states: named.states,
    };
    let mut joined = towtank_ceph::join(exports).map_err(|errors| problems(&errors, named, draft))?;
    warnings.append(&mut joined.warnings);
    Ok(Joined { warnings, ..joined })
}

/// Why the exports do not fit together, each reason at the key of the faulty file.
fn problems(errors: &[JoinError], named: &Exported<'_>, draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    for error in errors {
        problems.push(match (error, error.export()) {
            (JoinError::NoGroups, _) => missing(draft, "pg_dump", "`ceph pg dump -f json`"),
            (error, Export::OsdDump) => {
                let key = if named.osd_dump.is_some() { "osd_dump" } else { "report" };
                draft.problem(key, error.to_string()).hint(error.hint())
            }
            (error, Export::PgDump) => draft.problem("pg_dump", error.to_string()).hint(error.hint()),
        });
    }
    problems
}

fn missing(draft: &Draft, key: &str, export: &str) -> Problem {
    let flag = key.replace('_', "-");
    draft.problem(key, format!("`{key}` is missing")).hint(format!(
        "name the file that {export} wrote: --{flag} FILE, or {key} = \"FILE\"; or set `report` to the output of `ceph report`"
    ))
}

fn read_all(named: &Exported<'_>, draft: &Draft, warnings: &mut Vec<Warning>) -> Result<Read, Problems> {
    let mut problems = Problems::new();
    let mut reader = Reader { draft, warnings, problems: &mut problems };
    let read = Read {
        map: reader.read(named.map.is_some(), "crush_map", ceph::read_map),
        osd_dump: reader.read(named.osd_dump.is_some(), "osd_dump", ceph::read_osd_dump),
        pg_dump: reader.read(named.pg_dump.is_some(), "pg_dump", ceph::read_pg_dump),
        fill: reader.read(named.osd_df.is_some(), "osd_df", ceph::read_osd_df).map(|fill| fill.value),
        report: reader.read(named.report.is_some(), "report", ceph::read_report).map(|report| report.value),
    };
    problems.into_result(read)
}

/// Reads the map that the key `key` names.
pub(crate) fn read_map(
    draft: &Draft,
    key: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Map>, Problems> {
    let mut problems = Problems::new();
    let mut reader = Reader { draft, warnings, problems: &mut problems };
    let read = reader.read(true, key, ceph::read_map);
    problems.into_result(read.map(|map| map.value))
}

/// Reads the ring of Swift that the key `key` names; none if it has a problem.
pub(crate) fn read_ring(
    draft: &Draft,
    key: &str,
    warnings: &mut Vec<Warning>,
    problems: &mut Problems,
) -> Option<Ring> {
    let read = Reader { draft, warnings, problems }.read(true, key, towtank_imports::swift::read_ring);
    read.map(|ring| ring.value)
}

struct Reader<'a> {
    draft: &'a Draft,
    warnings: &'a mut Vec<Warning>,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    /// Reads the file of a key; returns its contents and its name, or nothing where the key is absent or the
    /// file has a problem.
    fn read<T>(
        &mut self,
        named: bool,
        key: &str,
        read: impl Fn(File<'_>) -> Result<Imported<T>, ImportError>,
    ) -> Option<Named<T>> {
        if !named {
            return None;
        }
        let input: Input = match self.draft.input(key) {
            Ok(input) => input,
            Err(problem) => {
                self.problems.push(problem);
                return None;
            }
        };
        match read(File { name: &input.path, bytes: &input.bytes }) {
            Ok(Imported { value, notes }) => {
                self.warnings.extend(notes.into_iter().map(Warning::note));
                Some(Named { value, file: input.path })
            }
            Err(error) => {
                let hint =
                    error.hint.clone().unwrap_or_else(|| format!("export `{key}` again, or correct it"));
                self.problems.push(self.draft.problem(key, error.to_string()).hint(hint));
                None
            }
        }
    }
}
