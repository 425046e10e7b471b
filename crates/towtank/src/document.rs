//! A scenario before it is checked: its text, the values that override it, and the folder of the files that
//! it names.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use towtank_campaign::Inputs;
use towtank_scenario::{Files, FlagName, KeyPath, Problem, Problems, Setting, Source};
use towtank_study::Study;
use towtank_units::Bytes;

use crate::machine::{self, Memory};
use crate::{Registry, Scenario, gates};

/// A scenario's text before it is checked.
#[derive(Clone, Debug)]
pub struct Document {
    text: towtank_scenario::Document,
    /// Its file, if it comes from one.
    file: Option<PathBuf>,
    /// The folder of the files that it names.
    folder: PathBuf,
    fail_if: Vec<String>,
}

impl Document {
    /// Parses a TOML text. Files that it names are looked up in the current directory.
    ///
    /// # Errors
    /// Syntax errors of the TOML.
    pub fn parse(text: &str) -> Result<Document, Problems> {
        Document::of_source(&Source::file("scenario", text))
    }

    /// Parses a TOML text, which problems call `name`.
    ///
    /// # Errors
    /// Syntax errors of the TOML.
    pub fn named(name: &str, text: &str) -> Result<Document, Problems> {
        Document::of_source(&Source::file(name, text))
    }

    /// Reads a file. Files that it names are looked up in its folder.
    ///
    /// # Errors
    /// When it cannot be read, or is not TOML.
    pub fn open(path: &Path) -> Result<Document, Problems> {
        let name = path.display().to_string();
        let mut opened = fs::File::open(path).map_err(|error| unreadable(&name, &error))?;
        let document = Document::named(&name, &read_text(&name, &mut opened)?)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Document { file: Some(path.to_owned()), ..document.beside(folder) })
    }

    /// Finds a scenario by the user's word: a file, or a scenario of the registry.
    ///
    /// # Errors
    /// When there is neither, or it cannot be read or is not TOML.
    pub fn find(what: &str, registry: &Registry) -> Result<Document, Problems> {
        let path = Path::new(what);
        if path.is_file() || (looks_like_a_path(what) && registry.scenario(what).is_none()) {
            Document::open(path)
        } else {
            Document::builtin(what, registry)
        }
    }

    /// The scenario of the registry with this name.
    ///
    /// # Errors
    /// When there is none, or it is not TOML.
    pub fn builtin(name: &str, registry: &Registry) -> Result<Document, Problems> {
        let builtin = registry.find_scenario(name)?;
        Document::named(&format!("scenarios/{}", builtin.path), builtin.text)
    }

    /// A scenario that contains only its study. `flags` are the flag names for hints about missing keys.
    #[must_use]
    pub fn of_study(study: &dyn Study, flags: Vec<FlagName>) -> Document {
        Document::of(towtank_scenario::Document::of_study(study.name(), flags))
    }

    fn of_source(source: &Arc<Source>) -> Result<Document, Problems> {
        Ok(Document::of(towtank_scenario::Document::parse(source)?))
    }

    fn of(text: towtank_scenario::Document) -> Document {
        Document { text, file: None, folder: PathBuf::new(), fail_if: Vec::new() }
    }

    /// Sets the folder of the files that it names.
    #[must_use]
    pub fn beside(mut self, folder: impl Into<PathBuf>) -> Document {
        self.folder = folder.into();
        self
    }

    /// The folder of the files that it names.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets a key to a value, which is TOML; anything else is taken as text: `set("link.rate", "10Gbit/s")`.
    ///
    /// # Errors
    /// An invalid key, a value with an open quote or bracket, or a key that passes through a value that is
    /// not a table or list.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        let path: KeyPath =
            key.parse().map_err(|error| Problem::new(format!("`{key}` is not a valid key: {error}")))?;
        self.lay(Setting::of_flag(key, &path, value)?)
    }

    /// Overrides a key by a setting, which knows its origin. A later one replaces an earlier one.
    ///
    /// # Errors
    /// When the key passes through a value that is not a table or list.
    pub fn lay(&mut self, setting: Setting) -> Result<(), Problem> {
        self.text.set(setting)
    }

    /// The study that it names, if the registry has it.
    #[must_use]
    pub fn study(&self, registry: &Registry) -> Option<&'static dyn Study> {
        towtank_study::study_of(registry.studies(), &self.text).ok()
    }

    /// Adds a gate: an expression about measures that must not hold for the report.
    pub fn fail_if(&mut self, gate: impl Into<String>) {
        self.fail_if.push(gate.into());
    }

    /// Checks the scenario and its gates.
    ///
    /// # Errors
    /// All errors of the scenario and the gates, each with its place.
    pub fn check(self, registry: &Registry) -> Result<Scenario, Problems> {
        let study = self.study(registry);
        let text = self.text.with_files(Arc::new(Folder(self.folder.clone())));
        match towtank_study::check(registry.studies(), text) {
            Ok(checked) => {
                let points: Vec<_> = checked.points().iter().map(|point| point.prepared.resolved()).collect();
                let (gates, problems) = gates::of_study(checked.study(), points.iter(), &self.fail_if);
                let checked = problems.into_result(checked)?;
                let inputs = inputs(self.file.as_deref(), &self.folder, &checked);
                Ok(Scenario { checked, gates, fail_if: self.fail_if, inputs })
            }
            Err(mut found) => {
                // The measures of these points are unknown; those that every scenario has suffice for most
                // gates.
                let wrong = study.map(|study| gates::of_study(study, std::iter::empty(), &self.fail_if).1);
                if let Some(wrong) = wrong {
                    found.extend(wrong);
                }
                Err(found)
            }
        }
    }
}

/// The files that a scenario reads, including itself.
fn inputs(file: Option<&Path>, folder: &Path, checked: &towtank_study::CheckedScenario) -> Inputs {
    let named = checked.points().iter().flat_map(|point| &point.inputs);
    let named = named.map(|input| folder.join(&input.path)).collect::<BTreeSet<PathBuf>>();
    Inputs::new(file.map(Path::to_owned).into_iter().chain(named))
}

fn looks_like_a_path(what: &str) -> bool {
    what.contains(['/', '\\']) || what.ends_with(".toml") || Path::new(what).exists()
}

/// The most bytes of a scenario: a free choice. Those that we ship have a few kilobytes; large inputs are
/// files that a scenario names.
const SCENARIO_MAX_BYTES: u64 = 16 << 20;

/// Reads the whole text of a scenario, which problems call `name`. A device or a pipe may have no end, so no
/// more is read than a scenario may have.
///
/// # Errors
/// When it cannot be read, is too large, or is not UTF-8.
pub fn read_text(name: &str, from: &mut dyn Read) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    from.take(SCENARIO_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > SCENARIO_MAX_BYTES {
        let message = format!("`{name}` has more than 16 MiB, the most that a scenario may have");
        return Err(Problem::new(message).hint("is it a scenario file? large inputs are files that it names"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        Problem::new(format!("`{name}` is not text: byte {valid}, in line {line}, is not valid UTF-8"))
            .hint("save it as UTF-8; is it a scenario file?")
    })
}

fn unreadable(name: &str, error: &io::Error) -> Problem {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path; `towtank list` shows the built-in scenarios",
        io::ErrorKind::PermissionDenied => "get permission to read it",
        _ if Path::new(name).is_dir() => "name a scenario file in it",
        _ => "check the path",
    };
    Problem::new(format!("cannot read `{name}`: {}", reason(error))).hint(hint)
}

/// The operating system's error in our form: lower case, without the number in brackets.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Reads the files that a scenario names, relative to a folder.
#[derive(Debug)]
struct Folder(PathBuf);

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = self.0.join(path);
        let size = fs::metadata(&path).map_err(|error| reason(&error))?.len();
        match machine::refusal_of_file(Bytes::new(size), Memory::here()) {
            Some(refusal) => Err(refusal),
            None => read_up_to(&path, towtank_imports::INPUT_MAX_BYTES),
        }
    }
}

/// A file's contents; a file of more than `most` bytes is refused without reading it to the end.
fn read_up_to(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let in_words = |error: io::Error| reason(&error);
    let file = fs::File::open(path).map_err(in_words)?;
    let size = file.metadata().map_err(in_words)?.len();
    let mut bytes = Vec::new();
    if size <= most {
        // The size of a pipe is not known beforehand.
        file.take(most + 1).read_to_end(&mut bytes).map_err(in_words)?;
    }
    let size = size.max(bytes.len() as u64);
    if size > most { Err(format!("it has {size} bytes or more, but the limit is {most}")) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A former bug: such a file was read until memory was full.
    #[test]
    fn a_scenario_without_an_end_is_refused() {
        let refused = read_text("/dev/zero", &mut io::repeat(b' ')).expect_err("it has no end");
        assert_eq!(refused.message(), "`/dev/zero` has more than 16 MiB, the most that a scenario may have");
    }

    #[test]
    fn a_file_above_the_limit_is_not_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let size = fs::metadata(&path).expect("it is there").len();
        assert_eq!(read_up_to(&path, size).expect("it fits").len() as u64, size);
        let refused = read_up_to(&path, size - 1).expect_err("one byte too many");
        assert_eq!(refused, format!("it has {size} bytes or more, but the limit is {}", size - 1));
    }
}
