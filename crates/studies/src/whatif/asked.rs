//! The changes that a scenario asks for, in their order: first the list `changes` as it stands, then the
//! other keys, in a fixed order.

use towtank_scenario::{Draft, Problems, did_you_mean};

use super::scenario::Scenario;
use crate::preview::changes::Step;
use crate::preview::scenario::Texts;

/// What is asked, sorted by who does it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// What fails.
    pub fail: Vec<String>,
    /// Devices that are replaced by empty ones.
    pub replace: Vec<String>,
    /// Changes of the map, in their order.
    pub map: Vec<Change>,
}

/// One change of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    key: String,
    verb: String,
    text: String,
    written: String,
}

impl Change {
    fn step(&self) -> Step<'_> {
        let Change { key, verb, text, written } = self;
        Step { key, verb, text, written }
    }
}

/// All verbs, in the order in which keys are read.
const VERBS: [&str; 12] = [
    "fail",
    "replace",
    "add_host",
    "remove",
    "drain",
    "crush_reweight",
    "mark_out",
    "reweight",
    "pg_num",
    "pgp_num",
    "upmap",
    "upmap_items",
];

/// A failure that is drawn would need its own map in each replicate.
const DRAWN: [&str; 5] = ["server", "host", "disk", "osd", "rack"];

impl Asked {
    /// Reads all changes of a scenario.
    ///
    /// # Errors
    /// Each change that is none, with its place in `draft`.
    pub fn of(scenario: &Scenario, draft: &Draft) -> Result<Asked, Problems> {
        let mut asked = Asked::default();
        let mut problems = Problems::new();
        for written in scenario.changes.all() {
            let (word, text) = written.trim().split_once(char::is_whitespace).unwrap_or((written.trim(), ""));
            let verb = word.trim_start_matches("--").replace('-', "_");
            if !VERBS.contains(&verb.as_str()) {
                let names: Vec<String> = VERBS.iter().map(|verb| verb.replace('_', "-")).collect();
                let hint = did_you_mean(word, names.iter().map(String::as_str))
                    .unwrap_or_else(|| format!("changes are {}", names.join(", ")));
                let message = format!("`changes` has \"{written}\", but `{word}` is no change");
                problems.push(draft.problem("changes", message).hint(hint));
                continue;
            }
            asked.add("changes", &verb, text.trim(), written);
        }
        for (verb, texts) in VERBS.into_iter().zip(keys(scenario)) {
            texts.all().iter().for_each(|text| asked.add(verb, verb, text, text));
        }
        for text in &asked.fail {
            let key = if scenario.fail.all().contains(text) { "fail" } else { "changes" };
            if DRAWN.contains(&text.trim()) || text.contains('@') {
                let message =
                    format!("`{key}` is \"{text}\", but here what fails is named, and fails at once");
                let hint = "write osd.3, host=NAME or rack=NAME; `towtank rebuild` draws failures, and lets several follow";
                problems.push(draft.problem(key, message).hint(hint));
            }
        }
        problems.into_result(asked)
    }

    fn add(&mut self, key: &str, verb: &str, text: &str, written: &str) {
        match verb {
            "fail" => self.fail.push(text.to_owned()),
            "replace" => self.replace.push(text.to_owned()),
            _ => self.map.push(Change {
                key: key.to_owned(),
                verb: verb.to_owned(),
                text: text.to_owned(),
                written: written.to_owned(),
            }),
        }
    }

    /// The changes of the map, for the one who makes them.
    #[must_use]
    pub fn steps(&self) -> Vec<Step<'_>> {
        self.map.iter().map(Change::step).collect()
    }
}

/// The texts of each verb.
fn keys(scenario: &Scenario) -> [&Texts; 12] {
    let Scenario { fail, replace, add_host, remove, drain, crush_reweight, .. } = scenario;
    let Scenario { mark_out, reweight, pg_num, pgp_num, upmap, upmap_items, .. } = scenario;
    [
        fail,
        replace,
        add_host,
        remove,
        drain,
        crush_reweight,
        mark_out,
        reweight,
        pg_num,
        pgp_num,
        upmap,
        upmap_items,
    ]
}
