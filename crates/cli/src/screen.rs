//! The properties of stdout and stderr, and writing to them without failing on a closed pipe.

use std::env;
use std::io::{self, IsTerminal, Write};

use towtank_report::text::{printable, printable_lines};

use crate::excerpt;
use crate::exit::Exit;

/// The capabilities of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether it is a terminal.
    pub terminal: bool,
    /// Colours may be used.
    pub colour: bool,
    /// More than ASCII may be used.
    pub unicode: bool,
    /// The width in columns.
    pub width: usize,
}

/// The width in columns where neither a terminal nor `COLUMNS` says it.
const WIDTH_DEFAULT: usize = 100;

/// The capabilities of stdout.
pub fn stdout() -> Style {
    style(io::stdout().is_terminal(), terminal_size::terminal_size_of(io::stdout()))
}

/// The capabilities of stderr.
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
    let said = || env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let known = size.map(|(width, _)| usize::from(width.0)).or_else(said).filter(|width| *width > 0);
    let width = known.map_or(WIDTH_DEFAULT, |width| width.clamp(40, 160));
    Style { terminal, colour: terminal && !refused && !dumb, unicode, width }
}

/// Writes data to stdout. A reader that closes the pipe (`| head`) is not an error.
///
/// # Errors
/// When stdout cannot be written for another reason, such as a full disk behind it.
pub fn print(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())
}

/// The same for data that need not be text.
///
/// # Errors
/// When stdout cannot be written for another reason, such as a full disk behind it.
pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    print_while_read(bytes).map(drop)
}

/// The same for a part of the data; false if nobody reads any more.
///
/// # Errors
/// When stdout cannot be written for another reason, such as a full disk behind it.
pub(crate) fn print_while_read(bytes: &[u8]) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        result => result.map(|()| true),
    }
}

/// Writes a message to stderr. Quoted text may come from anywhere, so escape sequences in it are made
/// harmless.
pub(crate) fn say(text: &str) {
    say_styled(&printable_lines(text));
}

/// Writes a message that contains our own colours, but no other escape sequences. If stderr is closed, the
/// message is dropped.
pub(crate) fn say_styled(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints the output of `clap` about the command line: help on stdout, errors on stderr.
pub(crate) fn usage(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done;
    }
    // `clap` quotes the input with any control characters in it.
    let plain = error.to_string();
    let clean: Vec<String> = plain.lines().map(|line| excerpt::clipped(&printable(line))).collect();
    if clean.join("\n") == plain.trim_end_matches('\n') {
        let _ = error.print();
    } else {
        say(&format!("{}\n", clean.join("\n")));
    }
    Exit::BadInput
}
