//! A report in one screen: key measures and warnings first, the answer last.
//!
//! Nothing follows the answer, so that it stays in view where the terminal's prompt returns.

use super::{Ink, Style, head, origin, paragraph, points, printable, summary, table, tally};
use crate::{Report, Verdict};

/// Lines of a usual terminal.
pub const SCREEN_LINES: usize = 24;

/// The most lines of warnings while measures follow.
const WARNING_LINES: usize = 8;

/// The report in at most [`SCREEN_LINES`] lines, and the answer as the last of them.
///
/// An answer is never cut: one that is longer than the screen is printed alone.
#[must_use]
pub fn brief(report: &Report, style: Style) -> String {
    let answer = answer(report, style);
    let mut room = SCREEN_LINES.saturating_sub(answer.len());
    let foot = kept(lines(&foot(report, style)), &mut room);
    let warnings = super::warnings(report, style).unwrap_or_default();
    let warnings = shortened(lines(&warnings), room.min(WARNING_LINES), style);
    room -= warnings.len();
    let claims = kept(claims(report, style), &mut room);
    let measures = summary(report, style).or_else(|| points(report, style)).unwrap_or_else(|| {
        // A report that was not simulated has tables alone.
        report.tables.iter().map(|each| table(each, style)).collect()
    });
    let measures = shortened(lines(&measures), room, style);
    let all = [measures, claims, warnings, foot, answer].concat();
    all.join("\n") + "\n"
}

/// The title and the answer; the title alone where the study gives no answer.
fn answer(report: &Report, style: Style) -> Vec<String> {
    lines(&head(report, style))
}

fn foot(report: &Report, style: Style) -> String {
    let rest = "--verbose prints all tables, --out DIR writes the page and the files";
    origin(report, style) + &paragraph(rest, "", style, Ink::Faint)
}

/// The number of claims by verdict, and the names of those that miss or cannot tell.
fn claims(report: &Report, style: Style) -> Vec<String> {
    if report.claims.is_empty() {
        return Vec::new();
    }
    let named = |verdict| report.claims.iter().filter(move |claim| claim.verdict == verdict);
    let open = named(Verdict::Misses).chain(named(Verdict::CannotTell));
    let names: Vec<String> = open.map(|claim| printable(&claim.name)).collect();
    let more = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let text = paragraph(&format!("Claims: {}{more}", tally(&report.claims)), "", style, Ink::Strong);
    shortened(lines(&text), 3, style)
}

fn lines(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

/// The lines if there is room for all of them, else none.
fn kept(lines: Vec<String>, room: &mut usize) -> Vec<String> {
    if lines.len() > *room {
        return Vec::new();
    }
    *room -= lines.len();
    lines
}

/// The first lines that fit, and how many are left out.
fn shortened(mut lines: Vec<String>, room: usize, style: Style) -> Vec<String> {
    if lines.len() <= room {
        return lines;
    }
    let hidden = lines.len() - room.saturating_sub(1);
    lines.truncate(room.saturating_sub(1));
    if room > 0 {
        lines.push(style.paint(Ink::Faint, &format!("… and {hidden} more lines with --verbose")));
    }
    lines
}

/// Why a screen breaks the law of [`brief`]; `None` if it holds.
#[cfg(test)]
pub(crate) fn broken(report: &Report, shown: &str, style: Style) -> Option<String> {
    let answer = answer(report, style);
    let shown: Vec<&str> = shown.lines().collect();
    if shown.len() > SCREEN_LINES.max(answer.len()) {
        return Some(format!("{} lines, of at most {SCREEN_LINES}", shown.len()));
    }
    let ends = shown.len() >= answer.len() && shown[shown.len() - answer.len()..] == answer;
    (!ends).then(|| "the answer is not last".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn samples_fit_one_screen_and_end_with_the_answer() {
        for report in [sample::queue(), sample::rebuild()] {
            for width in [40, 60, 100] {
                let style = Style { colour: false, width };
                assert_eq!(broken(&report, &brief(&report, style), style), None);
            }
        }
    }

    #[test]
    fn a_table_after_the_answer_and_a_line_too_many_are_caught() {
        let (report, style) = (sample::queue(), Style::default());
        let shown = brief(&report, style);
        let after = format!("{shown}a table\n");
        let long = "a line\n".repeat(SCREEN_LINES) + &shown;
        assert!(broken(&report, &after, style).is_some());
        assert!(broken(&report, &long, style).is_some());
        assert!(broken(&report, &super::super::render(&report, style), style).is_some());
    }

    #[test]
    fn many_warnings_are_cut_and_counted() {
        let mut report = sample::queue();
        report.warnings = (0..50).map(|at| format!("warning {at}")).collect();
        let shown = brief(&report, Style::default());
        assert_eq!(broken(&report, &shown, Style::default()), None);
        assert!(shown.contains("… and 43 more lines with --verbose"), "{shown}");
    }

    #[test]
    fn a_long_answer_is_printed_whole() {
        let mut report = sample::queue();
        report.answer = "unsafe ".repeat(600);
        let shown = brief(&report, Style::default());
        assert_eq!(shown.matches("unsafe").count(), 600);
        assert_eq!(broken(&report, &shown, Style::default()), None);
    }
}
