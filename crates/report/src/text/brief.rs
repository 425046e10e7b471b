//! A report in one screen: the answer first, and what it depends on below it.

use super::grid::{self, Align, Grid};
use super::{
    Ink, Style, claims_tally, finding, interval, line_of, means, paragraph, points_grid, printable, stopped,
    table,
};
use crate::{Label, Measure, Ordered, Report, Severity, Table, Warning, human};

/// Lines of a usual terminal.
pub const SCREEN_LINES: usize = 24;

/// The lines below the answer's own that warnings, the course and what is compared may each take, while
/// something else needs the room.
const PART_LINES: usize = 9;

/// The lines that are kept for what moves, what is at risk and what clients notice, whatever is above them.
const KEPT_LINES: usize = 7;

/// The lines that what stands side by side leaves to what is below it.
const BELOW_LINES: usize = 4;

/// The least rows that are worth showing side by side.
const BESIDE_ROWS: usize = 4;

/// What the last line says of the rest of the report.
#[derive(Clone, Copy, Debug)]
pub struct Rest<'a> {
    /// Where the page is, if it was written.
    pub page: Option<&'a str>,
    /// What shows the whole report: `--verbose`.
    pub whole: &'a str,
    /// What writes the page: `--out DIR`.
    pub save: &'a str,
    /// What writes the commands of a plan, if anything does: `--commands FILE`.
    pub commands: Option<&'a str>,
}

impl Rest<'_> {
    /// On the command line, where nothing was written.
    pub const OF_COMMAND: Rest<'static> =
        Rest { page: None, whole: "--verbose", save: "--out DIR", commands: None };
}

/// The report in at most [`SCREEN_LINES`] lines: finding and verdict, dangers, course, what is compared, the
/// lines of the answer, and where the rest is.
///
/// Finding and verdict are never cut: if they are longer than the screen, they are printed alone.
#[must_use]
pub fn brief(report: &Report, style: Style, rest: Rest<'_>) -> String {
    let head = lines(&(finding(report, style) + &stopped(report, style)));
    let foot = |cut: bool| foot(report, style, rest, cut);
    let mut room = Room { lines: SCREEN_LINES.saturating_sub(head.len() + foot(true).len()), cut: false };
    // In the order of importance; shown in the order in which they are joined.
    let answers = of(report, &[Label::Moves, Label::Risk, Label::Clients], style);
    let kept = room.lines.min(answers.iter().map(Vec::len).sum::<usize>()).min(KEPT_LINES);
    room.lines -= kept;
    let dangers = room.counted(warnings(report, style, |one| one != Severity::Note), PART_LINES);
    let steps = super::steps(&report.answer, style);
    let course = room.middle(steps.iter().map(|step| lines(step)).collect(), PART_LINES);
    let of = |labels: &[Label]| of(report, labels, style);
    let limit = room.whole(of(&[Label::Limit, Label::Try]), PART_LINES);
    let compared = match super::compared(report).filter(|_| report.answer.by_column) {
        Some(table) => room.side_by_side(table, &report.titles, style),
        None => room.first(compared(report, style), SCREEN_LINES / 2),
    };
    room.lines += kept;
    let mut more = room.each(answers);
    more.extend(room.whole(of(&[Label::Also]), SCREEN_LINES));
    let claims = room.whole(claims_tally(report, style).map(|text| lines(&text)).into_iter().collect(), 3);
    let assumed = room.whole(of(&[Label::Assumed]), PART_LINES);
    let notes = room.whole(warnings(report, style, |one| one == Severity::Note), PART_LINES);
    let leaves = room.whole(of(&[Label::LeavesOut]), 3);
    let below = [limit, more, claims, assumed, notes, leaves].concat();
    let parts = [[head, dangers].concat(), course, compared, below];
    let mut parts: Vec<Vec<String>> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    // Blank lines stand between the parts where there is room for them.
    let blanks = (parts.len() - 1).min(room.lines);
    for part in parts.iter_mut().take(blanks) {
        part.push(String::new());
    }
    let mut all = parts.concat();
    let left = SCREEN_LINES.saturating_sub(all.len());
    all.extend(foot(room.cut).into_iter().take(left));
    all.join("\n") + "\n"
}

/// The lines of an answer with these labels, in the order of the labels.
fn of(report: &Report, labels: &[Label], style: Style) -> Vec<Vec<String>> {
    let lines = labels.iter().flat_map(|label| report.answer.of_label(*label));
    lines.map(|one| line_of(one, style)).collect()
}

/// The lines that are left on a screen.
struct Room {
    lines: usize,
    /// Whether something was left out.
    cut: bool,
}

impl Room {
    /// The items that fit whole into a part and into the room that is left; of the first one at least its
    /// first lines.
    fn whole(&mut self, items: Vec<Vec<String>>, most: usize) -> Vec<String> {
        let mut shown: Vec<String> = Vec::new();
        for item in items {
            if shown.len() + item.len() <= most.min(self.lines) {
                shown.extend(item);
                continue;
            }
            self.cut = true;
            if shown.is_empty() {
                return self.first(item, most);
            }
            break;
        }
        self.lines -= shown.len();
        shown
    }

    /// Each item, or its first lines where the others need the rest: one line each at least.
    fn each(&mut self, items: Vec<Vec<String>>) -> Vec<String> {
        let mut shown = Vec::new();
        let mut after = items.len();
        for item in items {
            after -= 1;
            let most = self.lines.saturating_sub(after);
            if item.len() > most && most == 1 {
                // A mark alone would say nothing.
                self.cut = true;
                self.lines -= 1;
                shown.extend(item.into_iter().take(1).map(|line| line + " …"));
            } else {
                shown.extend(self.first(item, most));
            }
        }
        shown
    }

    /// The first lines that fit, with a mark where some are left out.
    fn first(&mut self, mut lines: Vec<String>, most: usize) -> Vec<String> {
        let fits = self.lines.min(most);
        if lines.len() > fits {
            self.cut = true;
            let left_out = lines.len() - fits.saturating_sub(1);
            lines.truncate(fits.saturating_sub(1));
            lines.extend((fits > 0).then(|| format!("… {left_out} more lines")));
        }
        self.lines -= lines.len();
        lines
    }

    /// A table with a column for each of what is compared: as many of its rows as fit, in blocks if the
    /// columns do not fit beside each other. Where few rows would fit, each column becomes a row.
    fn side_by_side(&mut self, table: &Table, titles: &Ordered<String>, style: Style) -> Vec<String> {
        let most = self.lines.saturating_sub(BELOW_LINES);
        let rows = |grid: &dyn Fn() -> Grid, count: usize, least: usize| {
            let of = |rows: usize| {
                let mut grid = grid();
                let hidden = grid.truncate(rows);
                // A blank line divides blocks.
                let mut shown: Vec<String> = grid.render(style).lines().map(str::to_owned).collect();
                shown.extend(
                    (hidden > 0)
                        .then(|| format!("… {}", human::plural(hidden as f64, ["more row", "more rows"]))),
                );
                (shown, hidden > 0)
            };
            (least..=count).rev().map(of).find(|(shown, _)| shown.len() <= most)
        };
        let count = table.rows().len();
        let whole = || grid::of_table(table, titles);
        let turned = || grid::of_table(table, titles).transposed().first_block();
        let found = rows(&whole, count, count.min(BESIDE_ROWS))
            .or_else(|| rows(&turned, table.columns().len() - 1, 1))
            .unwrap_or_default();
        self.cut |= found.1 || found.0.is_empty();
        self.lines -= found.0.len();
        found.0
    }

    /// The items that fit whole, and how many do not.
    fn counted(&mut self, items: Vec<Vec<String>>, most: usize) -> Vec<String> {
        let all = items.len();
        let lengths: Vec<usize> = items.iter().map(Vec::len).collect();
        let fits = self.lines.min(most);
        if lengths.iter().sum::<usize>() <= fits {
            return self.whole(items, most);
        }
        let mut shown = 0;
        let mut taken = 0;
        while taken < all && shown + lengths[taken] < fits {
            shown += lengths[taken];
            taken += 1;
        }
        self.cut = true;
        if taken == 0 {
            return items.into_iter().next().map_or_else(Vec::new, |item| self.first(item, most));
        }
        let mut lines = self.whole(items.into_iter().take(taken).collect(), most);
        if self.lines > 0 {
            self.lines -= 1;
            let more = human::plural((all - taken) as f64, ["more warning", "more warnings"]);
            lines.push(format!("…           {more}"));
        }
        lines
    }

    /// The first and the last items that fit, with a mark between them.
    fn middle(&mut self, items: Vec<Vec<String>>, most: usize) -> Vec<String> {
        let fits = self.lines.min(most);
        if items.iter().map(Vec::len).sum::<usize>() <= fits {
            return self.whole(items, most);
        }
        self.cut = true;
        let Some((last, front)) = items.split_last().filter(|(last, _)| last.len() < fits) else {
            return Vec::new();
        };
        let mut lines: Vec<String> = Vec::new();
        let mut taken = 0;
        for item in front {
            if lines.len() + item.len() + 1 + last.len() > fits {
                break;
            }
            lines.extend(item.iter().cloned());
            taken += 1;
        }
        lines.push(format!("        …  {} more events", front.len() - taken));
        lines.extend(last.iter().cloned());
        self.lines -= lines.len();
        lines
    }
}

/// The lines of each warning that the reason of the verdict does not have already.
fn warnings(report: &Report, style: Style, which: fn(Severity) -> bool) -> Vec<Vec<String>> {
    let reason = report.answer.verdict.as_ref().map_or("", |verdict| verdict.reason());
    let new = |one: &&Warning| which(one.severity) && !reason.contains(&one.text);
    report.warnings.iter().filter(new).map(|one| super::warning(one, style)).collect()
}

/// What is compared; of a report without a table of it, its points, or the main measures of the only one.
fn compared(report: &Report, style: Style) -> Vec<String> {
    if let Some(compared) = super::compared(report) {
        let compared = compared.clone().with_first(&report.answer.measures);
        return lines(&grid::of_table(&compared, &report.titles).for_screen().render(style));
    }
    if !report.answer.course.is_empty() {
        return Vec::new();
    }
    let title = |name: &str| report.titles.get(name).cloned().unwrap_or_else(|| human::heading(name));
    if let Some((_, grid)) = points_grid(report, &report.answer.measures, title) {
        return lines(&grid.for_screen().render(style));
    }
    if report.summary.is_empty() && report.claims.is_empty() {
        // A report that was not simulated has tables alone.
        return report.tables.iter().flat_map(|each| lines(&table(each, &report.titles, style))).collect();
    }
    lines(&main_measures(report, style))
}

/// So many measures stand on a screen where nothing is compared.
const MEASURES: usize = 8;

/// The headline and the measures after it, with their titles; what is zero says little.
fn main_measures(report: &Report, style: Style) -> String {
    let says = |measure: &Measure| measure.value().is_some_and(|value| value != 0.0);
    let known: Vec<_> = report.summary.iter().filter(|(_, measure)| says(measure)).collect();
    let headline = known.iter().position(|(name, _)| report.headline.as_ref() == Some(*name));
    let mut order: Vec<_> = headline.into_iter().map(|at| known[at]).collect();
    order.extend(known.iter().enumerate().filter(|(at, _)| Some(*at) != headline).map(|(_, one)| *one));
    order.truncate(MEASURES);
    let mut grid = Grid::new(&[("", Align::Text), ("", Align::Number), ("", Align::Text)]);
    for ((name, measure), mean) in order.iter().zip(means(order.iter().copied())) {
        let title = report.titles.get(*name).unwrap_or(name);
        grid.push(vec![printable(title), mean, interval(name, measure)]);
    }
    if order.is_empty() { String::new() } else { grid.render(style) }
}

/// Where the rest of the report is.
fn foot(report: &Report, style: Style, rest: Rest<'_>, cut: bool) -> Vec<String> {
    let count = |count: usize, words: [&str; 2]| (count > 0).then(|| human::plural(count as f64, words));
    let measures = report.points.first().map_or(&report.summary, |point| &point.summary).len();
    let kinds = [
        cut.then(|| "the rest of the answer".to_owned()),
        count(measures, ["measure", "measures"]),
        count(report.tables.len(), ["table", "tables"]),
    ];
    let kinds: Vec<String> = kinds.into_iter().flatten().collect();
    let whole = (!kinds.is_empty()).then(|| format!("{} shows {}", rest.whole, kinds.join(", ")));
    let page = match rest.page {
        Some(page) => printable(page),
        None => format!("{} writes the page", rest.save),
    };
    let plan = report.commands().map_or(0, Iterator::count);
    let commands = rest
        .commands
        .filter(|_| plan > 0)
        .map(|flag| format!("{flag} writes {}", human::plural(plan as f64, ["command", "commands"])));
    let parts =
        if rest.page.is_some() { [Some(page), whole, commands] } else { [whole, commands, Some(page)] };
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    lines(&paragraph(&text, &super::lead("report"), style, Ink::Faint))
}

fn lines(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

/// Why a screen breaks the law of [`brief`]; `None` if it holds.
#[cfg(test)]
pub(crate) fn broken(report: &Report, shown: &str, style: Style) -> Option<String> {
    let head = lines(&finding(report, style));
    let shown: Vec<&str> = shown.lines().collect();
    if shown.len() > SCREEN_LINES.max(head.len()) {
        return Some(format!("{} lines, of at most {SCREEN_LINES}", shown.len()));
    }
    let begins = shown.len() >= head.len() && shown[..head.len()] == head;
    (!begins).then(|| "the answer is not first".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn shown(report: &Report, style: Style) -> String {
        brief(report, style, Rest::OF_COMMAND)
    }

    #[test]
    fn samples_fit_one_screen_and_begin_with_the_answer() {
        for report in [sample::queue(), sample::rebuild()] {
            for width in [40, 60, 80, 100] {
                let style = Style { colour: false, width };
                assert_eq!(broken(&report, &shown(&report, style), style), None);
            }
        }
    }

    #[test]
    fn a_table_before_the_answer_and_a_line_too_many_are_caught() {
        let (report, style) = (sample::queue(), Style::default());
        let screen = shown(&report, style);
        let before = format!("a table\n{screen}");
        let long = screen + &"a line\n".repeat(SCREEN_LINES);
        assert!(broken(&report, &before, style).is_some());
        assert!(broken(&report, &long, style).is_some());
    }

    #[test]
    fn many_warnings_are_cut_and_counted() {
        let mut report = sample::queue();
        report.warnings = (0..50).map(|at| Warning::danger(format!("warning {at}"))).collect();
        let shown = shown(&report, Style::default());
        assert_eq!(broken(&report, &shown, Style::default()), None);
        assert!(shown.contains("warning 7") && !shown.contains("warning 8"), "{shown}");
        assert!(shown.contains("…           42 more warnings"), "{shown}");
    }

    #[test]
    fn a_long_finding_is_printed_whole() {
        let mut report = sample::queue();
        report.answer.finding = "unsafe ".repeat(600);
        let shown = shown(&report, Style::default());
        assert_eq!(shown.matches("unsafe").count(), 600);
        assert_eq!(broken(&report, &shown, Style::default()), None);
    }

    /// A report of so many results side by side.
    fn beside(results: usize) -> Report {
        let heads = std::iter::once("what".to_owned()).chain((0..results).map(|at| format!("R{at}")));
        let mut table = Table::new("beside", "Side by side", heads.map(crate::Column::text).collect());
        for row in 0..9 {
            let cells = (0..results).map(|at| format!("value {row} of {at}"));
            table.push(std::iter::once(format!("row {row}")).chain(cells).map(crate::Cell::Text).collect());
        }
        let answer = crate::Answer::of("They differ.").comparing_columns("beside");
        Report { answer, tables: vec![table], ..Report::default() }
    }

    /// The results that a screen leaves out.
    fn left_out(shown: &str, results: usize) -> Vec<usize> {
        (0..results).filter(|at| !shown.contains(&format!("value 0 of {at}"))).collect()
    }

    #[test]
    fn no_result_is_left_out_of_what_stands_side_by_side() {
        for results in 2..=12 {
            for width in [60, 80, 100] {
                let style = Style { colour: false, width };
                let shown = shown(&beside(results), style);
                assert_eq!(broken(&beside(results), &shown, style), None, "{shown}");
                assert_eq!(left_out(&shown, results), [0_usize; 0], "{results} at {width}:\n{shown}");
            }
        }
        // A table of which only the first columns are shown leaves some out.
        let mut first = beside(6);
        first.answer.by_column = false;
        assert!(!left_out(&shown(&first, Style { colour: false, width: 60 }), 6).is_empty());
    }

    /// A former fault: the table had no room for the column that the finding is about.
    #[test]
    fn the_measures_of_the_finding_are_the_first_columns() {
        let mut columns = vec![crate::Column::text("point")];
        columns.extend((0..12).map(|at| crate::Column::number(format!("measure_{at}"), "")));
        let mut table = Table::new("points", "Points", columns);
        for row in 0..2 {
            let label = crate::Cell::Text(format!("read_share = {row}5%"));
            let cells = (0..12).map(|at| crate::Cell::from(f64::from(100 * row + at)));
            table.push(std::iter::once(label).chain(cells).collect());
        }
        let answer = crate::Answer::of("They differ.").comparing("points");
        let of = |answer| {
            shown(
                &Report { answer, tables: vec![table.clone()], ..Report::default() },
                Style { colour: false, width: 60 },
            )
        };
        let chosen = of(answer.clone().by_measures(["measure_11", "measure_7"]));
        let heads =
            chosen.lines().find(|line| line.starts_with("Read share")).expect("points have their key");
        assert!(heads.find("Measure 11") < heads.find("Measure 7"), "{chosen}");
        assert!(heads.contains("Measure 7") && heads.contains("Measure 0"), "{chosen}");
        assert!(chosen.contains("\n05 % ") && chosen.contains("\n15 % "), "{chosen}");
        // Planted: without the measures of the finding, they have no room.
        assert!(!of(answer).contains("Measure 11"));
    }

    #[test]
    fn a_long_course_keeps_its_beginning_and_its_end() {
        let mut report = sample::rebuild();
        report.answer.course =
            (0..40).map(|at| crate::Step::at(f64::from(at), format!("event {at}"))).collect();
        let shown = shown(&report, Style::default());
        assert!(
            shown.contains("event 0") && shown.contains("event 39") && !shown.contains("event 20"),
            "{shown}"
        );
    }
}
