//! The changes that a scenario asks for, in their order: first the list `changes` as it stands, then the
//! other keys, in a fixed order. A change with a time is made then; changes at the same time keep their
//! order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_imports::ceph::PoolEntry;
use towtank_report::human;
use towtank_scenario::{Draft, Problem, Problems, did_you_mean};
use towtank_study::Texts;
use towtank_units::SimSpan;

use crate::changes::{Step, parts};

/// The keys that change the map of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapChanges {
    /// The new map; further changes are made to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_map: Option<String>,
    /// New hosts: `h9=4x3.6`, four devices of weight 3.6; with a class and a location
    /// `h9=4x3.6:ssd@rack1`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub add_host: Texts,
    /// Devices or buckets to remove from the map at once, as `ceph osd crush rm` does: `osd.3`, `host=h2`.
    /// What is up serves its data until they are elsewhere.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub remove: Texts,
    /// Devices or buckets to empty while they still serve their data, as `ceph orch osd rm` does: their
    /// weight in the map becomes 0.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub drain: Texts,
    /// Weights in the map, as `ceph osd crush reweight` sets them: `osd.7=3.2`. The host's weight follows.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub crush_reweight: Texts,
    /// Devices to take out, as `ceph osd out` does: they stay in the map, and serve until they are empty.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub mark_out: Texts,
    /// Overrides from 0 to 1, as `ceph osd reweight` sets them: `osd.7=0.8`. The host keeps its weight.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub reweight: Texts,
    /// `pg_num` of pools: `rbd=128`. Groups are split in place; where `pgp_num` was the same, it follows,
    /// which moves them.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub pg_num: Texts,
    /// `pgp_num` of pools: `rbd=128`. This moves groups.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub pgp_num: Texts,
    /// CRUSH rules of pools, by name or id, as `ceph osd pool set POOL crush_rule` sets them: `rbd=by_rack`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub rule: Texts,
    /// A profile of tunables: legacy, argonaut, bobtail, firefly, hammer, jewel, optimal or default.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub tunables: Texts,
    /// A group and the devices that it is to have, as in `ceph osd pg-upmap`: `1.7 osd.3 osd.5 osd.8`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub upmap: Texts,
    /// A group and pairs of devices, from and to, as in `ceph osd pg-upmap-items`: `1.7 osd.3 osd.5`. A group
    /// alone loses its pairs, as with `ceph osd rm-pg-upmap-items`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub upmap_items: Texts,
}

impl MapChanges {
    /// The texts of each kind of change, in the order in which they are made.
    fn texts(&self) -> [&Texts; MAP_VERBS.len()] {
        let MapChanges { add_host, remove, drain, crush_reweight, mark_out, reweight, .. } = self;
        let MapChanges { pg_num, pgp_num, rule, upmap, upmap_items, tunables, .. } = self;
        [
            add_host,
            remove,
            drain,
            crush_reweight,
            mark_out,
            reweight,
            pg_num,
            pgp_num,
            rule,
            tunables,
            upmap,
            upmap_items,
        ]
    }

    /// The same with their keys.
    pub(crate) fn keyed(&self) -> impl Iterator<Item = (&'static str, &Texts)> {
        MAP_VERBS.iter().copied().zip(self.texts())
    }
}

/// All changes of a scenario: the list `changes`, and the texts of its other keys.
pub struct Keyed<'a> {
    /// The list.
    pub changes: &'a Texts,
    /// Each other key, which is a verb too, with its texts.
    pub keyed: Vec<(&'static str, &'a Texts)>,
}

/// What is asked, sorted by who does it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// What fails, with its time.
    pub fail: Vec<Change>,
    /// Devices that are replaced at once by empty ones.
    pub replace: Vec<Change>,
    /// What comes back: with its data, or replaced after it failed.
    pub returns: Vec<Change>,
    /// Changes of the map, in their order.
    pub map: Vec<Change>,
    /// Flags that are set and unset, in their order.
    pub flags: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key in which it stands.
    pub key: String,
    /// What it does.
    pub verb: String,
    /// To what.
    pub text: String,
    /// When.
    pub at: SimSpan,
    /// As it stands at the key.
    pub written: String,
}

impl Change {
    /// Whether it sets this number of a pool, which is named by its name or its id: `rbd=64`, `3=64`.
    pub(crate) fn sets(&self, verb: &str, pool: &PoolEntry) -> bool {
        let is_pool = |name: &str| name == pool.name || name == pool.id.to_string();
        self.verb == verb && parts(&self.text).is_some_and(|(name, _)| is_pool(name))
    }

    /// The number that this change gives a pool for `verb`.
    pub(crate) fn number(&self, verb: &str, pool: &PoolEntry) -> Option<u32> {
        let (_, number) = parts(&self.text).filter(|_| self.sets(verb, pool))?;
        number.parse().ok()
    }

    /// As a change of the map.
    #[must_use]
    pub fn step(&self) -> Step<'_> {
        let Change { key, verb, text, written, .. } = self;
        Step { key, verb, text, written }
    }

    /// A problem with it.
    pub fn problem(&self, draft: &Draft, message: &str) -> Problem {
        let message = format!("`{}` has \"{}\": {message}", self.key, self.written);
        draft.problem_with(&self.key, &self.written, message)
    }

    /// When it is made, and what it does in words.
    pub(crate) fn told(&self, verb: &str) -> Told {
        Told { at: self.at, words: format!("{} {verb}", self.text) }
    }
}

/// A change in words, with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub at: SimSpan,
    pub words: String,
}

impl Told {
    /// Both in one phrase: `osd.7 drained after 2 h`.
    pub(crate) fn phrase(&self) -> String {
        if self.at.is_zero() {
            return self.words.clone();
        }
        format!("{} after {}", self.words, human::quantity(self.at.as_secs_f64(), "s"))
    }
}

/// All verbs, in the order in which keys are read.
pub(crate) const VERBS: &[&str] = &[
    "fail",
    "returns",
    "replace",
    "set_flag",
    "unset_flag",
    "add_host",
    "remove",
    "drain",
    "crush_reweight",
    "mark_out",
    "reweight",
    "pg_num",
    "pgp_num",
    "rule",
    "tunables",
    "upmap",
    "upmap_items",
];

/// The verb that sets a flag.
pub(crate) const SET: &str = "set_flag";

/// Those that change a map.
pub(crate) const MAP_VERBS: &[&str] = VERBS.split_at(5).1;

/// A failure that is drawn would need its own map in each replicate.
const DRAWN: [&str; 5] = ["server", "host", "disk", "osd", "rack"];

impl Asked {
    /// Reads all changes.
    ///
    /// # Errors
    /// Each change that is none, with its place in `draft`.
    pub fn of(keyed: &Keyed<'_>, draft: &Draft) -> Result<Asked, Problems> {
        let mut asked = Asked::default();
        let mut problems = Problems::new();
        for written in keyed.changes.all() {
            let (word, text) = words(written);
            let verb = verb_of(word);
            if keyed.keyed.iter().all(|(key, _)| *key != verb) {
                let names: Vec<String> = keyed.keyed.iter().map(|(key, _)| key.replace('_', "-")).collect();
                let hint = did_you_mean(word, names.iter().map(String::as_str))
                    .unwrap_or_else(|| format!("changes are {}", names.join(", ")));
                let message = format!("`changes` has \"{written}\", but `{word}` is no change");
                problems.push(draft.problem_with("changes", written, message).hint(hint));
                continue;
            }
            let change = with_time("changes", &verb, text.trim(), written);
            asked.add(change, draft, &mut problems);
        }
        for (verb, texts) in &keyed.keyed {
            for text in texts.all() {
                asked.add(with_time(verb, verb, text.trim(), text), draft, &mut problems);
            }
        }
        for list in [&mut asked.fail, &mut asked.returns, &mut asked.map, &mut asked.flags] {
            list.sort_by_key(|change| change.at);
        }
        problems.into_result(asked)
    }

    fn add(&mut self, change: Change, draft: &Draft, problems: &mut Problems) {
        if let Some((message, hint)) = wrong(&change) {
            problems.push(change.problem(draft, &message).hint(hint));
            return;
        }
        if let Some(before) = self.same_as(&change) {
            let message =
                format!("{} stands in `{}` already, and a change is made once", change.text, before.key);
            problems.push(change.problem(draft, &message).hint("leave one of them out"));
            return;
        }
        match change.verb.as_str() {
            "fail" => self.fail.push(change),
            "replace" if change.at.is_zero() => self.replace.push(change),
            "returns" | "replace" => self.returns.push(change),
            SET | "unset_flag" => self.flags.push(change),
            _ => self.map.push(change),
        }
    }

    /// What was asked before that does the same to the same device at the same time. Changes of the map may
    /// be made twice, where the second changes nothing.
    fn same_as(&self, change: &Change) -> Option<&Change> {
        let all = [&self.fail, &self.replace, &self.returns];
        let same = |one: &&Change| (&one.verb, &one.text, one.at) == (&change.verb, &change.text, change.at);
        all.into_iter().flatten().find(same)
    }

    /// Whether something fails or is replaced at the beginning.
    #[must_use]
    pub(crate) fn fails_at_once(&self) -> bool {
        self.fail.iter().any(|change| change.at.is_zero())
    }

    /// Whether anything fails or is replaced.
    #[must_use]
    pub(crate) fn fails(&self) -> bool {
        !self.fail.is_empty() || !self.replace.is_empty()
    }

    /// Whether anything happens later.
    #[must_use]
    pub(crate) fn lasts(&self) -> bool {
        let later = |change: &Change| !change.at.is_zero();
        !self.returns.is_empty() || self.fail.iter().chain(&self.map).chain(&self.flags).any(later)
    }

    /// The changes of the map by their time, those at the beginning first, even where there are none.
    #[must_use]
    pub fn stages(&self) -> Vec<(SimSpan, Vec<Step<'_>>)> {
        let mut stages = vec![(SimSpan::ZERO, Vec::new())];
        for change in &self.map {
            match stages.last_mut() {
                Some((at, steps)) if *at == change.at => steps.push(change.step()),
                _ => stages.push((change.at, vec![change.step()])),
            }
        }
        stages
    }
}

/// The first word of an entry of `changes`, and what follows it.
fn words(written: &str) -> (&str, &str) {
    written.trim().split_once(char::is_whitespace).unwrap_or((written.trim(), ""))
}

/// The key that a word names, with dashes or without.
fn verb_of(word: &str) -> String {
    word.trim_start_matches("--").replace('-', "_")
}

impl Keyed<'_> {
    /// Whether there is a change of this kind.
    #[must_use]
    pub fn has(&self, verb: &str) -> bool {
        self.keyed.iter().any(|(key, texts)| *key == verb && !texts.is_empty())
            || self.changes.all().iter().any(|written| verb_of(words(written).0) == verb)
    }
}

/// A change, with the time that stands behind its last `@`. In `add_host` a location may stand there.
fn with_time(key: &str, verb: &str, text: &str, written: &str) -> Change {
    let split = text.rsplit_once('@');
    let time = split.and_then(|(what, at)| Some((what.trim(), at.trim().parse::<SimSpan>().ok()?)));
    let (text, at) = time.unwrap_or((text, SimSpan::ZERO));
    let [key, verb, text, written] = [key, verb, text, written].map(str::to_owned);
    Change { key, verb, text, at, written }
}

/// What is wrong with a change by itself, and a hint.
fn wrong(change: &Change) -> Option<(String, String)> {
    let Change { verb, text, at, .. } = change;
    if verb == "fail" && DRAWN.contains(&text.as_str()) {
        let hint = "write osd.3, host=NAME or rack=NAME; `towtank rebuild` draws what fails";
        return Some(("what fails must be named here".to_owned(), hint.to_owned()));
    }
    if let Some((_, time)) = text.rsplit_once('@').filter(|_| verb != "add_host") {
        let hint = "write a time with its unit behind the `@`: @40min".to_owned();
        return Some((format!("`{time}` is no time"), hint));
    }
    if verb == "returns" && at.is_zero() {
        let hint = format!("write it behind an `@`: {text}@40min");
        return Some(("it does not say when".to_owned(), hint));
    }
    None
}
