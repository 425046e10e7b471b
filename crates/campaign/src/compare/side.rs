//! One of the results that are compared: a report, and its runs if they were kept.

use std::io;
use std::path::{Path, PathBuf};

use towtank_report::{PointSummary, ReadError, Report};

use crate::store::{read_manifest, read_point};
use crate::{Disk, HostDisk, Ledger, PointOutcomes, StoreError, assemble, manifest};

/// One of the results that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Its name in sentences: `A`. Each result has another.
    pub name: String,
    /// What the user calls it; may be empty, or what another is called too. Not a path, since reports contain
    /// none.
    pub called: String,
    /// The result.
    pub report: Report,
    /// The runs of each point, in the order of the report; `None` if they were not kept.
    pub points: Option<Vec<PointOutcomes>>,
    /// Notes for the reader on how it was read.
    pub notes: Vec<String>,
}

/// Why no result could be loaded from a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The system reported an error.
    #[error("cannot read `{}`: {source}; name a directory given to `--out`, or a `report.json`", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a valid report.
    #[error("cannot use `{}`: {source}", path.display())]
    Report {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        source: ReadError,
    },
    /// The directory contains neither a report nor a campaign.
    #[error("`{}` holds neither a `report.json` nor a campaign; name a directory given to `--out`", dir.display())]
    Neither {
        /// The directory.
        dir: PathBuf,
    },
    /// A campaign that cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads a campaign's directory or a `report.json`.
///
/// # Errors
/// If there is no valid result.
pub fn load_side(path: &Path, name: &str) -> Result<Side, LoadError> {
    if !path.is_dir() {
        let report = read_report(path)?;
        return Ok(Side::new(name, report));
    }
    let json = path.join("report.json");
    let report = if json.exists() { Some(read_report(&json)?) } else { None };
    let (plan, unread) = match read_manifest(&HostDisk, path) {
        Ok(plan) => (Some(plan), None),
        Err(StoreError::NoCampaign { .. }) => (None, None),
        Err(error) if report.is_none() => return Err(error.into()),
        Err(error) => (None, Some(unread_runs(name, &error))),
    };
    let stored = plan.map(|plan| {
        let mut ledger = Ledger::new(&plan);
        for task in plan.tasks() {
            // A damaged run counts as missing here; the campaign's own command reports it and runs it again.
            if let Ok(Some(stored)) = read_point(&HostDisk, path, &plan, task) {
                ledger.enter(task, stored.outcome);
            }
        }
        assemble(&plan, ledger, "")
    });
    match (report, stored) {
        (None, None) => Err(LoadError::Neither { dir: path.to_owned() }),
        (Some(report), None) => Ok(Side { notes: unread.into_iter().collect(), ..Side::new(name, report) }),
        (None, Some(stored)) => {
            let notes = vec![format!("{name} has no report yet: its means were taken from its stored runs")];
            Ok(Side { points: Some(stored.points), notes, ..Side::new(name, stored.report) })
        }
        (Some(report), Some(stored)) if stored.report.digest == report.digest => {
            Ok(Side { points: Some(stored.points), ..Side::new(name, report) })
        }
        (Some(report), Some(_)) => {
            let notes = vec![format!(
                "the runs stored with the report of {name} do not belong to it and were left out"
            )];
            Ok(Side { notes, ..Side::new(name, report) })
        }
    }
}

/// Why the runs beside a report are left out, without a path.
fn unread_runs(name: &str, error: &StoreError) -> String {
    let why = match error {
        StoreError::DamagedManifest { why, .. } => why.clone(),
        StoreError::Read { source, .. } => source.to_string(),
        error => error.to_string(),
    };
    format!(
        "`{}` of {name} cannot be used ({why}), so its runs are left out and replicates are not paired",
        manifest::NAME
    )
}

fn read_report(path: &Path) -> Result<Report, LoadError> {
    let bytes = HostDisk.read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    let text = String::from_utf8_lossy(&bytes);
    Report::from_json(&text).map_err(|source| LoadError::Report { path: path.to_owned(), source })
}

impl Side {
    /// A report without its runs, which the user calls nothing.
    #[must_use]
    pub fn new(name: &str, report: Report) -> Side {
        Side { name: name.to_owned(), called: String::new(), report, points: None, notes: Vec::new() }
    }

    /// Its name for a legend: `A`, or `A: profile=balanced`.
    pub(crate) fn shown(&self) -> String {
        if self.called.is_empty() { self.name.clone() } else { format!("{}: {}", self.name, self.called) }
    }

    /// The points; without a sweep, a single one without settings.
    pub(crate) fn point_summaries(&self) -> Vec<PointSummary> {
        if !self.report.sweep.is_empty() {
            return self.report.points.clone();
        }
        vec![PointSummary {
            settings: towtank_report::Ordered::new(),
            label: String::new(),
            summary: self.report.summary.clone(),
            digest: self.report.digest.clone(),
            partial: self.report.partial,
        }]
    }
}
