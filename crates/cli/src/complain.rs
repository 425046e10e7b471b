//! How a problem looks: with its line and a marker on a terminal, in three plain lines everywhere else.
//!
//! ```text
//! error: `replicas` is 5, but only 3 racks are up
//!   --> ring.toml:12:12
//! hint: set `replicas` to at most 3, or add racks
//! ```

use std::fmt::{self, Write as _};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use scenario::{Place, Problem, Problems, SourceKind};

use crate::exit::{Exit, Trouble};
use crate::screen;

/// The most problems shown at once; a screen holds about so many.
const SHOWN_MAX: usize = 10;

/// Says on stderr what went wrong.
pub fn report(trouble: &Trouble) -> Exit {
    match trouble {
        Trouble::Input(problems) => {
            input(problems);
            Exit::BadInput
        }
        Trouble::Failed(problem) => {
            screen::say(&render(problem));
            Exit::Failed
        }
    }
}

/// Says on stderr what is wrong with an input.
fn input(problems: &Problems) {
    let shown: Vec<String> = problems.iter().take(SHOWN_MAX).map(render).collect();
    screen::say(&shown.join("\n"));
    if problems.len() > SHOWN_MAX {
        screen::say(&format!("\n{} more problems are not shown\n", problems.len() - SHOWN_MAX));
    }
}

fn render(problem: &Problem) -> String {
    let style = screen::stderr();
    let in_file =
        problem.place().is_some_and(|place| place.source().kind() == SourceKind::File && !place.is_whole());
    if style.terminal && in_file { graphical(problem, style) } else { plain(problem) }
}

/// Three lines, or four where the place is part of a flag.
pub fn plain(problem: &Problem) -> String {
    let mut out = format!("error: {problem}\n");
    if let Some(place) = problem.place() {
        out.push_str(&place_lines(place));
    }
    if let Some(hint) = problem.next_step() {
        writeln!(out, "hint: {hint}").expect("writing to a string");
    }
    out
}

fn place_lines(place: &Place) -> String {
    let source = place.source();
    match source.kind() {
        SourceKind::File if place.is_whole() => format!("  --> {}\n", source.name()),
        SourceKind::File => {
            let (line, column) = place.line_and_column();
            format!("  --> {}:{line}:{column}\n", source.name())
        }
        // A command without a file has nothing to point at.
        SourceKind::Flag if source.text().is_empty() => String::new(),
        SourceKind::Flag if place.is_whole() => format!("  --> {}\n", one_line(source.text())),
        SourceKind::Flag => {
            let before = source.text()[..place.span().start].chars().count();
            let carets = "^".repeat(place.text().chars().count().max(1));
            format!("  --> {}\n      {}{carets}\n", one_line(source.text()), " ".repeat(before))
        }
    }
}

/// Line breaks and other controls would break the row of carets, or do worse to a terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The problem with the line that it is about.
fn graphical(problem: &Problem, style: screen::Style) -> String {
    let theme = match (style.colour, style.unicode) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => {
            GraphicalTheme { characters: miette::ThemeCharacters::ascii(), ..GraphicalTheme::unicode() }
        }
        (false, true) => GraphicalTheme::unicode_nocolor(),
        (false, false) => GraphicalTheme::none(),
    };
    let mut out = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(style.width).with_links(false);
    match handler.render_report(&mut out, &Shown::new(problem)) {
        Ok(()) => out,
        Err(fmt::Error) => plain(problem),
    }
}

/// A problem as `miette` wants it.
#[derive(Debug)]
struct Shown<'a> {
    problem: &'a Problem,
    source: Option<NamedSource<String>>,
}

impl<'a> Shown<'a> {
    fn new(problem: &'a Problem) -> Shown<'a> {
        let source = problem
            .place()
            .map(|place| NamedSource::new(place.source().name(), place.source().text().to_owned()));
        Shown { problem, source }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.problem, f)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.next_step().map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.problem.place()?;
        let span = place.span();
        // A table's place may be many lines; its first one is enough to find it.
        let len = place.text().lines().next().map_or(0, str::len);
        Some(Box::new(std::iter::once(LabeledSpan::new(None, span.start, len))))
    }
}
