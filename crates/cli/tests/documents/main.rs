//! Runs every command that `README.md` and `docs/` show on a terminal, and compares its output with the page.
//! Each page is a test, named after it, and runs in its own folder with the scenarios, as in a clone, with
//! `towtank` on the path and at `target/release/towtank`.
//!
//! The names of the pages are known only when it runs, so this has no harness:
//! `cargo test -p towtank-cli --test documents -- docs/crush.md` runs the commands of one page.

mod console;
mod page;
mod planted;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let pages = page::all();
    let mut tests = vec![
        check("only_console_blocks_are_read", planted::only_console_blocks_are_read),
        check("what_is_shown_stands_for_what_is_written", planted::what_is_shown_stands_for_what_is_written),
        check("planted_lies_are_found", planted::planted_lies_are_found),
        check("a_page_that_lies_fails_its_test", planted::a_page_that_lies_fails_its_test),
    ];
    let all = pages.clone();
    tests.push(Trial::test("some_page_shows_a_command", move || Ok(page::some_command_is_shown(&all)?)));
    let all = pages.clone();
    tests.push(Trial::test("long_pages_start_first", move || Ok(page::long_pages_start_first(&all)?)));
    tests.extend(pages.into_iter().map(|page| Trial::test(page.name.clone(), move || Ok(page.check()?))));
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn check(name: &str, panics: fn()) -> Trial {
    Trial::test(name, move || {
        panics();
        Ok(())
    })
}
