//! `towtank list [WORD…]`: the studies and the built-in scenarios, by study and by paper.

use serde_json::json;

use towtank::{Builtin, PaperName, Registry, Trouble, heading, paper_of};
use towtank_report::text::wrap;
use towtank_scenario::{Problem, did_you_mean};
use towtank_study::Study;

use super::print;
use crate::args::{List, ListFormat};
use crate::exit::Exit;
use crate::screen;

/// Prints the studies and the built-in scenarios.
pub fn list(registry: &Registry, list: &List) -> Result<Exit, Trouble> {
    let chosen = Chosen::of(registry, &list.words)?;
    match list.format {
        ListFormat::Text => print(&chosen.text(screen::stdout().width)),
        ListFormat::Json => print(&format!("{:#}\n", chosen.json())),
    }
}

/// A built-in scenario, with what a list says of it.
struct Entry {
    builtin: Builtin,
    study: String,
    title: String,
    paper: Option<PaperName>,
}

impl Entry {
    fn of(builtin: &Builtin) -> Entry {
        let table: toml::Table = builtin.text.parse().unwrap_or_default();
        let word = |key: &str| table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        Entry { builtin: *builtin, study: word("study"), title: word("title"), paper: paper_of(builtin) }
    }

    /// The heading that it stands under: its paper, or its study.
    fn group(&self) -> String {
        match self.paper {
            Some(paper) => format!("{}, as in \"{}\"", self.study, paper.title),
            None => self.study.clone(),
        }
    }

    /// All that is known of it in words.
    fn words(&self) -> String {
        let paper = self.paper.map_or(String::new(), |paper| format!("{} {}", paper.short, paper.title));
        format!("{} {} {} {paper}", self.builtin.name(), self.study, self.title)
    }
}

/// What is listed.
struct Chosen {
    studies: Vec<&'static dyn Study>,
    scenarios: Vec<Entry>,
}

impl Chosen {
    /// What has all these words.
    fn of(registry: &Registry, words: &[String]) -> Result<Chosen, Problem> {
        let fits = |study: &str, text: &str| {
            let text = text.to_lowercase();
            words.iter().all(|word| match registry.named(word) {
                Some(named) => named.name() == study,
                None => text.contains(&word.to_lowercase()),
            })
        };
        let of_study =
            |study: &&'static dyn Study| fits(study.name(), &format!("{} {}", study.name(), study.title()));
        let studies: Vec<_> = registry.studies().iter().copied().filter(of_study).collect();
        let entries = registry.scenarios().iter().map(Entry::of);
        let mut scenarios: Vec<Entry> = entries.filter(|entry| fits(&entry.study, &entry.words())).collect();
        if studies.is_empty() && scenarios.is_empty() {
            return Err(nothing(registry, words));
        }
        let order = |entry: &Entry| registry.studies().iter().position(|study| study.name() == entry.study);
        scenarios.sort_by_key(|entry| (order(entry), entry.paper.is_some()));
        Ok(Chosen { studies, scenarios })
    }

    fn text(&self, width: usize) -> String {
        let scenarios = self.scenarios.iter().map(|entry| entry.builtin.name());
        let names = scenarios.chain(self.studies.iter().map(|study| study.name()));
        let names = names.map(str::len).max().unwrap_or(0);
        let row = |name: &str, about: &str| {
            let lines = wrap(about, width.saturating_sub(names + 4));
            let joint = format!("\n  {:names$}  ", "");
            format!("  {name:names$}  {}\n", lines.join(&joint))
        };
        let head = |words: &str| format!("{}\n", wrap(words, width).join("\n"));
        let mut text = String::new();
        if !self.studies.is_empty() {
            text.push_str(&head("Studies, each a command of its own (towtank STUDY -h):"));
            self.studies.iter().for_each(|study| text.push_str(&row(study.name(), &heading(*study))));
        }
        if !self.scenarios.is_empty() {
            let before = if text.is_empty() { "" } else { "\n" };
            text.push_str(before);
            text.push_str(&head("Scenarios (towtank run NAME; towtank show NAME prints one to copy):"));
        }
        let mut group = String::new();
        for entry in &self.scenarios {
            if group != entry.group() {
                group = entry.group();
                let lines = wrap(&format!("{group}:"), width);
                text.push_str(&format!("\n{}\n", lines.join("\n")));
            }
            text.push_str(&row(entry.builtin.name(), &entry.title));
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let studies = self.studies.iter().map(|study| {
            let measures = study
                .measures()
                .iter()
                .map(|measure| json!({ "name": measure.name, "unit": measure.unit, "about": measure.about }));
            json!({
                "name": study.name(),
                "title": study.title(),
                "results_version": study.results_version(),
                "measures": measures.collect::<Vec<_>>(),
                "published": study.published(),
            })
        });
        let scenarios = self.scenarios.iter().map(|entry| {
            json!({
                "name": entry.builtin.name(),
                "study": entry.study,
                "title": entry.title,
                "paper": entry.paper.map(|paper| paper.title),
                "file": entry.builtin.path,
            })
        });
        json!({ "studies": studies.collect::<Vec<_>>(), "scenarios": scenarios.collect::<Vec<_>>() })
    }
}

fn nothing(registry: &Registry, words: &[String]) -> Problem {
    let studies = registry.studies().iter().map(|study| study.name());
    let names: Vec<&str> = studies.chain(registry.scenarios().iter().map(Builtin::name)).collect();
    let nearest = words.iter().find_map(|word| did_you_mean(word, names.iter().copied()));
    let hint = nearest.unwrap_or_else(|| {
        "`towtank list` lists all; words of names, titles, studies and papers are looked for".to_owned()
    });
    Problem::new(format!("no study and no scenario has `{}`", words.join(" "))).hint(hint)
}
