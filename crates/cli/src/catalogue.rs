//! The scenarios that come with the binary: the files of `scenarios/`, by the name of the file.

use std::path::Path;

/// A scenario file in the binary.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Under `scenarios/`: `queue-network.toml`, `papers/…`.
    pub path: &'static str,
    /// What is in it.
    pub text: &'static str,
}

const ALL: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

impl Builtin {
    /// The name to run it by: the file's, without its folder and its ending.
    pub fn name(&self) -> &'static str {
        Path::new(self.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or(self.path)
    }
}

/// Every one, in the order of the folder.
pub fn all() -> &'static [Builtin] {
    ALL
}

/// The one called `name`.
pub fn named(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name() == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_told_apart_and_are_no_commands() {
        let names: BTreeSet<&str> = all().iter().map(Builtin::name).collect();
        assert_eq!(names.len(), all().len(), "two scenario files have the same name");
        for builtin in all() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
            let text = std::fs::read_to_string(Path::new(file).join(builtin.path)).expect(builtin.path);
            assert_eq!(text, builtin.text, "{} is not the one in the binary", builtin.path);
        }
    }

    #[test]
    fn every_published_scenario_is_there() {
        for study in towtank_studies::all() {
            for name in study.published() {
                assert!(
                    named(name).is_some(),
                    "{} publishes `{name}`, which is not in scenarios/",
                    study.name()
                );
            }
        }
    }
}
