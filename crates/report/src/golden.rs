//! Golden files that this crate's tests write and the page's tests read. A test fails when one is out of
//! date; `TOWTANK_UPDATE=1 cargo test -p towtank-report` rewrites them.

use std::path::Path;

/// Checks that the file at `path` (from the root of the repository) equals `text`.
pub fn check(path: &str, text: &str) {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("TOWTANK_UPDATE").is_some() {
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(&full, text).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&full).unwrap_or_default();
    let again = "run `TOWTANK_UPDATE=1 cargo test -p towtank-report` and look at what changed";
    // Not assert_eq: the files are long, and a diff tool shows them better.
    assert!(found == text, "{path} is out of date; {again}");
}
