//! Reads and writes measurements and models; reports problems with their place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use towtank_campaign::{Inputs, Writer};
use towtank_capacity::{FitError, Model, ReadError, Run};
use towtank_imports::{File, ImportError, iops};
use towtank_scenario::{Place, Problem, Source, did_you_mean};

use crate::crush::{name_of, put, read_bytes};
use towtank::Trouble;

/// The benchmark runs of several files, and notes on parts of them that were skipped.
pub(super) struct Measurements {
    pub runs: Vec<Run>,
    pub notes: Vec<String>,
    texts: BTreeMap<String, String>,
}

impl Measurements {
    /// Reads benchmark results; with `system`, keeps only the runs of that system.
    pub fn read(files: &[PathBuf], system: Option<&str>) -> Result<Self, Problem> {
        let mut all = Self { runs: Vec::new(), notes: Vec::new(), texts: BTreeMap::new() };
        let mut given = iops::Given::default();
        for path in files {
            let (name, bytes) = (name_of(path), read_bytes(path)?);
            if let Ok(text) = std::str::from_utf8(&bytes) {
                all.texts.insert(name.clone(), text.to_owned());
            }
            let file = File { name: &name, bytes: &bytes };
            let read = given.take(file).and_then(|()| iops::read(file));
            let read = read.map_err(|error| all.of_import(&error))?;
            all.notes.extend(read.notes);
            all.runs.extend(read.value.into_iter().map(|reading| towtank::capacity_run(&name, reading)));
        }
        if let Some(system) = system {
            all.keep(system)?;
        }
        Ok(all)
    }

    fn keep(&mut self, system: &str) -> Result<(), Problem> {
        let mut names: Vec<String> = self.runs.iter().filter_map(|run| run.system.clone()).collect();
        names.sort_unstable();
        names.dedup();
        self.runs.retain(|run| run.system.as_deref() == Some(system));
        if !self.runs.is_empty() {
            return Ok(());
        }
        let hint =
            did_you_mean(system, names.iter().map(String::as_str)).unwrap_or_else(|| match names.len() {
                0 => "the files name no system: omit --system".to_owned(),
                _ => format!("the files have: {}", names.join(", ")),
            });
        Err(Problem::new(format!("no run belongs to the system `{system}`")).hint(hint))
    }

    fn of_import(&self, error: &ImportError) -> Problem {
        let problem = self.at(&error.file, error.key.as_deref().unwrap_or_default(), &error.reason);
        match &error.hint {
            Some(hint) => problem.hint(hint.clone()),
            None => problem,
        }
    }

    /// The reason why no model can be fitted to these runs.
    pub(super) fn of_fit(&self, error: &FitError) -> Problem {
        let problem = match &error.at {
            Some((file, place)) => self.at(file, place, &error.reason),
            None => Problem::new(error.reason.clone()),
        };
        problem.hint(error.hint.clone())
    }

    /// A problem at a key of a file, or at a line if the key names one.
    fn at(&self, file: &str, key: &str, reason: &str) -> Problem {
        let (line, short) = match key.strip_prefix("line ") {
            Some(rest) => {
                let (number, key) = rest.split_once(", ").unwrap_or((rest, ""));
                (number.parse::<usize>().ok(), key)
            }
            None => (None, key),
        };
        let text = self.texts.get(file).map_or("", String::as_str);
        let place = line.and_then(|line| {
            let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
            let end = before + text.get(before..)?.lines().next()?.len();
            Some(Place::new(&Source::file(file, text), before..end))
        });
        // The text of a compressed file cannot be shown, so the message names the line.
        let key = if place.is_some() { short } else { key };
        let message = if key.is_empty() { reason.to_owned() } else { format!("`{key}`: {reason}") };
        Problem::new(message).at(place.unwrap_or_else(|| Place::whole(&Source::file(file, ""))))
    }
}

/// Reads a model file.
pub(super) fn read_model(path: &Path) -> Result<Model, Problem> {
    let (name, bytes) = (name_of(path), read_bytes(path)?);
    let place = Place::whole(&Source::file(name.as_str(), ""));
    let hint = "`towtank capacity fit FILE… -o MODEL` writes a model";
    let text = String::from_utf8(bytes).map_err(|_| {
        Problem::new("the file is not a capacity model: it is not UTF-8 text").hint(hint).at(place.clone())
    })?;
    Model::from_json(&name, &text).map_err(|error| match error {
        ReadError::Fit(error) => {
            let key = error.at.as_ref().map_or(String::new(), |(_, key)| format!("`{key}`: "));
            Problem::new(format!("{key}{}", error.reason)).hint(error.hint).at(place)
        }
        ReadError::Schema { .. } => Problem::new(error.to_string())
            .hint("fit the model again, or use the version of towtank that wrote it")
            .at(place),
        error => Problem::new(error.to_string()).hint(hint).at(place),
    })
}

/// Writes a model to a file. It refuses to overwrite an input file.
pub(super) fn write_model(path: &Path, model: &Model, inputs: &[PathBuf]) -> Result<(), Trouble> {
    Writer::new(Inputs::new(inputs)).clear(path).map_err(Trouble::input)?;
    put(path, model.to_json().as_bytes())
}
