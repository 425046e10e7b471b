//! Reads and writes maps: files, stdin, and problems with their place.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use towtank::{Memory, Trouble};
use towtank_campaign::Inputs;
use towtank_imports::ceph::read_map;
use towtank_imports::{File, INPUT_MAX_BYTES, ImportError};
use towtank_placement::crush::text::{TextError, compile};
use towtank_placement::crush::{Map, binary};
use towtank_scenario::{Place, Problem, Source};
use towtank_units::Bytes;

use crate::replaced;

/// Reads a file; `-` is stdin. A device or a pipe may have no end, so no more is read than an input may have.
pub fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let mut up_to_limit = |from: &mut dyn Read| from.take(INPUT_MAX_BYTES + 1).read_to_end(&mut bytes);
    let read = if path.as_os_str() == "-" {
        up_to_limit(&mut io::stdin())
    } else {
        let size = fs::metadata(path).map_or(0, |known| known.len());
        if let Some(refusal) = towtank::refusal_of_file(Bytes::new(size), Memory::here()) {
            let message = format!("`{}` is too large: {refusal}", path.display());
            return Err(Problem::new(message).hint("free memory, or raise the memory limit"));
        }
        fs::File::open(path).and_then(|mut file| up_to_limit(&mut file))
    };
    read.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::PermissionDenied => "get read permission for the file",
            io::ErrorKind::IsADirectory => "name a file in that directory",
            _ => "correct the cause, then run the command again",
        };
        let text = error.to_string().to_lowercase();
        let reason = text.split(" (os error").next().unwrap_or(&text);
        Problem::new(format!("cannot read `{}`: {reason}", path.display())).hint(hint)
    })?;
    if bytes.len() as u64 > INPUT_MAX_BYTES {
        let limit = Bytes::new(INPUT_MAX_BYTES);
        let message = format!("`{}` has more than {limit}, the most that an input may have", path.display());
        return Err(Problem::new(message).hint("name a file that ends before"));
    }
    Ok(bytes)
}

/// The file name that messages show.
pub fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Reads the text of a map.
pub(crate) fn read_text(path: &Path) -> Result<Arc<Source>, Problem> {
    text_of(path, read(path)?)
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<Arc<Source>, Problem> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        Problem::new(format!("not a text map: byte {valid}, in line {line}, is not valid UTF-8"))
            .hint("read a binary map with -i, or convert it to text with -d")
            .at(whole(path))
    })?;
    Ok(Source::file(name(path), text))
}

/// A place that names the file, without a line.
fn whole(path: &Path) -> Place {
    Place::whole(&Source::file(name(path), ""))
}

/// Reads a binary map, or the output of `ceph osd crush dump`.
pub(super) fn read_binary(path: &Path) -> Result<Map, Problem> {
    parse_binary(path, &read(path)?)
}

fn parse_binary(path: &Path, bytes: &[u8]) -> Result<Map, Problem> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'{') || bytes.starts_with(&GZIP) {
        // The output of `ceph osd crush dump`, or a compressed map.
        let file = File { name: &name(path), bytes };
        return read_map(file).map(|read| read.value).map_err(|error| of_import(path, &error));
    }
    binary::read(bytes).map_err(|error| {
        let texty = !bytes.is_empty() && std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
        let hint = if texty {
            "the file looks like a text map: compile it first with -c FILE -o MAP"
        } else {
            "name a binary map, as written by `ceph osd getcrushmap -o FILE`"
        };
        Problem::new(error.to_string()).hint(hint).at(whole(path))
    })
}

/// How a file begins that gzip has compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

fn of_import(path: &Path, error: &ImportError) -> Problem {
    let problem = Problem::new(error.to_string()).at(whole(path));
    match &error.hint {
        Some(hint) => problem.hint(hint.clone()),
        None => problem,
    }
}

/// Reads a binary or a text map, or the output of `ceph osd crush dump`.
pub(crate) fn read_either(path: &Path) -> Result<Map, Problem> {
    let bytes = read(path)?;
    // The first word of a binary map contains a zero byte; no text map does.
    let is_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if bytes.contains(&0) || is_json {
        return parse_binary(path, &bytes);
    }
    let source = text_of(path, bytes)?;
    compile(source.text()).map_err(|error| text_problem(&source, &error))
}

/// A problem in a text map, at its line and column.
pub(super) fn text_problem(source: &Arc<Source>, error: &TextError) -> Problem {
    let text = source.text();
    let before: usize = text.split_inclusive('\n').take(error.line as usize - 1).map(str::len).sum();
    let line = text[before..].lines().next().unwrap_or_default();
    let start = line.char_indices().nth(error.column as usize - 1).map_or(line.len(), |(at, _)| at);
    let word = line[start..].find(char::is_whitespace).unwrap_or(line.len() - start);
    let span = before + start..before + start + word;
    let problem = Problem::new(error.reason.clone()).at(Place::new(source, span));
    match &error.hint {
        Some(hint) => problem.hint(hint.clone()),
        None => problem,
    }
}

/// Replaces a file atomically; it may be the map that was read.
pub fn put(path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
    replaced::put(path, bytes, Inputs::new::<&Path>([]))
}
