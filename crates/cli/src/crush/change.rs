//! Changes to a map, in crushtool's order: tunables, weights, items, buckets, rules.

use towtank::Trouble;
use towtank_placement::crush::edit::{EditError, Location, RuleSpec};
use towtank_placement::crush::{Map, Mode, USUAL_DIGITS, general};
use towtank_scenario::{Problem, did_you_mean};

use super::NAME;
use super::flags::{Changes, Flags, Tunables};
use super::out::Out;

/// Prints the messages that crushtool prints while it reads its flags.
pub(super) fn announce(flags: &Flags, out: &mut Out) -> Result<(), Trouble> {
    let say = |flag: &str, values: &[String]| {
        let names = ["name", "root", "type", "mode"];
        let pairs = names.iter().zip(values).map(|(name, value)| format!(" {name}={value}"));
        format!("{flag}:{}\n", pairs.collect::<String>())
    };
    let changes = &flags.changes;
    let (simple, replicated) = ("--create-simple-rule", "--create-replicated-rule");
    if let Some(values) = list::<4>(simple, changes.create_simple_rule.as_deref())? {
        out.say(&say(simple, values))?;
    }
    if let Some(values) = list::<3>(replicated, changes.create_replicated_rule.as_deref())? {
        out.say(&say(replicated, values))?;
    }
    Ok(())
}

/// Makes the changes; returns whether there were any.
pub(super) fn apply(flags: &Flags, map: &mut Map, out: &mut Out) -> Result<bool, Trouble> {
    tunables(&flags.tunables, map);
    let changes = &flags.changes;
    let location = location(changes);
    if let Some([name, weight]) = list("--reweight-item", changes.reweight_item.as_deref())? {
        let weight = number(weight, "--reweight-item")?;
        let shown = general(f64::from(weight), USUAL_DIGITS);
        out.say(&format!("{NAME} reweighting item {name} to {shown}\n"))?;
        edit(map, |map| map.reweight_item(name, weight))?;
    }
    if let Some([name]) = list("--remove-item", Some(&changes.remove_item))? {
        out.say(&format!("{NAME} removing item {name}\n"))?;
        edit(map, |map| map.remove_item(name))?;
    }
    if let Some([id, weight, name]) = list("--add-item", changes.add_item.as_deref())? {
        let (id, weight) = (device(id, "--add-item")?, number(weight, "--add-item")?);
        place(map, &location, |map| map.add_item(id, weight, name, &location))?;
    }
    if let Some([id, weight, name]) = list("--update-item", changes.update_item.as_deref())? {
        let (id, weight) = (device(id, "--update-item")?, number(weight, "--update-item")?);
        place(map, &location, |map| map.update_item(id, weight, name, &location))?;
    }
    if let Some([name, kind]) = list("--add-bucket", changes.add_bucket.as_deref())? {
        place(map, &location, |map| map.create_bucket(name, kind, &location))?;
    }
    if let Some([name]) = list("--move", Some(&changes.move_item))? {
        place(map, &location, |map| map.move_item(name, &location))?;
    }
    rules(changes, map)?;
    if changes.reweight {
        edit(map, Map::reweight)?;
    }
    Ok(flags.tunables.any() || changes.any())
}

fn tunables(flags: &Tunables, map: &mut Map) {
    let ours = &mut map.tunables;
    let set = |slot: &mut u32, value: Option<i64>| {
        *slot = value.and_then(|value| u32::try_from(value).ok()).unwrap_or(*slot);
    };
    set(&mut ours.choose_local_tries, flags.set_choose_local_tries);
    set(&mut ours.choose_local_fallback_tries, flags.set_choose_local_fallback_tries);
    set(&mut ours.choose_total_tries, flags.set_choose_total_tries);
    // A switch: crushtool keeps only whether its value is zero.
    set(
        &mut ours.chooseleaf_descend_once,
        flags.set_chooseleaf_descend_once.map(|value| i64::from(value != 0)),
    );
    set(&mut ours.allowed_bucket_algs, flags.set_allowed_bucket_algs);
    let set = |slot: &mut u8, value: Option<i64>| {
        *slot = value.and_then(|value| u8::try_from(value).ok()).unwrap_or(*slot);
    };
    set(&mut ours.chooseleaf_vary_r, flags.set_chooseleaf_vary_r);
    set(&mut ours.chooseleaf_stable, flags.set_chooseleaf_stable);
    set(&mut ours.straw_calc_version, flags.set_straw_calc_version);
}

fn rules(changes: &Changes, map: &mut Map) -> Result<(), Trouble> {
    if let Some([name, root, spread_over]) =
        list("--create-replicated-rule", changes.create_replicated_rule.as_deref())?
    {
        let spec = RuleSpec { name, root, spread_over, class: "", mode: Mode::Firstn };
        edit(map, |map| map.create_rule(spec))?;
    }
    if let Some([name, root, spread_over, mode]) =
        list("--create-simple-rule", changes.create_simple_rule.as_deref())?
    {
        let mode = match mode.as_str() {
            "firstn" => Mode::Firstn,
            "indep" => Mode::Indep,
            other => {
                return Err(Problem::new(format!("there is no mode `{other}`"))
                    .hint("use firstn for replicated pools, indep for erasure-coded ones")
                    .into());
            }
        };
        edit(map, |map| map.create_rule(RuleSpec { name, root, spread_over, class: "", mode }))?;
    }
    if let Some([name]) = list("--remove-rule", Some(&changes.remove_rule))? {
        edit(map, |map| map.remove_rule(name))?;
    }
    Ok(())
}

/// The values of a flag that takes exactly `N`, and is given once: crushtool makes only the last of several
/// changes of one kind, without a word.
fn list<'a, const N: usize>(
    flag: &str,
    values: Option<&'a [String]>,
) -> Result<Option<&'a [String; N]>, Problem> {
    let Some(values) = values.filter(|values| !values.is_empty()) else { return Ok(None) };
    values.try_into().map(Some).map_err(|_| {
        Problem::new(format!(
            "`{flag}` is given {} times, but a command makes one such change",
            values.len() / N
        ))
        .hint("run the command once for each change, on the map that the one before wrote")
    })
}

fn location(changes: &Changes) -> Location {
    changes.loc.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// A number as crushtool stores it: in single precision, converted from double.
pub fn number(text: &str, flag: &str) -> Result<f32, Problem> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
    value.map(|value| value as f32).ok_or_else(|| {
        Problem::new(format!("`{text}` is no weight, in {flag}"))
            .hint("a weight is a decimal number, such as 1.8")
    })
}

/// Parses the id of a device.
pub fn device(text: &str, flag: &str) -> Result<i32, Problem> {
    let id = text.parse::<i32>().ok().filter(|id| (0..0x7fff_fffe).contains(id));
    id.ok_or_else(|| {
        Problem::new(format!("`{text}` is no device's id, in {flag}")).hint("ids go from 0 to 2147483645")
    })
}

/// An edit that may make the buckets that are missing in its location.
fn place(
    map: &mut Map,
    location: &Location,
    change: impl FnOnce(&mut Map) -> Result<(), EditError>,
) -> Result<(), Trouble> {
    let makes = map.check_new_buckets(location);
    edit(map, change)?;
    makes.map_err(|error| Trouble::input(&error))
}

fn edit(map: &mut Map, change: impl FnOnce(&mut Map) -> Result<(), EditError>) -> Result<(), Trouble> {
    change(map).map_err(|error| match &error {
        EditError::NoItem { name } => near(&error, name, map.item_names.values(), "--tree lists the items"),
        EditError::NoType { name } => near(&error, name, map.type_names.values(), "-d lists the types"),
        EditError::NoRule { name } => near(&error, name, map.rule_names.values(), "-d lists the rules"),
        _ => Trouble::input(&error),
    })
}

fn near<'a>(
    error: &EditError,
    name: &str,
    known: impl Iterator<Item = &'a String>,
    otherwise: &str,
) -> Trouble {
    let known = known.map(String::as_str).filter(|known| !known.contains('~'));
    let hint = did_you_mean(name, known).unwrap_or_else(|| otherwise.to_owned());
    Problem::new(error.to_string()).hint(hint).into()
}
