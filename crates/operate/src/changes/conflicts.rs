//! Changes that set the same thing differently. Keys are applied in a fixed order, whatever the order in
//! which they are written, so of two keys that set one thing nobody can tell which is meant to last. In the
//! list `changes`, which has an order, a change may follow on another.

use std::collections::BTreeMap;

use super::{Editor, Fault, Step, assignment};

/// Something that a change sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    /// The override of a device's weight.
    Override,
    /// The weight of a device in the map.
    Weight,
    /// Numbers of groups, and the rule, of a pool.
    PgNum,
    PgpNum,
    Rule,
}

impl Thing {
    fn of(verb: &str) -> Option<Thing> {
        Some(match verb {
            "mark_out" | "reweight" => Thing::Override,
            "crush_reweight" | "drain" => Thing::Weight,
            "pg_num" => Thing::PgNum,
            "pgp_num" => Thing::PgpNum,
            "rule" => Thing::Rule,
            _ => return None,
        })
    }

    fn words(self) -> &'static str {
        match self {
            Thing::Override => "the override of",
            Thing::Weight => "the weight of",
            Thing::PgNum => "`pg_num` of pool",
            Thing::PgpNum => "`pgp_num` of pool",
            Thing::Rule => "the rule of pool",
        }
    }
}

/// What the changes so far have set, and by which.
#[derive(Debug, Default)]
pub(super) struct Set<'a>(BTreeMap<(Thing, i64), Step<'a>>);

impl<'a> Set<'a> {
    /// Notes what a change sets. What is wrong with it otherwise is found when it is made.
    pub fn note(&mut self, editor: &Editor<'_>, step: &Step<'a>) -> Result<(), Fault> {
        let Some(thing) = Thing::of(step.verb) else { return Ok(()) };
        for (id, name) in targets(editor, step) {
            let Some(before) = self.0.insert((thing, id), *step) else { continue };
            let are_ordered = before.key == "changes" && step.key == "changes";
            let is_same = before.verb == step.verb && value(&before) == value(step);
            if !are_ordered && !is_same {
                return Err(Fault::new(
                    format!(
                        "{} {name} is also set by `{}`, which is \"{}\"",
                        thing.words(),
                        before.key,
                        before.text
                    ),
                    "leave one of the two out; `towtank whatif` has a list `changes`, which are made in their order",
                ));
            }
        }
        Ok(())
    }
}

/// The value that is set; none where the verb says it.
fn value<'t>(step: &Step<'t>) -> Option<&'t str> {
    let has_value = !matches!(step.verb, "mark_out" | "drain");
    step.text.rsplit_once('=').filter(|_| has_value).map(|(_, value)| value.trim())
}

/// The devices or pools that a change sets something of.
fn targets(editor: &Editor<'_>, step: &Step<'_>) -> Vec<(i64, String)> {
    let device = |id: i32| (i64::from(id), format!("osd.{id}"));
    match step.verb {
        "mark_out" | "drain" => {
            editor.devices_of(step.text).unwrap_or_default().into_iter().map(device).collect()
        }
        verb => {
            let Ok((name, _)) = assignment(step.text, "") else { return Vec::new() };
            match verb {
                "reweight" | "crush_reweight" => editor.device(name).into_iter().map(device).collect(),
                _ => editor.pool_at(name).into_iter().map(|at| (at as i64, format!("`{name}`"))).collect(),
            }
        }
    }
}
