//! The table of laws in `docs/laws.md`: each row names a crate (by its heading), a file and a function that
//! assert the law, and the tests that break it. What is named must be there.

use crate::tree::File;

pub const PAGE: &str = "docs/laws.md";

/// One row of the table.
struct Row {
    line: usize,
    /// The crate's folder, such as `kernel`.
    of: String,
    file: String,
    function: String,
    tests: Vec<String>,
}

/// The number of laws that the page names.
pub fn count(files: &[File]) -> usize {
    page(files).map_or(0, |page| rows(&page.text).len())
}

/// What the page names and the crates do not have.
pub fn faults(files: &[File]) -> Vec<String> {
    let Some(page) = page(files) else { return vec![format!("there is no {PAGE}")] };
    rows(&page.text).iter().flat_map(|row| faults_of(row, files)).collect()
}

fn page(files: &[File]) -> Option<&File> {
    files.iter().find(|file| file.path == PAGE)
}

fn faults_of(row: &Row, files: &[File]) -> Vec<String> {
    let Row { line, of, file, function, tests } = row;
    let path = format!("crates/{of}/src/{file}");
    let asserts = |text: &str| has_function(text, function) && text.contains("assert");
    let mut faults = Vec::new();
    if !files.iter().any(|file| file.path == path && asserts(&file.text)) {
        faults.push(format!("{PAGE}:{line}: no `fn {function}` that asserts in {path}"));
    }
    if tests.is_empty() {
        faults.push(format!("{PAGE}:{line}: no test breaks this law"));
    }
    let folder = format!("crates/{of}/");
    for test in tests {
        let is_there = |file: &File| file.path.starts_with(&folder) && has_function(&file.text, test);
        if !files.iter().any(is_there) {
            faults.push(format!("{PAGE}:{line}: no `fn {test}` in {folder}"));
        }
    }
    faults
}

/// Whether the text has a function of this name, and not only one whose name begins with it.
fn has_function(text: &str, name: &str) -> bool {
    let start = format!("fn {name}");
    let ends = |at: usize| text[at + start.len()..].starts_with(['(', '<']);
    text.match_indices(&start).any(|(at, _)| ends(at))
}

/// The rows below a heading with the name of a crate, but for the head of each table.
fn rows(text: &str) -> Vec<Row> {
    let (mut rows, mut of) = (Vec::new(), String::new());
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            of = heading.trim_matches('`').to_owned();
        }
        let mut cells = line.trim_matches('|').split('|').skip(1).map(quoted);
        if let (true, Some(place), Some(tests)) = (line.starts_with('|'), cells.next(), cells.next())
            && let [file, function] = &place[..]
        {
            let (file, function) = (file.clone(), function.clone());
            rows.push(Row { line: index + 1, of: of.clone(), file, function, tests });
        }
    }
    rows
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(test: &str) -> Vec<File> {
        let file = |path: &str, text: String| File { path: path.to_owned(), bytes: 0, text: text.to_owned() };
        let table = "## `x`\n\n| law | asserted in `crates/x/src/` | planted violation |\n| --- | --- | --- |\n\
                     | all is well | `a/b.rs`, `check` | `it_breaks`, `it_breaks_too` |\n";
        vec![
            file(PAGE, table.to_owned()),
            file("crates/x/src/a/b.rs", "fn check() { assert!(true); }".to_owned()),
            file("crates/x/tests/c.rs", format!("fn it_breaks() {{}}\n{test}")),
            file("crates/y/src/d.rs", "fn it_breaks_too() {}".to_owned()),
        ]
    }

    #[test]
    fn a_planted_row_of_a_test_that_does_not_exist_is_found() {
        let good = files("fn it_breaks_too() {}");
        assert_eq!((count(&good), faults(&good)), (1, Vec::new()));
        for planted in ["", "fn it_breaks_too_late() {}"] {
            let want = format!("{PAGE}:5: no `fn it_breaks_too` in crates/x/");
            assert_eq!(faults(&files(planted)), [want], "{planted}");
        }
    }

    #[test]
    fn a_planted_row_of_a_function_that_asserts_nothing_is_found() {
        let mut files = files("fn it_breaks_too() {}");
        files[1].text = "fn check() {}".to_owned();
        assert_eq!(faults(&files), [format!("{PAGE}:5: no `fn check` that asserts in crates/x/src/a/b.rs")]);
        files.remove(0);
        assert_eq!(faults(&files), [format!("there is no {PAGE}")]);
    }
}
