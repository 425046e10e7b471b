//! The format of problems: with the source line and a marker on a terminal, as three plain lines elsewhere.
//!
//! ```text
//! error: `replicas` is 5, but only 3 racks are up
//!   --> ring.toml:12:12
//! hint: set `replicas` to at most 3, or add racks
//! ```

use std::fmt::{self, Write as _};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use towtank::Trouble;
use towtank_report::text::{is_obeyed, printable};
use towtank_scenario::{Place, Problem, Problems, SourceKind};

use crate::excerpt::{self, Marked, clipped};
use crate::exit::Exit;
use crate::screen;

/// The most problems shown at once; about one screen.
const SHOWN_MAX: usize = 10;

/// Reports an error on stderr.
pub fn report(trouble: &Trouble) -> Exit {
    match trouble {
        Trouble::Input(problems) => {
            input(problems);
            Exit::BadInput
        }
        Trouble::Failed(problem) => {
            screen::say_styled(&render(problem));
            Exit::Failed
        }
    }
}

/// Reports the problems of an input on stderr.
fn input(problems: &Problems) {
    let shown: Vec<String> = problems.iter().take(SHOWN_MAX).map(render).collect();
    screen::say_styled(&shown.join("\n"));
    if problems.len() > SHOWN_MAX {
        screen::say(&format!("\n{} more problems are not shown\n", problems.len() - SHOWN_MAX));
    }
}

fn render(problem: &Problem) -> String {
    let style = screen::stderr();
    let in_file =
        |place: &Place| place.source().kind() == SourceKind::File && !place.is_whole() && fits(place, style);
    if style.terminal && problem.place().is_some_and(in_file) {
        graphical(problem, style)
    } else {
        plain(problem)
    }
}

/// Whether the lines around a place can be shown: lines of a generated file may be extremely long.
fn fits(place: &Place, style: screen::Style) -> bool {
    let (line, _) = place.line_and_column();
    let near = place.source().text().lines().skip(line.saturating_sub(2)).take(3);
    near.into_iter().all(|line| line.chars().count() <= 2 * style.width)
}

/// The message in a form safe for a terminal: on one line, and of limited length.
fn message(problem: &Problem) -> String {
    clipped(&printable(problem.message()))
}

/// The hints, one per line.
fn hint(problem: &Problem) -> Option<String> {
    let lines =
        |hint: &str| hint.lines().map(|line| clipped(&printable(line))).collect::<Vec<_>>().join("\n");
    problem.next_step().map(lines)
}

/// Three lines, or four where the place is part of a flag.
pub fn plain(problem: &Problem) -> String {
    let mut out = format!("error: {}\n", message(problem));
    if let Some(place) = problem.place() {
        out.push_str(&place_lines(place));
    }
    if let Some(hint) = hint(problem) {
        writeln!(out, "hint: {hint}").expect("writing to a string");
    }
    out
}

fn place_lines(place: &Place) -> String {
    let source = place.source();
    let name = printable(source.name());
    match source.kind() {
        SourceKind::File if place.is_whole() => format!("  --> {name}\n"),
        SourceKind::File => {
            let (line, column) = place.line_and_column();
            format!("  --> {name}:{line}:{column}\n")
        }
        // A command without a file has nothing to point at.
        SourceKind::Flag if source.text().is_empty() => String::new(),
        SourceKind::Flag => {
            let before = source.text()[..place.span().start].chars().count();
            let marked = before..before + place.text().chars().count();
            // The number of characters is unchanged, so the carets are in the right columns.
            let Marked { line, columns } = excerpt::around(&printable(source.text()), &name, marked);
            if place.is_whole() {
                return format!("  --> {line}\n");
            }
            let carets = "^".repeat(columns.len().max(1));
            format!("  --> {line}\n      {}{carets}\n", " ".repeat(columns.start))
        }
    }
}

/// A file's text in a form safe for a terminal, with each character as long as before, so that places in it
/// stay valid.
fn shown_in_place(text: &str) -> String {
    let mark = |c: char| match (c, c.len_utf8()) {
        ('\n' | '\t', _) => c,
        ('\r', _) => ' ',
        (c, _) if !is_obeyed(c) => c,
        (_, 1) => '?',
        (_, 2) => '¿',
        (_, _) => '\u{fffd}',
    };
    text.chars().map(mark).collect()
}

/// The problem with its source line.
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

/// A problem as a `miette` diagnostic.
#[derive(Debug)]
struct Shown<'a> {
    problem: &'a Problem,
    source: Option<NamedSource<String>>,
}

impl<'a> Shown<'a> {
    fn new(problem: &'a Problem) -> Shown<'a> {
        let source = problem
            .place()
            .map(|place| (printable(place.source().name()), shown_in_place(place.source().text())))
            .map(|(name, text)| NamedSource::new(name, text));
        Shown { problem, source }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&message(self.problem))
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        hint(self.problem).map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.problem.place()?;
        let span = place.span();
        // The place of a table may span many lines; its first line suffices.
        let len = place.text().lines().next().map_or(0, str::len);
        Some(Box::new(std::iter::once(LabeledSpan::new(None, span.start, len))))
    }
}

#[cfg(test)]
mod tests {
    use towtank_scenario::Source;

    use super::*;

    #[test]
    fn nothing_quoted_reaches_a_terminal_as_a_command() {
        let text = "a = 1\r\nti\u{202e}tle\u{85} = \"\u{1b}]0;owned\u{7}\"\n";
        let at = text.find("\"\u{1b}").expect("it is there");
        let place = Place::new(&Source::file("a\u{1b}[2J.toml", text), at..text.len() - 1);
        let problem = Problem::new("`\u{1b}[31m` is no name\nerror: forged").hint("try \u{9b}1m").at(place);
        let style = screen::Style { terminal: true, colour: false, unicode: true, width: 100 };
        let graphical = graphical(&problem, style);
        assert_eq!(shown_in_place(text).len(), text.len());
        for shown in [plain(&problem), graphical.clone()] {
            assert!(!shown.chars().any(|c| is_obeyed(c) && c != '\n'), "{shown:?}");
            assert!(!shown.contains("\nerror: forged"), "{shown}");
        }
        assert!(graphical.contains("?]0;owned?"), "{graphical}");
    }

    #[test]
    fn endless_lines_are_not_shown() {
        let style = screen::Style { terminal: true, colour: false, unicode: true, width: 100 };
        let source =
            Source::file("long.toml", format!("a = 1\nb = \"{}\"\nc = 2\nd = 3\n", "x".repeat(1_000)));
        let at = |needle: &str| {
            let start = source.text().find(needle).expect("it is there");
            Place::new(&source, start..start + 1)
        };
        assert!(!fits(&at("a = 1"), style), "its neighbour would be shown");
        assert!(!fits(&at("b ="), style));
        assert!(fits(&at("d ="), style));
    }
}
