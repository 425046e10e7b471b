//! The form of this project's files: a heading, a bounded length, no left-over marks, no unsafe code outside
//! the files with a reason for it, no paths of a particular machine.

use crate::text::code_of;
use crate::tree::File;

const LINES_MAX: usize = 800;

/// Columns of a comment line, as `rustfmt.toml` has it for code.
const COMMENT_MAX: usize = 110;
const TRACKED_BYTES_MAX: u64 = 1 << 20;

/// Files that may hold unsafe code, each with its reason. The compiler denies it everywhere else.
const UNSAFE: &[(&str, &str)] = &[
    ("crates/kernel/src/prefetch.rs", "asking the cache for a line ahead of use has no safe form"),
    (
        "crates/placement/src/crush/lanes.rs",
        "vector code is chosen when the program runs, which the compiler cannot check",
    ),
    ("crates/placement/src/crush/hash.rs", "the order of two subtractions cannot be had from the compiler"),
    ("crates/kernel/benches/bare/bucket_loop.rs", "the yardstick prefetches as the kernel does"),
];

/// Names without a meaning, which show that their content belongs elsewhere.
const NAMELESS: [&str; 7] = ["utils", "util", "common", "helpers", "helper", "manager", "misc"];

/// Left-over marks, matched in code alone. Written in two halves so that this file passes.
const MARKS_IN_CODE: [&str; 4] =
    [concat!("to", "do!("), concat!("unimpl", "emented!("), concat!("db", "g!("), concat!("#[ig", "nore")];

/// Left-over marks, matched in comments as well.
const MARKS_IN_TEXT: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];

/// Top-level directories of paths that exist on one machine only.
const MACHINE_ROOTS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/fa", "rm/")];

/// File types that people write, in which a tab or a left-over mark is a mistake.
const WRITTEN: [&str; 8] = [".rs", ".toml", ".md", ".ts", ".css", ".sh", ".json", ".mjs"];

pub fn faults(file: &File) -> Vec<String> {
    let mut faults = line_faults(file);
    if file.path.ends_with(".rs") {
        faults.extend(heading_fault(file));
        faults.extend(length_fault(file));
        faults.extend(name_fault(file));
        faults.extend(code_faults(file));
        faults.extend(comment_faults(file));
    }
    faults
}

fn heading_fault(file: &File) -> Option<String> {
    let fault = || format!("{}:1: open the file with `//!` and what it is for", file.path);
    (!file.text.starts_with("//!")).then(fault)
}

fn length_fault(file: &File) -> Option<String> {
    let lines = file.text.lines().count();
    let fault = || format!("{}: {lines} lines, at most {LINES_MAX}: split it by noun", file.path);
    (lines > LINES_MAX).then(fault)
}

fn name_fault(file: &File) -> Option<String> {
    let named = file.path.trim_end_matches(".rs").split('/').find(|part| NAMELESS.contains(part))?;
    Some(format!("{}: `{named}` says nothing: name the file after what it holds", file.path))
}

fn code_faults(file: &File) -> Vec<String> {
    let code = code_of(&file.text).text;
    let may_be_unsafe = UNSAFE.iter().any(|(allowed, _)| *allowed == file.path);
    let mut faults = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let place = format!("{}:{}", file.path, index + 1);
        let marks = MARKS_IN_CODE.iter().filter(|mark| line.contains(**mark));
        faults.extend(marks.map(|mark| format!("{place}: `{mark}` is left over")));
        if !may_be_unsafe && has_word(line, "unsafe") {
            faults.push(format!("{place}: unsafe code belongs to the files listed in tests/house/form.rs"));
        }
        let nameless = NAMELESS.iter().filter(|name| line.contains(&format!("mod {name} {{")));
        faults.extend(nameless.map(|name| format!("{place}: the module name `{name}` says nothing")));
    }
    faults
}

/// Comments that are too wide. Rows of tables and code examples cannot be broken.
fn comment_faults(file: &File) -> Vec<String> {
    let mut in_example = false;
    let mut faults = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let text = line.trim_start();
        let Some(said) = text.strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim_start())
        else {
            in_example = false;
            continue;
        };
        in_example ^= said.starts_with("```");
        let fixed = in_example || said.starts_with(['|', '[']) || said.contains("://");
        let columns = line.chars().count();
        if columns > COMMENT_MAX && !fixed {
            let place = format!("{}:{}", file.path, index + 1);
            faults.push(format!("{place}: a comment of {columns} columns, at most {COMMENT_MAX}: break it"));
        }
    }
    faults
}

fn has_word(line: &str, word: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_letter) && !line[at + word.len()..].starts_with(is_letter))
}

fn line_faults(file: &File) -> Vec<String> {
    let written = WRITTEN.iter().any(|kind| file.path.ends_with(kind)) && !file.path.ends_with("-lock.json");
    let mut faults = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let mut say = |what: &str| faults.push(format!("{}:{}: {what}", file.path, index + 1));
        if names_a_machine(line) {
            say("a path of somebody's machine");
        }
        if !written {
            continue;
        }
        // In Rust, rustfmt checks this, and distinguishes snapshots of program output from code.
        if !file.path.ends_with(".rs") && line.ends_with([' ', '\t', '\r']) {
            say("blanks at the end of the line");
        }
        if line.contains('\t') {
            say("a tab: indent with spaces, and write \\t in strings");
        }
        for mark in MARKS_IN_TEXT.iter().filter(|mark| has_word(line, mark)) {
            say(&format!("`{mark}` is left over: do it, or write an issue"));
        }
    }
    faults
}

/// Whether a path starts with a machine-specific directory: `docs/work/` does not.
fn names_a_machine(line: &str) -> bool {
    let continues = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    MACHINE_ROOTS.iter().any(|root| line.match_indices(root).any(|(at, _)| !line[..at].ends_with(continues)))
}

/// Reports files of more than 1 MiB.
pub fn large(tracked: &[File]) -> Vec<String> {
    let too_large = tracked.iter().filter(|file| file.bytes > TRACKED_BYTES_MAX);
    too_large
        .map(|file| format!("{}: {} bytes, at most {TRACKED_BYTES_MAX}", file.path, file.bytes))
        .collect()
}

pub fn is_crate_manifest(path: &str) -> bool {
    path.starts_with("crates/") && path.ends_with("/Cargo.toml")
}

pub fn lints_missing(manifest: &File) -> Option<String> {
    let fault = || format!("{}: add `[lints]` with `workspace = true`", manifest.path);
    (!manifest.text.contains("[lints]\nworkspace = true\n")).then(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), bytes: text.len() as u64, text: text.to_owned() }
    }

    fn check(path: &str, text: &str, want: &[&str]) {
        let found = faults(&file(path, text));
        assert_eq!(found.len(), want.len(), "{found:?}");
        for (fault, want) in found.iter().zip(want) {
            assert!(fault.contains(want), "{fault} should say {want}");
        }
    }

    #[test]
    fn a_file_in_form_passes() {
        check("crates/units/src/time.rs", "//! Time.\n\nfn unsafely() {}\n", &[]);
        check("docs/units.md", "See docs/work/units.\n", &[]);
    }

    #[test]
    fn planted_faults_are_found() {
        let rust = "crates/units/src/time.rs";
        let mark = |at: usize| format!("//! T.\nfn f() {{ {} }}\n", MARKS_IN_CODE[at]);
        check(rust, "fn f() {}\n", &["time.rs:1: open the file with `//!`"]);
        check(rust, &format!("//! T.\n{}", "\n".repeat(800)), &["801 lines, at most 800"]);
        check("crates/units/src/utils.rs", "//! T.\n", &["`utils` says nothing"]);
        check("crates/units/src/common/time.rs", "//! T.\n", &["`common` says nothing"]);
        check(rust, "//! T.\nmod helpers { }\n", &["the module name `helpers`"]);
        for at in 0..MARKS_IN_CODE.len() {
            check(rust, &mark(at), &["time.rs:2: "]);
        }
        check(rust, &format!("//! T.\n// {} later\n", MARKS_IN_TEXT[0]), &["is left over"]);
        check(rust, "//! T.\nunsafe fn f() {}\n", &["unsafe code belongs to"]);
        check("docs/a.md", "a \n", &["docs/a.md:1: blanks at the end"]);
        check(rust, "//! T.\n\tfn\n", &["time.rs:2: a tab"]);
    }

    #[test]
    fn planted_long_comments_are_found() {
        let long = "word ".repeat(25);
        let path = "crates/units/src/time.rs";
        check(path, &format!("//! T.\n/// {long}end\nfn f() {{}}\n"), &["2: a comment of 132 columns"]);
        check(path, &format!("//! T.\nfn f() {{\n    // {long}end\n}}\n"), &["3: a comment of 135 columns"]);
        check(path, &format!("//! T.\n//! | {long} |\n//! ```\n//! {long}end\n//! ```\n"), &[]);
        check(path, &format!("//! T.\nconst TEXT: &str = \"{long}\";\n"), &[]);
    }

    #[test]
    fn planted_machine_paths_are_found_in_every_kind_of_file() {
        for root in MACHINE_ROOTS {
            check("Makefile", &format!("cd {root}here\n"), &["Makefile:1: a path of somebody's machine"]);
            check("docs/a.md", &format!("(`{root}here`)\n"), &["a path of somebody's machine"]);
        }
    }

    #[test]
    fn words_in_strings_and_comments_are_not_code() {
        let text = format!("//! T.\n// unsafe, and {}\nconst S: &str = \"unsafe\";\n", MARKS_IN_CODE[0]);
        check("crates/units/src/time.rs", &text, &[]);
    }

    #[test]
    fn a_planted_large_file_is_found() {
        let mut big = file("web/dist/bundle.js", "");
        big.bytes = TRACKED_BYTES_MAX + 1;
        assert_eq!(large(&[file("a", "b"), big]), ["web/dist/bundle.js: 1048577 bytes, at most 1048576"]);
    }

    #[test]
    fn a_manifest_without_the_lints_is_found() {
        assert_eq!(lints_missing(&file("crates/a/Cargo.toml", "[lints]\nworkspace = true\n")), None);
        assert!(lints_missing(&file("crates/a/Cargo.toml", "[package]\n")).is_some());
    }
}
