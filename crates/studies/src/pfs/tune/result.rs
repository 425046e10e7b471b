//! The result of a search, in words, as data and as a table.

use serde_json::{Value as Json, json};
use towtank_report::{Cell, Column, Table, human};
use towtank_scenario::gate::Gate;

use super::{Tried, Tuner, miss, rule};
use crate::pfs::scenario::Settled;
use towtank_study::{Found, Output, Summary};

/// The measures that are reported per application, with their units.
const MEASURES: [(&str, &str); 3] =
    [("throughput_bytes_per_s", "bytes/s"), ("latency_mean_s", "s"), ("latency_p99_s", "s")];

/// The result of a search.
pub(super) fn found(tuner: &Tuner<'_>, before: &Tried, after: &Tried) -> Found {
    let met = after.miss <= 0.0;
    let (base, goals, count) = (&tuner.base, tuner.trials.goals(), tuner.tried.len());
    let result = SearchResult { base, goals, count, as_near: tuner.as_near(after), before, after };
    let answer = Output {
        text: result.text(met),
        data: result.data(met),
        tables: vec![result.table()],
        figures: Vec::new(),
    };
    Found { answer, met }
}

struct SearchResult<'a> {
    base: &'a Settled,
    goals: &'a [Gate],
    count: usize,
    /// The number of other settings that miss the goals by as much.
    as_near: usize,
    before: &'a Tried,
    after: &'a Tried,
}

/// A measure of an application; a single application has the measures without a name.
fn value(base: &Settled, summary: &Summary, measure: &str, name: &str) -> Option<f64> {
    let of_one = summary.get(&format!("{measure}[{name}]"));
    let found = if base.applications.len() > 1 { of_one } else { summary.get(measure) };
    found?.value()
}

fn quantity(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "none".to_owned(), |value| human::quantity(value, unit))
}

impl SearchResult<'_> {
    /// The changed keys of the scenario.
    fn changes(&self) -> Vec<(String, String)> {
        let before = self.before.settings.keys();
        let after = self.after.settings.keys();
        let changed = after.into_iter().filter(|change| !before.contains(change));
        // As a user writes them: text without quotes, and one scheduler for all servers.
        let plain = |(key, value): (String, String)| match key.as_str() {
            "schedulers" => ("scheduler".to_owned(), value.replace(['"', '[', ']'], "")),
            _ => (key, value.replace('"', "")),
        };
        changed.map(plain).collect()
    }

    fn text(&self, met: bool) -> String {
        let mut lines = vec![self.head(met)];
        lines.extend(self.goals.iter().map(|goal| format!("  {}", self.goal(goal))));
        lines.extend([String::new(), "Results of each application, before and after:".to_owned()]);
        for name in self.base.applications.keys() {
            let words = MEASURES.map(|(measure, unit)| {
                let of = |summary: &Summary| quantity(value(self.base, summary, measure, name), unit);
                let word = match measure {
                    "latency_mean_s" => "mean ",
                    "latency_p99_s" => "99 % ",
                    _ => "",
                };
                format!("{word}{} -> {}", of(&self.before.summary), of(&self.after.summary))
            });
            lines.push(format!("  {name}: {}", words.join(", ")));
        }
        if !self.changes().is_empty() {
            let rule = rule::lines(self.base, &self.after.settings);
            if !rule.is_empty() {
                lines.extend([String::new(), "As commands:".to_owned()]);
                lines.extend(rule.into_iter().map(|line| format!("  {line}")));
            }
            lines.extend([String::new(), "In the scenario:".to_owned()]);
            let flag = |(key, value): (String, String)| format!("  --set '{key}={value}'");
            lines.extend(self.changes().into_iter().map(flag));
        }
        lines.join("\n") + "\n"
    }

    fn head(&self, met: bool) -> String {
        let tried = match self.count {
            1 => "1 setting was tried".to_owned(),
            count => format!("{count} settings were tried"),
        };
        let changes: Vec<String> =
            self.changes().iter().map(|(key, value)| format!("{key} = {value}")).collect();
        match (met, changes.is_empty()) {
            (true, true) => "The scenario meets the goals without a change.".to_owned(),
            (true, false) => format!("The goals are met with {}; {tried}.", changes.join(", ")),
            (false, true) => format!(
                "No setting that was tried meets the goals, and none is nearer than the scenario's; {tried}."
            ),
            (false, false) => format!(
                "No setting that was tried meets the goals. {} {}{}; {tried}.",
                if self.as_near > 0 { "One of the nearest is" } else { "The nearest is" },
                changes.join(", "),
                self.others_as_near()
            ),
        }
    }

    /// How many other settings are as near, and whether one run of each is all that there is.
    fn others_as_near(&self) -> String {
        let others = match self.as_near {
            0 => String::new(),
            1 => ", and 1 other misses them by as much".to_owned(),
            others => format!(", and {others} others miss them by as much"),
        };
        let runs = self.after.summary.values().map(towtank_report::Measure::n).max().unwrap_or(0);
        if runs > 1 { others } else { others + " (one run of each cannot tell near ones apart)" }
    }

    /// A goal with its measures before and after.
    fn goal(&self, goal: &Gate) -> String {
        let text = goal.text();
        let missed = miss(goal, &self.after.summary);
        let names = goal.names();
        let values = names.into_iter().map(|name| {
            let of = |summary: &Summary| {
                let measure = summary.get(name);
                quantity(measure.and_then(|one| one.value()), measure.map_or("", |one| one.unit()))
            };
            format!("{name} {} -> {}", of(&self.before.summary), of(&self.after.summary))
        });
        let values = values.collect::<Vec<_>>().join(", ");
        let verdict = match missed {
            missed if missed <= 0.0 => "met".to_owned(),
            missed if missed >= super::MISS_MAX => "missed: a measure has no value".to_owned(),
            missed => format!("missed by {:.1} %", 100.0 * missed),
        };
        format!("{text}: {verdict} ({values})")
    }

    fn data(&self, met: bool) -> Json {
        let goals: Vec<Json> = self
            .goals
            .iter()
            .map(|goal| {
                let of = |summary: &Summary| -> serde_json::Map<String, Json> {
                    let value = |name: &str| json!(summary.get(name).and_then(|measure| measure.value()));
                    goal.names().into_iter().map(|name| (name.to_owned(), value(name))).collect()
                };
                let missed = miss(goal, &self.after.summary);
                json!({
                    "goal": goal.text(),
                    "met": missed <= 0.0,
                    "missed_by": (missed < super::MISS_MAX).then_some(missed),
                    "before": of(&self.before.summary),
                    "after": of(&self.after.summary),
                })
            })
            .collect();
        let applications = self.base.applications.keys().map(|name| {
            let of = |summary: &Summary| -> serde_json::Map<String, Json> {
                let one = |(measure, _): (&str, &str)| {
                    (measure.to_owned(), json!(value(self.base, summary, measure, name)))
                };
                MEASURES.into_iter().map(one).collect()
            };
            (name.clone(), json!({ "before": of(&self.before.summary), "after": of(&self.after.summary) }))
        });
        let settings = self.changes().into_iter().map(|(key, value)| (key, json!(value)));
        json!({
            "met": met,
            "tried": self.count,
            "settings": settings.collect::<serde_json::Map<_, _>>(),
            "goals": goals,
            "applications": applications.collect::<serde_json::Map<_, _>>(),
            "rule": rule::lines(self.base, &self.after.settings),
        })
    }

    fn table(&self) -> Table {
        let mut columns = vec![Column::text("application"), Column::text("setting")];
        columns.extend(MEASURES.map(|(measure, unit)| Column::number(measure, unit)));
        let mut table = Table::new("applications", "Results of each application, before and after", columns);
        for name in self.base.applications.keys() {
            for (setting, tried) in [("before", self.before), ("after", self.after)] {
                let mut row = vec![Cell::from(name.as_str()), Cell::from(setting)];
                row.extend(
                    MEASURES.map(|(measure, _)| Cell::from(value(self.base, &tried.summary, measure, name))),
                );
                table.push(row);
            }
        }
        table
    }
}
