//! The comparison of results.

use std::path::{Component, Path, PathBuf};

use towtank_campaign::{LoadError, Side, load_side};
use towtank_report::Report;
use towtank_scenario::words_of;

use crate::{Registry, Trouble, files};

/// Compares results with the first of them, each the directory of a run or its `report.json`, and writes the
/// report of their differences to `out`, if given. The registry's studies say what settings are.
///
/// # Errors
/// When one cannot be read, they cannot be compared, or the report cannot be written.
pub fn compare(results: &[&Path], registry: &Registry, out: Option<&Path>) -> Result<Report, Trouble> {
    let letters = (0..).map(letter);
    let sides = results.iter().zip(letters).map(|(path, letter)| load(path, &letter));
    let report = compare_sides(&sides.collect::<Result<Vec<Side>, Trouble>>()?, registry)?;
    if let Some(dir) = out {
        let inputs: Vec<PathBuf> =
            results.iter().flat_map(|run| [run.to_path_buf(), run.join("report.json")]).collect();
        files::write_report(&report, dir, &inputs)?;
    }
    Ok(report)
}

/// The name of a result in sentences, by its number from 0: `A`.
pub(crate) fn letter(at: usize) -> String {
    // A number past the letters is refused later, with how many there may be.
    char::from_u32(u32::try_from(at).unwrap_or(0) + u32::from('A')).unwrap_or('?').to_string()
}

/// The report of a comparison, with settings in the words of the first result's study.
pub(crate) fn compare_sides(sides: &[Side], registry: &Registry) -> Result<Report, Trouble> {
    let study = sides.first().and_then(|side| registry.named(&side.report.study));
    let schema = study.map(|study| study.schema().to_value());
    let words = |key: &str| words_of(schema.as_ref()?, key);
    towtank_campaign::compare(sides, &words).map_err(Trouble::input)
}

fn load(path: &Path, letter: &str) -> Result<Side, Trouble> {
    let side = load_side(path, letter).map_err(|error| match error {
        LoadError::Store(error) => error.into(),
        error => Trouble::input(error),
    })?;
    Ok(Side { called: called(path), ..side })
}

/// What a user calls a result: the last part of its path that is a name, without `report.json`.
fn called(path: &Path) -> String {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    let names: Vec<String> = names.filter(|name| name != "report.json").collect();
    names.last().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_called_by_the_last_name_of_its_path() {
        let cases = [
            ("before", "before"),
            ("x/before/", "before"),
            ("/tmp/x/before/report.json", "before"),
            ("before.json", "before.json"),
            ("report.json", ""),
            ("..", ""),
        ];
        for (path, want) in cases {
            assert_eq!(called(Path::new(path)), want, "{path}");
        }
        assert_eq!([0, 1, 25].map(letter), ["A", "B", "Z"]);
    }
}
