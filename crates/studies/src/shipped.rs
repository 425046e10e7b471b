//! The scenarios that are shipped, for tests that check all of them with their study.

use std::path::Path;

/// The texts of all shipped scenarios of a study, with their names. They come from the directory, so none can
/// be missing from a list.
fn scenarios_of(study: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut found = Vec::new();
    for folder in [root.clone(), root.join("papers")] {
        for entry in std::fs::read_dir(folder).expect("the scenarios lie beside the crates") {
            let path = entry.expect("a folder can be listed").path();
            if path.extension().is_none_or(|ending| ending != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a scenario is text");
            if text.lines().any(|line| line.trim() == format!("study = \"{study}\"")) {
                found.push((path.display().to_string(), text));
            }
        }
    }
    found
}

/// Checks all points of all shipped scenarios of a study; returns their number.
pub(crate) fn check_all(study: &dyn towtank_study::Study) -> usize {
    let mut points = 0;
    for (name, text) in scenarios_of(study.name()) {
        let document = towtank_scenario::Document::parse(&towtank_scenario::Source::file(&name, &text));
        let document = document.unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
        let outline = document.outline().unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        for point in outline.points() {
            let checked = study.check(point.draft());
            assert!(checked.is_ok(), "{name}: {:?}", checked.err());
            points += 1;
        }
    }
    points
}
