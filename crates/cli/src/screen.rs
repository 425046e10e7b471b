//! stdout and stderr: what they are, and writing to them without falling over.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use towtank_report::text::{printable, printable_lines};

use crate::excerpt;
use crate::exit::Exit;

/// What a stream can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Somebody is looking at it.
    pub terminal: bool,
    /// Colours may be used.
    pub colour: bool,
    /// More than ASCII may be used.
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

/// Columns where nobody says how many.
const WIDTH_DEFAULT: usize = 100;

/// What stdout can show.
pub fn stdout() -> Style {
    style(io::stdout().is_terminal(), terminal_size::terminal_size_of(io::stdout()))
}

/// What stderr can show.
pub fn stderr() -> Style {
    style(io::stderr().is_terminal(), terminal_size::terminal_size_of(io::stderr()))
}

fn style(terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Style {
    // https://no-color.org: set and not empty.
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    let language = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| env::var(name).ok().filter(|v| !v.is_empty()));
    let unicode =
        language.is_none_or(|language| language.to_ascii_lowercase().replace('-', "").contains("utf8"));
    let width = size.map_or(WIDTH_DEFAULT, |(width, _)| usize::from(width.0).clamp(40, 160));
    Style { terminal, colour: terminal && !refused && !dumb, unicode, width }
}

/// Writes data to stdout. A reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// When stdout cannot be written for another reason, such as a full disk behind it.
pub fn print(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())
}

/// The same, of data that need not be text.
///
/// # Errors
/// When stdout cannot be written for another reason, such as a full disk behind it.
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes words to stderr. What they quote may come from anywhere, so nothing in them is obeyed by a
/// terminal.
pub fn say(text: &str) {
    say_styled(&printable_lines(text));
}

/// Writes words that hold colours of our own, and nothing else that a terminal obeys. If even stderr is
/// closed, there is nobody left to tell.
pub fn say_styled(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Shows what `clap` has to say about the command line: help on stdout, mistakes on stderr.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done.into();
    }
    // `clap` quotes what was typed, with all that is in it.
    let plain = error.to_string();
    let clean: Vec<String> = plain.lines().map(|line| excerpt::clipped(&printable(line))).collect();
    if clean.join("\n") == plain.trim_end_matches('\n') {
        let _ = error.print();
    } else {
        say(&format!("{}\n", clean.join("\n")));
    }
    Exit::BadInput.into()
}
