//! Finds a scenario: a file, a built-in one by its name, or stdin.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use towtank_scenario::{Document, Files, Problem, Problems, Source, did_you_mean};
use towtank_units::Bytes;

use crate::catalogue::{self, Builtin};
use crate::machine::{self, Memory};

/// A scenario's text, and what must not be overwritten because it came from there.
pub struct Loaded {
    /// Ready for flags to be laid over it.
    pub document: Document,
    /// The file, if it is one.
    pub file: Option<PathBuf>,
    /// Where the files that it names are.
    pub folder: PathBuf,
}

/// Loads what the user named.
pub fn load(what: &str) -> Result<Loaded, Problems> {
    let path = Path::new(what);
    let (source, file) = if what == "-" {
        (Source::file("<stdin>", read_all(what, &mut io::stdin())?), None)
    } else if path.is_file() || (looks_like_a_path(what) && catalogue::named(what).is_none()) {
        let mut opened = fs::File::open(path).map_err(|error| unreadable(what, &error))?;
        (Source::file(what, read_all(what, &mut opened)?), Some(path.to_owned()))
    } else {
        (builtin(what)?, None)
    };
    let folder = file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
    let document = Document::parse(&source)?.with_files(Arc::new(Folder(folder.clone())));
    Ok(Loaded { document, file, folder })
}

/// Loads nothing: the flags say it all.
pub fn of_study(document: Document) -> Loaded {
    Loaded {
        document: document.with_files(Arc::new(Folder(PathBuf::new()))),
        file: None,
        folder: PathBuf::new(),
    }
}

/// The built-in scenario called `name`.
pub fn find_builtin(name: &str) -> Result<&'static Builtin, Problem> {
    catalogue::named(name).ok_or_else(|| {
        let hint = did_you_mean(name, catalogue::all().iter().map(Builtin::name)).unwrap_or_else(|| {
            "`towtank list` shows the built-in ones; a file of your own is named with its path".to_owned()
        });
        Problem::new(format!("there is no scenario called `{name}`, and no such file")).hint(hint)
    })
}

fn builtin(name: &str) -> Result<Arc<Source>, Problem> {
    let builtin = find_builtin(name)?;
    Ok(Source::file(format!("scenarios/{}", builtin.path), builtin.text))
}

fn looks_like_a_path(what: &str) -> bool {
    what.contains(['/', '\\']) || what.ends_with(".toml") || Path::new(what).exists()
}

fn read_all(name: &str, from: &mut dyn Read) -> Result<String, Problem> {
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
        match machine::refusal(Bytes::new(size), Memory::here()) {
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
