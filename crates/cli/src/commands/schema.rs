//! `towtank schema [STUDY]`: the JSON Schema of scenario files.

use serde_json::{Value as Json, json};
use towtank::{Registry, Trouble};
use towtank_scenario::{Problem, SchemaParts, did_you_mean, file_schema};
use towtank_study::Study;

use super::print;
use crate::exit::Exit;

/// Prints the schema of one study, or one that covers all of them.
pub fn schema(registry: &Registry, study: Option<&str>) -> Result<Exit, Trouble> {
    let schema = match study {
        Some(name) => of_study(find(registry, name)?),
        None => of_all(registry),
    };
    print(&format!("{schema:#}\n"))
}

fn find(registry: &Registry, name: &str) -> Result<&'static dyn Study, Problem> {
    registry.named(name).ok_or_else(|| {
        let hint = did_you_mean(name, registry.studies().iter().map(|study| study.name()))
            .unwrap_or_else(|| "`towtank list` shows the studies".to_owned());
        Problem::new(format!("there is no study called `{name}`")).hint(hint)
    })
}

fn of_study(study: &dyn Study) -> Json {
    file_schema(SchemaParts { study: study.name(), title: study.title(), own: &study.schema().to_value() })
}

/// Each study's schema keeps its own definitions; its `$id` makes them the target of its references.
fn of_all(registry: &Registry) -> Json {
    let each = registry.studies().iter().map(|study| {
        let mut schema = of_study(*study);
        if let Json::Object(map) = &mut schema {
            map.shift_insert(0, "$id".to_owned(), format!("urn:towtank:scenario:{}", study.name()).into());
        }
        schema
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Towtank scenario",
        "oneOf": each.collect::<Vec<_>>(),
    })
}
