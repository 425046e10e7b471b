//! No study of `crates/studies` uses another one there: what two of them need is in a crate below.

use std::collections::BTreeSet;

use crate::text::code_of;
use crate::tree::File;

const ROOM: &str = "crates/studies/src/";

/// The name of the study that a file belongs to: `put` of `put.rs` and of all files below `put/`.
fn study_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix(ROOM)?.split('/').next()?;
    Some(name.strip_suffix(".rs").unwrap_or(name))
}

/// The studies: the public modules of the crate.
fn studies(files: &[File]) -> BTreeSet<String> {
    let root = files.iter().find(|file| file.path == format!("{ROOM}lib.rs"));
    let lines = root.map(|file| file.text.lines()).into_iter().flatten();
    let module = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    lines.filter_map(module).collect()
}

pub fn faults(files: &[File]) -> Vec<String> {
    let studies = studies(files);
    let mut faults = Vec::new();
    for file in files {
        let Some(own) = study_of(&file.path).filter(|own| studies.contains(*own)) else { continue };
        let code = code_of(&file.text).text;
        for other in studies.iter().filter(|other| *other != own) {
            // A study's own file is at the root of the crate: there `super` is the crate.
            let ways = [format!("crate::{other}::"), format!("crate::{other};"), format!("super::{other}::")];
            let uses = |way: &String| code.contains(way.as_str());
            let at_root = file.path == format!("{ROOM}{own}.rs");
            if ways[..2].iter().any(uses) || (at_root && uses(&ways[2])) {
                faults.push(format!("{}: `{own}` uses `{other}`, which is another study", file.path));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: format!("{ROOM}{path}"), bytes: 0, text: text.to_owned() }
    }

    #[test]
    fn a_planted_use_of_another_study_is_found() {
        let root = || file("lib.rs", "mod shared;\npub mod put;\npub mod queue;\n");
        let found = |path: &str, text: &str| faults(&[root(), file(path, text)]).len();
        assert_eq!(found("put/model.rs", "use crate::queue::Queue;\n"), 1);
        assert_eq!(found("put.rs", "use super::queue::Queue;\n"), 1);
        assert_eq!(found("put/model.rs", "use super::queue::Queue;\nuse crate::put::Put;\n"), 0);
        assert_eq!(found("shared.rs", "use crate::queue::Queue;\n"), 0);
        assert_eq!(found("put.rs", "// as crate::queue::Queue\n"), 0);
        assert_eq!(studies(&[root()]).len(), 2);
    }
}
