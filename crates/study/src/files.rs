//! Keys that name files: each file is read once, what is wrong with it is a problem at its key, and what was
//! left out of it is a warning.

use towtank_imports::{File, ImportError, Imported};
use towtank_report::Warning;
use towtank_scenario::{Draft, Input, Problems};

/// The contents of a file.
#[derive(Clone, Debug)]
pub struct Contents<T> {
    /// Its name, as the scenario has it.
    pub file: String,
    /// What was read from it.
    pub value: T,
}

/// Reads the files of a scenario.
pub struct Reader<'a> {
    /// The scenario.
    pub draft: &'a Draft,
    /// What is said of the files that could be read.
    pub warnings: &'a mut Vec<Warning>,
    /// What is wrong with the others.
    pub problems: &'a mut Problems,
}

impl Reader<'_> {
    /// Reads the file that `key` names; nothing where it has a problem.
    pub fn read<T>(
        &mut self,
        key: &str,
        read: impl Fn(File<'_>) -> Result<Imported<T>, ImportError>,
    ) -> Option<Contents<T>> {
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
                Some(Contents { value, file: input.path })
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
