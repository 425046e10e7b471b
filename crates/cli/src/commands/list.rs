//! `towtank list`: the studies and the built-in scenarios.

use serde_json::json;

use towtank::{Builtin, Registry, Trouble, heading};

use super::print;
use crate::args::{List, ListFormat};
use crate::exit::Exit;

/// Prints the studies and the built-in scenarios.
pub fn list(registry: &Registry, list: &List) -> Result<Exit, Trouble> {
    match list.format {
        ListFormat::Text => print(&text(registry)),
        ListFormat::Json => print(&format!("{:#}\n", json(registry))),
    }
}

/// The study and title of a built-in scenario.
struct Head {
    study: String,
    title: String,
}

impl Head {
    fn of(builtin: &Builtin) -> Head {
        let table: toml::Table = builtin.text.parse().unwrap_or_default();
        let word = |key: &str| table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        Head { study: word("study"), title: word("title") }
    }
}

fn text(registry: &Registry) -> String {
    let scenarios: Vec<(&Builtin, Head)> =
        registry.scenarios().iter().map(|one| (one, Head::of(one))).collect();
    let names = scenarios
        .iter()
        .map(|(one, _)| one.name())
        .chain(registry.studies().iter().map(|study| study.name()));
    let width = names.map(str::len).max().unwrap_or(0);
    let mut lines = vec!["Studies, each a command of its own (towtank STUDY --help):".to_owned()];
    for study in registry.studies() {
        lines.push(format!("  {:width$}  {}", study.name(), heading(*study)));
    }
    lines.push(String::new());
    lines.push("Scenarios (towtank run NAME; towtank show NAME prints one to copy):".to_owned());
    for (builtin, head) in scenarios {
        lines.push(format!("  {:width$}  {}", builtin.name(), head.title));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn json(registry: &Registry) -> serde_json::Value {
    let studies = registry.studies().iter().map(|study| {
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
    let scenarios = registry.scenarios().iter().map(|builtin| {
        let head = Head::of(builtin);
        json!({ "name": builtin.name(), "study": head.study, "title": head.title, "file": builtin.path })
    });
    json!({ "studies": studies.collect::<Vec<_>>(), "scenarios": scenarios.collect::<Vec<_>>() })
}
