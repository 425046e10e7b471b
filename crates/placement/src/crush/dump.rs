//! Writes the whole map as JSON, byte for byte as `crushtool --dump` of Ceph 16.2.15 prints it.
//!
//! A map that only Squid and later releases understand has the values of multi-step-retry rules besides.
//!
//! Where crushtool would read a name that does not exist, the output has an empty one.

use super::general::{ALL_DIGITS, general};
use super::json::Json;
use super::map::{ChooseArgs, Map, Mode, Rule, Setting, Step, Tunables, id_of};
use std::fmt::{self, Write};

/// Writes the map, followed by the empty line with which crushtool ends it.
pub fn dump(map: &Map, out: &mut dyn Write) -> fmt::Result {
    let mut json = Json::new(out);
    json.object(None)?;
    devices(map, &mut json)?;
    types(map, &mut json)?;
    buckets(map, &mut json)?;
    json.list(Some("rules"))?;
    for (id, rule) in map.rules.iter().enumerate() {
        if let Some(rule) = rule {
            self::rule(map, id, rule, &mut json)?;
        }
    }
    json.close()?;
    tunables(map, &mut json)?;
    json.object(Some("choose_args"))?;
    for (index, args) in &map.choose_args {
        choose_args(&index.to_string(), args, &mut json)?;
    }
    json.close()?;
    json.close()?;
    out.write_char('\n')
}

fn devices(map: &Map, json: &mut Json<'_>) -> fmt::Result {
    json.list(Some("devices"))?;
    for id in 0..map.max_devices {
        json.object(None)?;
        json.number("id", id)?;
        match map.item_names.get(&id) {
            Some(name) => json.text("name", name)?,
            None => json.text("name", &format!("device{id}"))?,
        }
        if let Some(class) = map.item_classes.get(&id).and_then(|class| map.class_names.get(class)) {
            json.text("class", class)?;
        }
        json.close()?;
    }
    json.close()
}

fn types(map: &Map, json: &mut Json<'_>) -> fmt::Result {
    json.list(Some("types"))?;
    let unnamed_device = !map.type_names.is_empty() && !map.type_names.contains_key(&0);
    let device = unnamed_device.then_some((0, "device"));
    let named = map.type_names.range(0..).map(|(&id, name)| (id, name.as_str()));
    for (id, name) in device.into_iter().chain(named) {
        json.object(None)?;
        json.number("type_id", id)?;
        json.text("name", name)?;
        json.close()?;
    }
    json.close()
}

fn buckets(map: &Map, json: &mut Json<'_>) -> fmt::Result {
    json.list(Some("buckets"))?;
    for bucket in map.each_bucket() {
        json.object(None)?;
        json.number("id", bucket.id)?;
        if let Some(name) = map.item_names.get(&bucket.id) {
            json.text("name", name)?;
        }
        json.number("type_id", bucket.kind)?;
        if let Some(name) = map.type_names.get(&i32::from(bucket.kind)) {
            json.text("type_name", name)?;
        }
        // Ceph stores weights as signed numbers.
        json.number("weight", bucket.weight as i32)?;
        json.text("alg", bucket.alg().name())?;
        json.text("hash", if bucket.hash == 0 { "rjenkins1" } else { "unknown" })?;
        json.list(Some("items"))?;
        for (position, item) in bucket.items.iter().enumerate() {
            json.object(None)?;
            json.number("id", item)?;
            json.number("weight", bucket.item_weight(position) as i32)?;
            json.number("pos", position)?;
            json.close()?;
        }
        json.close()?;
        json.close()?;
    }
    json.close()
}

fn rule(map: &Map, id: usize, rule: &Rule, json: &mut Json<'_>) -> fmt::Result {
    json.object(None)?;
    json.number("rule_id", id)?;
    if let Some(name) = map.rule_names.get(&(id as i32)) {
        json.text("rule_name", name)?;
    }
    json.number("ruleset", rule.ruleset)?;
    json.number("type", rule.kind.number())?;
    json.number("min_size", rule.min_size)?;
    json.number("max_size", rule.max_size)?;
    json.list(Some("steps"))?;
    for &step in &rule.steps {
        json.object(None)?;
        self::step(map, step, json)?;
        json.close()?;
    }
    json.close()?;
    json.close()
}

fn step(map: &Map, step: Step, json: &mut Json<'_>) -> fmt::Result {
    let name_of = |name: Option<&String>| name.cloned().unwrap_or_default();
    match step {
        Step::Noop => json.text("op", "noop"),
        Step::Emit => json.text("op", "emit"),
        Step::Take(item) => {
            json.text("op", "take")?;
            json.number("item", item)?;
            json.text("item_name", &name_of(map.item_names.get(&item)))
        }
        Step::Choose { mode, leaf, count, kind } => {
            let verb = if leaf { "chooseleaf" } else { "choose" };
            let mode = if mode == Mode::Firstn { "firstn" } else { "indep" };
            json.text("op", &format!("{verb}_{mode}"))?;
            json.number("num", count)?;
            json.text("type", &name_of(map.type_names.get(&kind)))
        }
        Step::ChooseMsr { count, kind } => {
            json.text("op", "choosemsr")?;
            json.number("num", count)?;
            json.text("type", &name_of(map.type_names.get(&kind)))
        }
        // Crushtool prints these by name, and the other settings by number.
        Step::Set(setting, value)
            if setting.is_msr() || matches!(setting, Setting::ChooseTries | Setting::ChooseleafTries) =>
        {
            json.text("op", setting.row().2)?;
            json.number("num", value)
        }
        Step::Set(setting, value) => {
            json.number("opcode", setting.row().1)?;
            json.number("arg1", value)?;
            json.number("arg2", 0)
        }
    }
}

fn tunables(map: &Map, json: &mut Json<'_>) -> fmt::Result {
    let ours = &map.tunables;
    json.object(Some("tunables"))?;
    json.number("choose_local_tries", ours.choose_local_tries as i32)?;
    json.number("choose_local_fallback_tries", ours.choose_local_fallback_tries as i32)?;
    json.number("choose_total_tries", ours.choose_total_tries as i32)?;
    json.number("chooseleaf_descend_once", ours.chooseleaf_descend_once as i32)?;
    json.number("chooseleaf_vary_r", ours.chooseleaf_vary_r)?;
    json.number("chooseleaf_stable", ours.chooseleaf_stable)?;
    if map.needs_msr() {
        json.number("msr_descents", ours.msr_descents as i32)?;
        json.number("msr_collision_tries", ours.msr_collision_tries as i32)?;
    }
    json.number("straw_calc_version", ours.straw_calc_version)?;
    json.number("allowed_bucket_algs", ours.allowed_bucket_algs as i32)?;
    let profile = profile(ours);
    json.text("profile", profile)?;
    json.number("optimal_tunables", i32::from(profile == "jewel"))?;
    json.number("legacy_tunables", i32::from(profile == "argonaut"))?;
    let needs = Needs::of(map);
    json.text("minimum_required_version", needs.release())?;
    json.number("require_feature_tunables", i32::from(needs.tunables))?;
    json.number("require_feature_tunables2", i32::from(needs.tunables2))?;
    json.number("has_v2_rules", i32::from(needs.rules2))?;
    json.number("require_feature_tunables3", i32::from(needs.tunables3))?;
    json.number("has_v3_rules", i32::from(needs.rules3))?;
    json.number("has_v4_buckets", i32::from(needs.buckets4))?;
    json.number("require_feature_tunables5", i32::from(needs.tunables5))?;
    json.number("has_v5_rules", i32::from(needs.rules5))?;
    if needs.msr {
        let is_msr = |rule: &Rule| rule.kind.msr_mode().is_some();
        json.number("has_msr_rules", i32::from(map.rules.iter().flatten().any(is_msr)))?;
    }
    json.close()
}

/// The release that has these tunables as its profile. The straw formula is not part of a profile.
fn profile(tunables: &Tunables) -> &'static str {
    let profiles = [
        ("jewel", Tunables::JEWEL),
        ("hammer", Tunables::HAMMER),
        ("firefly", Tunables::FIREFLY),
        ("bobtail", Tunables::BOBTAIL),
        ("argonaut", Tunables::LEGACY),
    ];
    let alike = |other: &Tunables| {
        *tunables == Tunables { straw_calc_version: tunables.straw_calc_version, ..*other }
    };
    profiles.iter().find(|(_, profile)| alike(profile)).map_or("unknown", |(name, _)| name)
}

/// The features that a client must support to use the map, by the releases that introduced them.
struct Needs {
    tunables: bool,
    tunables2: bool,
    tunables3: bool,
    tunables5: bool,
    rules2: bool,
    rules3: bool,
    rules5: bool,
    buckets4: bool,
    msr: bool,
}

impl Needs {
    fn of(map: &Map) -> Self {
        let (ours, legacy) = (&map.tunables, &Tunables::LEGACY);
        let any_step =
            |wanted: fn(&Step) -> bool| map.rules.iter().flatten().any(|rule| rule.steps.iter().any(wanted));
        Self {
            tunables: (ours.choose_local_tries, ours.choose_local_fallback_tries, ours.choose_total_tries)
                != (legacy.choose_local_tries, legacy.choose_local_fallback_tries, legacy.choose_total_tries),
            tunables2: ours.chooseleaf_descend_once != 0,
            tunables3: ours.chooseleaf_vary_r != 0,
            tunables5: ours.chooseleaf_stable != 0,
            rules2: any_step(|step| {
                matches!(
                    step,
                    Step::Choose { mode: Mode::Indep, .. }
                        | Step::Set(Setting::ChooseTries | Setting::ChooseleafTries, _)
                )
            }),
            rules3: any_step(|step| matches!(step, Step::Set(Setting::ChooseleafVaryR, _))),
            rules5: any_step(|step| matches!(step, Step::Set(Setting::ChooseleafStable, _))),
            msr: map.needs_msr(),
            buckets4: map.each_bucket().any(|bucket| bucket.alg() == super::Alg::Straw2),
        }
    }

    fn release(&self) -> &'static str {
        if self.msr {
            "squid"
        } else if self.rules5 || self.tunables5 {
            "jewel"
        } else if self.buckets4 {
            "hammer"
        } else if self.tunables3 {
            "firefly"
        } else if self.tunables2 || self.tunables {
            "bobtail"
        } else {
            "argonaut"
        }
    }
}

fn choose_args(index: &str, args: &ChooseArgs, json: &mut Json<'_>) -> fmt::Result {
    json.list(Some(index))?;
    for (&slot, arg) in args {
        if arg.weight_sets.is_empty() && arg.ids.is_empty() {
            continue;
        }
        json.object(None)?;
        json.number("bucket_id", id_of(slot as usize))?;
        if !arg.weight_sets.is_empty() {
            json.list(Some("weight_set"))?;
            for weights in &arg.weight_sets {
                json.list(None)?;
                for &weight in weights {
                    json.element(general(f64::from(weight as f32 / 65_536.0), ALL_DIGITS))?;
                }
                json.close()?;
            }
            json.close()?;
        }
        if !arg.ids.is_empty() {
            json.list(Some("ids"))?;
            for id in &arg.ids {
                json.element(id)?;
            }
            json.close()?;
        }
        json.close()?;
    }
    json.close()
}
