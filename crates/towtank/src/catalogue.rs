//! The built-in scenarios: the files of `scenarios/`, by file name.

use std::path::Path;

/// A built-in scenario, which needs no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its path under `scenarios/`: `queue-network.toml`, `papers/…`.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The built-in scenarios, in the order of the folder.
pub(crate) const ALL: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

impl Builtin {
    /// The name to run it by: the file name without folder and extension.
    #[must_use]
    pub fn name(&self) -> &'static str {
        Path::new(self.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or(self.path)
    }
}

/// The title that a scenario's text gives, if any: its first line with the key.
pub(crate) fn title(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("title = \""))?;
    line.strip_suffix('"').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_distinct_and_texts_are_those_of_the_folder() {
        let names: BTreeSet<&str> = ALL.iter().map(Builtin::name).collect();
        assert_eq!(names.len(), ALL.len(), "two scenario files have the same name");
        for builtin in ALL {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
            let text = std::fs::read_to_string(Path::new(folder).join(builtin.path)).expect(builtin.path);
            assert_eq!(text, builtin.text, "{} is not the one that was built in", builtin.path);
        }
    }

    #[test]
    fn every_published_scenario_is_there() {
        for study in crate::studies() {
            for name in study.published() {
                let there = ALL.iter().any(|builtin| builtin.name() == *name);
                assert!(there, "{} publishes `{name}`, which is not in scenarios/", study.name());
            }
        }
    }
}
