//! The answer of a study: what stands first on a screen, in a pipe, on the page, in JSON and in Python.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Num, Standing};

/// The answer, in parts that each rendering shows in the same order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Safety of the data, with the reason; absent where there is nothing to be safe of.
    #[serde(flatten)]
    pub verdict: Option<Standing>,
    /// The finding: one sentence, with its full stop. It is the title of the page. Empty where a study gives
    /// none.
    #[serde(default)]
    pub finding: String,
    /// What happens when, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<Step>,
    /// The `id` of the table of what is compared, or of what moves; its first columns belong to the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<String>,
    /// Whether each column of that table after the first is one of what is compared, so that none is left out
    /// where there is little room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_column: bool,
    /// The measures by which points and results are compared, in this order; all of them where there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<String>,
    /// What else belongs to the answer, by label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
}

/// An event of the course: the mean of its time over replicates, and the range where they differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// When, in seconds from the beginning.
    pub at_s: Num,
    /// The earliest of the replicates; null where they do not differ.
    #[serde(default, skip_serializing_if = "Num::is_missing")]
    pub earliest_s: Num,
    /// The latest of the replicates; null where they do not differ.
    #[serde(default, skip_serializing_if = "Num::is_missing")]
    pub latest_s: Num,
    /// What happens: words that begin in lower case, but for names, without a full stop.
    pub what: String,
}

/// A line of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// What it is about.
    pub label: Label,
    /// Words without a full stop at the end.
    pub text: String,
    /// The flag or key that changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

/// What a line of an answer is about, in the order in which lines are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// What takes the time, the largest part first.
    Limit,
    /// A change that was tried, and helps.
    Try,
    /// What moves.
    Moves,
    /// What would be lost if more fails meanwhile.
    Risk,
    /// What clients notice.
    Clients,
    /// Another result.
    Also,
    /// An assumption that the answer depends on.
    Assumed,
    /// What is not modelled, and could change the answer.
    LeavesOut,
}

impl Label {
    /// All labels, in the order in which they are shown.
    pub const ALL: [Label; 8] = [
        Label::Limit,
        Label::Try,
        Label::Moves,
        Label::Risk,
        Label::Clients,
        Label::Also,
        Label::Assumed,
        Label::LeavesOut,
    ];

    /// The word that stands before the line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Label::Limit => "limit",
            Label::Try => "try",
            Label::Moves => "moves",
            Label::Risk => "risk",
            Label::Clients => "clients",
            Label::Also => "also",
            Label::Assumed => "assumed",
            Label::LeavesOut => "leaves out",
        }
    }
}

impl Answer {
    /// An answer that is one sentence.
    #[must_use]
    pub fn of(finding: impl Into<String>) -> Answer {
        Answer { finding: finding.into(), ..Answer::default() }
    }

    /// An answer of several sentences: the first is the finding, the others belong to it. Empty ones are left
    /// out.
    #[must_use]
    pub fn of_sentences(sentences: impl IntoIterator<Item = String>) -> Answer {
        let mut sentences = sentences.into_iter().filter(|sentence| !sentence.trim().is_empty());
        let mut answer = Answer::of(sentences.next().unwrap_or_default());
        sentences.for_each(|sentence| answer.push(Label::Also, sentence));
        answer
    }

    /// An answer of several sentences in one text.
    #[must_use]
    pub fn of_text(text: &str) -> Answer {
        let mut sentences = vec![String::new()];
        for word in text.split_inclusive(' ') {
            let last = sentences.last_mut().expect("there is always one");
            if last.ends_with(". ") && word.starts_with(char::is_uppercase) {
                sentences.push(word.to_owned());
            } else {
                last.push_str(word);
            }
        }
        Answer::of_sentences(sentences.into_iter().map(|sentence| sentence.trim_end().to_owned()))
    }

    /// The same with its verdict. Lines whose words are in its reason are left out.
    #[must_use]
    pub fn with_verdict(mut self, verdict: Option<Standing>) -> Answer {
        let reason = verdict.as_ref().map_or("", Standing::reason);
        self.lines.retain(|line| !reason.contains(&line.text));
        Answer { verdict, ..self }
    }

    /// The same with the `id` of the table of what is compared.
    #[must_use]
    pub fn comparing(self, table: impl Into<String>) -> Answer {
        Answer { compared: Some(table.into()), ..self }
    }

    /// The same with the `id` of a table with a column for each of what is compared.
    #[must_use]
    pub fn comparing_columns(self, table: impl Into<String>) -> Answer {
        Answer { by_column: true, ..self.comparing(table) }
    }

    /// The same with the measures by which points are compared.
    #[must_use]
    pub fn by_measures<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Answer {
        self.measures = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// Adds a line. A full stop at its end is left out.
    #[must_use]
    pub fn line(mut self, label: Label, text: impl Into<String>) -> Answer {
        self.push(label, text);
        self
    }

    /// Adds a line. A full stop at its end is left out, and its first word begins in lower case where that
    /// is no name.
    pub fn push(&mut self, label: Label, text: impl Into<String>) {
        const WORDS: [&str; 8] = ["The ", "No ", "None ", "Of ", "It ", "Loads ", "Copies ", "To "];
        let mut text: String = text.into();
        if WORDS.iter().any(|word| text.starts_with(word)) {
            text[..1].make_ascii_lowercase();
        }
        self.lines.push(Line { label, text: text.trim_end_matches('.').to_owned(), change: None });
    }

    /// The lines with a label.
    pub(crate) fn of_label(&self, label: Label) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.label == label)
    }

    /// Whether there is no answer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Answer::default()
    }

    /// All words of the answer as one paragraph: the verdict with its reason, the finding, the course, and
    /// the lines.
    #[must_use]
    pub fn prose(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.verdict.as_ref().map(Standing::sentence));
        parts.extend((!self.finding.is_empty()).then(|| self.finding.clone()));
        parts.extend(self.course.iter().map(|step| format!("{}: {}.", step.when(), step.what_with_range())));
        for label in Label::ALL {
            parts.extend(self.of_label(label).map(Line::sentence));
        }
        parts.join(" ")
    }
}

impl Line {
    fn sentence(&self) -> String {
        let change = self.change.as_ref().map_or(String::new(), |change| format!(" ({change})"));
        format!("{}: {}{change}.", crate::title::capital(self.label.word()), self.text)
    }
}

impl Step {
    /// An event at a time that is the same in all replicates.
    #[must_use]
    pub fn at(seconds: f64, what: impl Into<String>) -> Step {
        Step { at_s: Num::from(seconds), earliest_s: Num::MISSING, latest_s: Num::MISSING, what: what.into() }
    }

    /// An event at the mean of the times of the replicates, as measures are means; `None` where no replicate
    /// has it.
    #[must_use]
    pub fn over(times: &[f64], what: impl Into<String>) -> Option<Step> {
        let known: Vec<f64> = times.iter().copied().filter(|time| time.is_finite()).collect();
        let first = known.iter().copied().reduce(f64::min)?;
        let last = known.iter().copied().reduce(f64::max)?;
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let mut step = Step::at(mean.clamp(first, last), what);
        if first < last {
            (step.earliest_s, step.latest_s) = (Num::from(first), Num::from(last));
        }
        Some(step)
    }

    /// The time as a clock shows it: `10:20`, `1:02:03`, `3 d 4:05:06`; a part of a second has its digits.
    #[must_use]
    pub fn when(&self) -> String {
        clock(self.at_s.get().unwrap_or(0.0))
    }

    /// What happens, with the range of its time where replicates differ.
    pub(crate) fn what_with_range(&self) -> String {
        match (self.earliest_s.get(), self.latest_s.get()) {
            (Some(low), Some(high)) if clock(low) != clock(high) => {
                format!("{} ({} to {})", self.what, clock(low), clock(high))
            }
            _ => self.what.clone(),
        }
    }
}

/// Seconds as a clock shows them.
fn clock(seconds: f64) -> String {
    if seconds > 0.0 && seconds < 60.0 && seconds.fract() != 0.0 {
        return crate::human::quantity(seconds, "s");
    }
    let whole = seconds.max(0.0).round();
    let part = |unit: f64, of: f64| (whole / unit).floor() % of;
    let (days, hours) = ((whole / 86_400.0).floor(), part(3_600.0, 24.0));
    let (minutes, seconds) = (part(60.0, 60.0), part(1.0, 60.0));
    match (days > 0.0, hours > 0.0) {
        (true, _) => format!("{days} d {hours}:{minutes:02}:{seconds:02}"),
        (false, true) => format!("{hours}:{minutes:02}:{seconds:02}"),
        (false, false) => format!("{minutes}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_on_a_clock() {
        let cases = [
            (0.0, "0:00"),
            (0.0134, "13.4 ms"),
            (13.42, "13.42 s"),
            (20.0, "0:20"),
            (623.4, "10:23"),
            (3_112.0, "51:52"),
            (3_723.0, "1:02:03"),
            (3.0 * 86_400.0 + 3_661.0, "3 d 1:01:01"),
        ];
        for (seconds, want) in cases {
            assert_eq!(Step::at(seconds, "").when(), want);
        }
    }

    /// The page must show times as the terminal does; its tests read this file.
    #[test]
    fn the_page_is_given_the_same_times() {
        let times =
            [0.0, 0.013_4, 0.5, 1.0, 13.42, 20.0, 59.7, 60.4, 623.4, 3_599.6, 3_723.0, 86_399.5, 263_000.25];
        let lines = times.map(|time| serde_json::json!([time, clock(time)]).to_string());
        crate::golden::check("web/test/golden/clock.json", &format!("[\n{}\n]\n", lines.join(",\n")));
    }

    #[test]
    fn a_step_is_the_mean_with_the_range_of_the_replicates() {
        let step = Step::over(&[100.0, 150.0, 140.0], "clean").unwrap();
        assert_eq!(
            (step.when(), step.what_with_range()),
            ("2:10".to_owned(), "clean (1:40 to 2:30)".to_owned())
        );
        assert_eq!(Step::over(&[120.0, 120.0], "clean").unwrap().what_with_range(), "clean");
        assert_eq!(Step::over(&[100.0, 140.0], "clean").unwrap().at_s.get(), Some(120.0));
        assert_eq!(Step::over(&[], "clean"), None);
        assert_eq!(Step::over(&[f64::NAN], "clean"), None);
    }

    #[test]
    fn prose_has_every_word_of_the_answer() {
        let mut answer =
            Answer::of("osd.3 fails: all copies are back after 51.9 min.").line(Label::Limit, "disks");
        answer.course.push(Step::at(20.0, "detected"));
        answer.push(Label::Try, "`recovery_sleep = 0s`: 26 min.");
        assert_eq!(
            answer.prose(),
            "osd.3 fails: all copies are back after 51.9 min. 0:20: detected. Limit: disks. Try: `recovery_sleep = 0s`: 26 min."
        );
        assert!(Answer::default().is_empty() && !answer.is_empty());
    }

    #[test]
    fn a_text_is_divided_at_its_sentences() {
        let answer = Answer::of_text("It costs 0.5 at 4KiB. The error is 1.0 %. This holds, e.g. here.");
        assert_eq!(answer.finding, "It costs 0.5 at 4KiB.");
        let lines: Vec<&str> = answer.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["the error is 1.0 %", "This holds, e.g. here"]);
        assert!(Answer::of_text("").is_empty());
    }

    #[test]
    fn json_leaves_out_what_is_not_there_and_reads_back() {
        let mut answer = Answer::of("All is well.");
        assert_eq!(serde_json::to_string(&answer).unwrap(), r#"{"finding":"All is well."}"#);
        answer.course.extend(Step::over(&[1.0, 3.0], "clean"));
        answer.push(Label::LeavesOut, "peering");
        let json = serde_json::to_string(&answer).unwrap();
        assert!(json.contains(r#"{"at_s":2.0,"earliest_s":1.0,"latest_s":3.0,"what":"clean"}"#), "{json}");
        assert!(json.contains(r#"{"label":"leaves_out","text":"peering"}"#), "{json}");
        assert_eq!(serde_json::from_str::<Answer>(&json).unwrap(), answer);
    }
}
