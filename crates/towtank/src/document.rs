//! A scenario on its way in: a text from somewhere, values laid over it, and the folder of the files that it
//! names.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use towtank_campaign::Inputs;
use towtank_scenario::{Files, FlagName, KeyPath, Problem, Problems, Setting, Source};
use towtank_studies::Study;
use towtank_units::Bytes;

use crate::machine::{self, Memory};
use crate::{Registry, Scenario, gates};

/// A scenario's text before it is checked.
#[derive(Clone, Debug)]
pub struct Document {
    text: towtank_scenario::Document,
    /// The file, if it is one.
    file: Option<PathBuf>,
    /// Where the files that it names are.
    folder: PathBuf,
    fail_if: Vec<String>,
}

impl Document {
    /// Reads a TOML text. Files that it names are looked for where the process is.
    ///
    /// # Errors
    /// What is not TOML.
    pub fn parse(text: &str) -> Result<Document, Problems> {
        Document::of_source(&Source::file("scenario", text))
    }

    /// Reads a TOML text that problems are to call `name`.
    ///
    /// # Errors
    /// What is not TOML.
    pub fn named(name: &str, text: &str) -> Result<Document, Problems> {
        Document::of_source(&Source::file(name, text))
    }

    /// Reads a file. Files that it names are looked for in its folder.
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

    /// Finds what a user named: a file, or a scenario of the registry.
    ///
    /// # Errors
    /// When there is neither, it cannot be read, or is not TOML.
    pub fn find(what: &str, registry: &Registry) -> Result<Document, Problems> {
        let path = Path::new(what);
        if path.is_file() || (looks_like_a_path(what) && registry.scenario(what).is_none()) {
            Document::open(path)
        } else {
            Document::builtin(what, registry)
        }
    }

    /// The scenario of the registry that is called `name`.
    ///
    /// # Errors
    /// When there is none, or it is not TOML.
    pub fn builtin(name: &str, registry: &Registry) -> Result<Document, Problems> {
        let builtin = registry.find_scenario(name)?;
        Document::named(&format!("scenarios/{}", builtin.path), builtin.text)
    }

    /// A scenario that says nothing but its study. `flags` are the names that hints about missing keys use.
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

    /// Says where the files are that it names.
    #[must_use]
    pub fn beside(mut self, folder: impl Into<PathBuf>) -> Document {
        self.folder = folder.into();
        self
    }

    /// Where the files are that it names.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets a key to a value, which is TOML; what is not, is text: `set("link.rate", "10Gbit/s")`.
    ///
    /// # Errors
    /// A key that is no key, a value with an open quote or bracket, or a key that leads through a value that
    /// holds no keys.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        let path: KeyPath =
            key.parse().map_err(|error| Problem::new(format!("`{key}` is no key: {error}")))?;
        self.lay(Setting::of_flag(key, &path, value)?)
    }

    /// Lays a value over the scenario that knows where it came from. A later one goes over an earlier one.
    ///
    /// # Errors
    /// When the key leads through a value that holds no keys.
    pub fn lay(&mut self, setting: Setting) -> Result<(), Problem> {
        self.text.set(setting)
    }

    /// The study that it is of, where that is one.
    #[must_use]
    pub fn study(&self, registry: &Registry) -> Option<&'static dyn Study> {
        towtank_studies::study_of(registry.studies(), &self.text).ok()
    }

    /// Adds a gate: an expression about measures that must not hold for the report.
    pub fn fail_if(&mut self, gate: impl Into<String>) {
        self.fail_if.push(gate.into());
    }

    /// Checks the whole of it, with its gates.
    ///
    /// # Errors
    /// Everything that is wrong with scenario and gates, each with its place.
    pub fn check(self, registry: &Registry) -> Result<Scenario, Problems> {
        let study = self.study(registry);
        let text = self.text.with_files(Arc::new(Folder(self.folder.clone())));
        match towtank_studies::check(registry.studies(), text) {
            Ok(checked) => {
                let points: Vec<_> = checked.points().iter().map(|point| point.prepared.resolved()).collect();
                let (gates, problems) = gates::of_study(checked.study(), points.iter(), &self.fail_if);
                let checked = problems.into_result(checked)?;
                let inputs = inputs(self.file.as_deref(), &self.folder, &checked);
                Ok(Scenario { checked, gates, fail_if: self.fail_if, inputs })
            }
            Err(mut found) => {
                // Nobody knows what measures the scenario would have had; those of all scenarios do for most.
                let wrong = study.map(|study| gates::of_study(study, std::iter::empty(), &self.fail_if).1);
                if let Some(wrong) = wrong {
                    found.extend(wrong);
                }
                Err(found)
            }
        }
    }
}

/// The files that a scenario reads, itself among them.
fn inputs(file: Option<&Path>, folder: &Path, checked: &towtank_studies::CheckedScenario) -> Inputs {
    let named = checked.points().iter().flat_map(|point| &point.inputs);
    let named = named.map(|input| folder.join(&input.path)).collect::<BTreeSet<PathBuf>>();
    Inputs::new(file.map(Path::to_owned).into_iter().chain(named))
}

fn looks_like_a_path(what: &str) -> bool {
    what.contains(['/', '\\']) || what.ends_with(".toml") || Path::new(what).exists()
}

/// Reads all of a text that problems are to call `name`.
///
/// # Errors
/// When it cannot be read, or is no UTF-8.
pub fn read_text(name: &str, from: &mut dyn Read) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        Problem::new(format!("`{name}` is not text: byte {valid}, in line {line}, is no UTF-8"))
            .hint("save it as UTF-8; is it a scenario file?")
    })
}

fn unreadable(name: &str, error: &io::Error) -> Problem {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path; `towtank list` shows the built-in scenarios",
        io::ErrorKind::PermissionDenied => "ask for the right to read it",
        _ if Path::new(name).is_dir() => "name a scenario file in it",
        _ => "check the path",
    };
    Problem::new(format!("cannot read `{name}`: {}", reason(error))).hint(hint)
}

/// The system's words in our form: lower case, without the number in brackets.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Reads the files that a scenario names, relative to its own folder.
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

/// A file's contents; one that has more than `most` bytes is refused without reading it to the end.
fn read_up_to(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let told = |error: io::Error| reason(&error);
    let file = fs::File::open(path).map_err(told)?;
    let size = file.metadata().map_err(told)?.len();
    let mut bytes = Vec::new();
    if size <= most {
        // A pipe has no size beforehand.
        file.take(most + 1).read_to_end(&mut bytes).map_err(told)?;
    }
    let size = size.max(bytes.len() as u64);
    if size > most {
        Err(format!("it has {size} bytes or more, and at most {most} are read"))
    } else {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_above_the_limit_is_not_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let size = fs::metadata(&path).expect("it is there").len();
        assert_eq!(read_up_to(&path, size).expect("it fits").len() as u64, size);
        let refused = read_up_to(&path, size - 1).expect_err("one byte too many");
        assert_eq!(refused, format!("it has {size} bytes or more, and at most {} are read", size - 1));
    }
}
