//! What the checks of a page find and what they let pass, with planted lies. `main.rs` lists these tests, as
//! it does those of the pages.

use std::path::Path;

use crate::console::{Step, blocks, faults, matches};
use crate::page::{self, Page};

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

pub fn only_console_blocks_are_read() {
    let page = "Text\n```sh\n$ rm all\n```\n\n````console\n$ one \\\n> two\nout\n```\n$ three\n````\n```console\n$ four\n```\n";
    let step = |line, command: &str, shown: &[&str]| Step {
        line,
        command: command.to_owned(),
        shown: shown.iter().map(|&text| text.to_owned()).collect(),
    };
    assert_eq!(
        blocks(page),
        [vec![step(7, "one \\\ntwo", &["out", "```"]), step(11, "three", &[])], vec![step(14, "four", &[])]]
    );
}

pub fn what_is_shown_stands_for_what_is_written() {
    for (shown, written, want) in [
        ("a\nb", "a\nb\n", true),
        ("a", "a  \n\n", true),
        ("a\nb", "a\n", false),
        ("a", "a\nb\n", false),
        ("...", "", true),
        ("a\n...\nz", "a\nb\nc\nz\n", true),
        ("a\n...\nz", "a\nb\nc\n", false),
        ("wrote ... in ... s", "wrote 3 files in 0.1 s\n", true),
        ("wrote ... in ... s", "wrote 3 files in 0.1 min\n", false),
        ("...: ...", "mean wait: 4.0 ms\n", true),
        ("a...a", "a\n", false),
    ] {
        assert_eq!(matches(&lines(shown), written), want, "{shown:?} for {written:?}");
    }
}

pub fn planted_lies_are_found() {
    let binary = Path::new(env!("CARGO_BIN_EXE_towtank"));
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = |page: &str| blocks(page).iter().flat_map(|block| faults(block, here, binary)).count();
    for (page, want) in [
        ("```console\n$ echo one; echo two >&2\none\ntwo\n```\n", 0),
        ("```console\n$ echo one\ntwo\n```\n", 1),
        ("```console\n$ false\n```\n", 1),
        ("```console\n$ echo one; false\none\n```\n", 1),
        ("```console\n$ echo error: one; false\nerror: one\n```\n", 0),
        ("```console\n$ echo error: one; false\nerror: two\n```\n", 1),
        ("```console\n$ (exit 3)\n$ echo $?\n3\n```\n", 0),
        ("```console\n$ (exit 3)\n$ echo $?\n2\n```\n", 1),
        ("```console\n$ towtank --version\ntowtank ...\n```\n", 0),
    ] {
        assert_eq!(found(page), want, "{page}");
    }
}

/// The test of a page fails with the line that lies, and the check over all pages where none shows a command.
pub fn a_page_that_lies_fails_its_test() {
    let page = |text: &str| Page { name: "docs/planted-lie.md".to_owned(), text: text.to_owned() };
    let honest = page("```console\n$ towtank --version\ntowtank ...\n```\n");
    let lying = page("A page.\n```console\n$ towtank --version\ntwotank ...\n```\n");
    let silent = page("```sh\n$ towtank --version\n```\n");
    assert_eq!(honest.check(), Ok(()));
    let complaint = lying.check().expect_err("the page says what the command does not write");
    assert!(
        complaint.contains("line 3: `towtank --version` shows\ntwotank ...\nbut writes\ntowtank "),
        "{complaint}"
    );
    assert!(page::some_command_is_shown(&[silent.clone(), honest]).is_ok());
    assert!(page::some_command_is_shown(&[silent]).is_err());
}
