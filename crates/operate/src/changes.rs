//! The changes of a scenario, applied in order: first another map, then each change. In the end the monitors
//! react.

mod conflicts;

use std::collections::BTreeSet;

use towtank_ceph::{
    Cluster, GROUPS_MAX, NewHost, PoolState, RuleError, device_list, rule_for, rule_name, upmaps,
};
use towtank_placement::crush::edit::EditError;
use towtank_placement::crush::pools::{Device, FULL, PgId};
use towtank_placement::crush::{ItemId, Map, Tunables};
use towtank_report::Warning;
use towtank_scenario::{Draft, Problem, Problems, did_you_mean};

use crate::exports::read_map;
use crate::names;
use conflicts::Set;

/// A cluster after all changes.
pub struct Changed {
    /// The cluster as it would be.
    pub after: Cluster,
    /// The number of explicit mappings that the monitors would drop or change.
    pub upmaps_dropped: usize,
    /// The changes in words.
    pub words: Vec<String>,
}

/// What is asked: another map, and changes to it in their order.
pub struct Asked<'a> {
    /// Whether `after_map` names another map to begin with.
    pub after_map: bool,
    /// The changes.
    pub steps: Vec<Step<'a>>,
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// The key of the scenario in which it stands.
    pub key: &'a str,
    /// What it does, as the key of the same name: `mark_out`.
    pub verb: &'a str,
    /// To what: `osd.3`.
    pub text: &'a str,
    /// The change as it stands at the key, for messages.
    pub written: &'a str,
}

/// Applies all changes.
pub fn apply(
    asked: &Asked<'_>,
    draft: &Draft,
    before: &Cluster,
    warnings: &mut Vec<Warning>,
) -> Result<Changed, Problems> {
    let mut after = before.clone();
    let mut words = Vec::new();
    if asked.after_map
        && let Some(map) = read_map(draft, "after_map", warnings)?
    {
        after.map = map;
        words.push("another map".to_owned());
    }
    let mut editor = Editor { before, cluster: &mut after, words: &mut words, warnings: &mut *warnings };
    let mut problems = Problems::new();
    let mut set = Set::default();
    for step in &asked.steps {
        let change = change_of(step.verb).expect("the caller names changes that there are");
        if let Err(problem) = set.note(&editor, step).and_then(|()| change(&mut editor, step.text)) {
            // What is wrong with a profile of tunables names it anyway.
            let written = if step.verb == "tunables" { "" } else { step.written };
            problems.push(at_key(draft, step.key, written, problem));
        }
    }
    problems.into_result(())?;
    check_groups(draft, &after).into_result(())?;
    if let Err(fault) = after.map.compile() {
        let key = if asked.after_map { "after_map" } else { "crush_map" };
        return Err(draft
            .problem(key, format!("the map after the change: {fault}"))
            .hint("correct the map")
            .into());
    }
    if let Err(fault) = before.map.compile() {
        return Err(draft.problem("crush_map", fault.to_string()).hint("correct the map").into());
    }
    let set: BTreeSet<PgId> =
        after.overlay.upmap.keys().chain(after.overlay.upmap_items.keys()).copied().collect();
    let upmaps_dropped = upmaps::drop_merging(before, &mut after) + upmaps::drop_broken(&mut after);
    warnings.extend(without_effect(before, &after, &set));
    Ok(Changed { after, upmaps_dropped, words })
}

/// Names groups whose new explicit mapping the monitors drop at once.
fn without_effect(before: &Cluster, after: &Cluster, set: &BTreeSet<PgId>) -> Option<Warning> {
    let has = |cluster: &Cluster, group: &PgId| {
        cluster.overlay.upmap.contains_key(group) || cluster.overlay.upmap_items.contains_key(group)
    };
    let mut dropped = set.iter().filter(|group| !has(before, group) && !has(after, group));
    let first = dropped.next()?;
    let more = match dropped.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Warning::unknown(format!(
        "the new explicit mapping of group {first}{more} has no effect: Ceph drops one that swaps a device which the group is not \
         on, puts two copies into a failure domain, or names a device that is out, has no weight or is outside the rule"
    )))
}

type Change<'a> = fn(&mut Editor<'a>, &str) -> Result<(), Fault>;

/// The change of a name, if there is one.
fn change_of<'a>(verb: &str) -> Option<Change<'a>> {
    Some(match verb {
        "add_host" => Editor::add_host,
        "remove" => Editor::remove,
        "crush_reweight" => Editor::crush_reweight,
        "drain" => Editor::drain,
        "mark_out" => Editor::mark_out,
        "reweight" => Editor::reweight,
        "pg_num" => Editor::pg_num,
        "pgp_num" => Editor::pgp_num,
        "rule" => Editor::rule,
        "tunables" => Editor::tunables,
        "upmap" => Editor::upmap,
        "upmap_items" => Editor::upmap_items,
        _ => return None,
    })
}

/// What is wrong with a change, and a hint.
struct Fault {
    message: String,
    hint: String,
}

impl Fault {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

impl From<EditError> for Fault {
    fn from(error: EditError) -> Self {
        // The message of an edit's error ends in a hint after `; `, where there is one.
        match error.to_string().split_once("; ") {
            Some((message, hint)) => Self::new(message, hint),
            None => Self::new(error.to_string(), "`towtank crush --tree -i MAP` shows what the map holds"),
        }
    }
}

fn at_key(draft: &Draft, key: &str, text: &str, fault: Fault) -> Problem {
    let of = if text.is_empty() { format!("`{key}`") } else { format!("`{key}` is \"{text}\"") };
    draft.problem_with(key, text, format!("{of}: {}", fault.message)).hint(fault.hint)
}

struct Editor<'a> {
    before: &'a Cluster,
    cluster: &'a mut Cluster,
    words: &'a mut Vec<String>,
    warnings: &'a mut Vec<Warning>,
}

/// Parses `name=value`, with blanks around both parts ignored.
fn assignment<'t>(text: &'t str, example: &str) -> Result<(&'t str, &'t str), Fault> {
    parts(text).ok_or_else(|| Fault::new("there is no `=` in it", format!("write it as in `{example}`")))
}

/// The name and the value of a text such as `rbd=64`.
pub(crate) fn parts(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('=').map(|(name, value)| (name.trim(), value.trim()))
}

fn number<T: std::str::FromStr>(text: &str, what: &str, example: &str) -> Result<T, Fault> {
    text.parse()
        .map_err(|_| Fault::new(format!("`{text}` is not a {what}"), format!("write it as in `{example}`")))
}

impl Editor<'_> {
    fn map(&self) -> &Map {
        &self.cluster.map
    }

    /// Finds an item by its name, by `type=name`, or a device by its number.
    fn item(&self, text: &str) -> Result<ItemId, Fault> {
        let (kind, name) = match text.split_once('=') {
            Some((kind, name)) => (Some(kind.trim()), name.trim()),
            None => (None, text.trim()),
        };
        let found = self.cluster.item(name).ok_or_else(|| self.no_item(name))?;
        let Some(kind) = kind else { return Ok(found) };
        let own = self.cluster.type_of(found);
        if own == kind {
            Ok(found)
        } else {
            Err(Fault::new(format!("`{name}` is of type {own}, not {kind}"), format!("write `{own}={name}`")))
        }
    }

    fn no_item(&self, name: &str) -> Fault {
        if self.before.item(name).is_some() {
            return Fault::new(
                format!("`{name}` is not in the map any more when this change is made"),
                "`after_map` and `remove` come first, and what is removed needs no other change: leave it out",
            );
        }
        let names = self.map().item_names.values().map(String::as_str).filter(|name| !name.contains('~'));
        let hint = names::hint(name, names);
        Fault::new(format!("there is no device or bucket called `{name}`"), hint)
    }

    fn devices_of(&self, text: &str) -> Result<Vec<ItemId>, Fault> {
        Ok(self.cluster.devices_below(self.item(text)?))
    }

    fn device(&self, text: &str) -> Result<ItemId, Fault> {
        let item = self.item(text)?;
        if item >= 0 {
            return Ok(item);
        }
        Err(Fault::new(format!("`{text}` is a bucket, not a device"), "name a device, such as osd.0"))
    }

    fn state_of(&mut self, device: ItemId) -> Result<&mut Device, Fault> {
        self.cluster.device_mut(device).ok_or_else(|| {
            Fault::new(
                format!("osd.{device} is in the map, but not in the osd dump"),
                "export both at the same time; only `remove` and `crush_reweight` work on such a device",
            )
        })
    }

    fn mark_out(&mut self, text: &str) -> Result<(), Fault> {
        for device in self.devices_of(text)? {
            let state = self.state_of(device)?;
            if state.weight == 0 {
                self.warnings.push(Warning::note(format!("osd.{device} is out already")));
                continue;
            }
            state.weight = 0;
        }
        self.words.push(format!("{text} out"));
        Ok(())
    }

    fn reweight(&mut self, text: &str) -> Result<(), Fault> {
        const EXAMPLE: &str = "osd.7=0.8";
        let (name, value) = assignment(text, EXAMPLE)?;
        let share: f64 = number(value, "number", EXAMPLE)?;
        if !(0.0..=1.0).contains(&share) {
            return Err(Fault::new(
                format!("the override is {value}, but overrides go from 0 to 1"),
                "for the weight in the map, usually the size in TiB, use `crush_reweight`",
            ));
        }
        let device = self.device(name)?;
        self.state_of(device)?.weight = (share * f64::from(FULL)).round() as u32;
        self.words.push(format!("{name} reweighted to {value}"));
        Ok(())
    }

    fn crush_reweight(&mut self, text: &str) -> Result<(), Fault> {
        const EXAMPLE: &str = "osd.7=3.2";
        let (name, value) = assignment(text, EXAMPLE)?;
        let weight: f32 = number(value, "number", EXAMPLE)?;
        let device = self.device(name)?;
        let name = self.cluster.crush_reweight(device, weight)?;
        self.words.push(format!("{name} of weight {value}"));
        Ok(())
    }

    /// Weighs devices nothing, so that their data leave while they still serve them, as `ceph orch osd rm`
    /// does.
    fn drain(&mut self, text: &str) -> Result<(), Fault> {
        for device in self.devices_of(text)? {
            self.cluster.crush_reweight(device, 0.0)?;
        }
        self.words.push(format!("{text} drained"));
        Ok(())
    }

    fn remove(&mut self, text: &str) -> Result<(), Fault> {
        let top = self.item(text)?;
        self.cluster.remove(top)?;
        self.words.push(format!("{text} removed"));
        Ok(())
    }

    fn add_host(&mut self, text: &str) -> Result<(), Fault> {
        let host = HostAsked::read(text)?;
        let class = self.class_of(&host)?;
        let place = self.place_of(&host)?;
        if let Some(taken) = self.map().item_id(host.name) {
            return Err(Fault::new(
                format!("`{}` is item {taken} of the map already", host.name),
                "choose another name",
            ));
        }
        let HostAsked { name, count, weight, .. } = host;
        let new = self.cluster.add_host(&NewHost { name, count, weight, class: class.as_deref(), place })?;
        self.words.push(format!("host {name} added with {}", device_list(&new)));
        Ok(())
    }

    /// The class of new devices: the given one, or the one that all devices have.
    fn class_of(&self, host: &HostAsked<'_>) -> Result<Option<String>, Fault> {
        if let Some(class) = host.class {
            return Ok(Some(class.to_owned()));
        }
        let map = self.map();
        let classes = self.cluster.classes();
        match classes[..] {
            [] => Ok(None),
            [one] => Ok(one.cloned()),
            _ => {
                let names: Vec<&str> = map.class_names.values().map(String::as_str).collect();
                Err(Fault::new(
                    format!("the devices of the map are of several classes: {}", names.join(", ")),
                    format!("set the class of the new devices: `{}:{}`", host.text, names[0]),
                ))
            }
        }
    }

    /// The location of a new host: the given one, or that of all other hosts.
    fn place_of(&self, host: &HostAsked<'_>) -> Result<(String, String), Fault> {
        let map = self.map();
        let kind = map.type_id("host").ok_or_else(|| {
            Fault::new(
                "the map has no type called `host`",
                "change the map itself, and give it as `after_map`",
            )
        })?;
        let parents: Vec<ItemId> = match host.place {
            Some(name) => vec![self.item(name)?],
            None => self.cluster.buckets_around(kind),
        };
        let name_of = |id: &ItemId| map.item_names.get(id).cloned().unwrap_or_default();
        match parents[..] {
            [parent] if parent < 0 => Ok((self.cluster.type_of(parent).to_owned(), name_of(&parent))),
            [_] => Err(Fault::new("a device holds no hosts", "name a bucket behind the `@`, such as a rack")),
            _ => {
                let names: Vec<String> = parents.iter().take(8).map(name_of).collect();
                Err(Fault::new(
                    "the hosts of the map are in several buckets, or in none".to_owned(),
                    format!(
                        "set its location, as in `{}@{}`",
                        host.text,
                        names.first().map_or("rack1", String::as_str)
                    ),
                ))
            }
        }
    }

    fn tunables(&mut self, profile: &str) -> Result<(), Fault> {
        let known = ["legacy", "argonaut", "bobtail", "firefly", "hammer", "jewel", "optimal", "default"];
        self.cluster.map.tunables = Tunables::named(profile).ok_or_else(|| {
            let hint = did_you_mean(profile, known.iter().copied())
                .unwrap_or_else(|| format!("the profiles are {}", known.join(", ")));
            Fault::new(format!("there is no profile called `{profile}`"), hint)
        })?;
        self.words.push(format!("tunables {profile}"));
        Ok(())
    }

    /// Finds a pool by its name or its id.
    fn pool_at(&self, name: &str) -> Result<usize, Fault> {
        let pools = &self.cluster.pools;
        let named = pools.iter().position(|pool| pool.name == name);
        named.or_else(|| pools.iter().position(|pool| pool.placed.id.to_string() == name)).ok_or_else(|| {
            let names: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
            let hint = did_you_mean(name, names.iter().copied())
                .unwrap_or_else(|| format!("the pools are {}", names.join(", ")));
            Fault::new(format!("there is no pool called `{name}`"), hint)
        })
    }

    fn pool(&mut self, name: &str) -> Result<&mut PoolState, Fault> {
        let at = self.pool_at(name)?;
        Ok(&mut self.cluster.pools[at])
    }

    fn pg_num(&mut self, text: &str) -> Result<(), Fault> {
        let (name, count) = groups_asked(text)?;
        let placed = self.pool(name)?.placed;
        // A pool that has more has them with a limit that was raised.
        if count > POOL_GROUPS_MAX.max(placed.pg_num) {
            return Err(too_many_groups(&count.to_string()));
        }
        // From 14 on a new number of groups is one of places too, where both were the same.
        let both = placed.pgp_num == placed.pg_num && count > placed.pg_num;
        if self.pool(name)?.set_pg_num(count) {
            self.warnings.push(Warning::note(format!(
                "`pgp_num` of pool `{name}` follows `pg_num` down to {count}: groups are moved together, then merged"
            )));
        }
        if both {
            self.pool(name)?.placed.pgp_num = count;
        }
        let name = self.pool(name)?.name.clone();
        self.words.push(format!("{name} with {count} groups"));
        Ok(())
    }

    fn pgp_num(&mut self, text: &str) -> Result<(), Fault> {
        let (name, count) = groups_asked(text)?;
        let pool = &mut self.pool(name)?.placed;
        if count > pool.pg_num {
            let hint = match count > POOL_GROUPS_MAX {
                true => format!("set at most {}", pool.pg_num),
                false => format!("raise `pg_num` too, at the same time or before: --pg-num {name}={count}"),
            };
            let groups = pool.pg_num;
            let message =
                format!("pool `{name}` has only {groups} groups, so its `pgp_num` cannot be {count}");
            return Err(Fault::new(message, hint));
        }
        pool.pgp_num = count;
        self.words.push(format!("{name} with pgp_num {count}"));
        Ok(())
    }

    fn rule(&mut self, text: &str) -> Result<(), Fault> {
        let (name, asked) = assignment(text, "rbd=replicated_rule")?;
        let at = self.pool_at(name)?;
        let id = rule_for(self.map(), &self.cluster.pools[at], asked).map_err(|error| {
            let near = did_you_mean(asked, self.map().rule_names.values().map(String::as_str));
            let near = near.filter(|_| matches!(error, RuleError::Unknown { .. }));
            let hint = near.map_or_else(|| error.hint(), |near| format!("{near} {}", error.hint()));
            Fault::new(error.to_string(), hint)
        })?;
        let rule = rule_name(self.map(), id);
        let pool = &mut self.cluster.pools[at].placed;
        if pool.rule == id {
            self.warnings.push(Warning::note(format!("pool `{name}` has rule `{rule}` already")));
        }
        pool.rule = id;
        self.words.push(format!("{name} with rule {rule}"));
        Ok(())
    }
}

impl Editor<'_> {
    /// A group and the devices behind it, as in `ceph osd pg-upmap 1.7 3 5 8`.
    fn group_and_devices(&self, text: &str, example: &str) -> Result<(PgId, Vec<ItemId>), Fault> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let wrong = || Fault::new(format!("`{name}` is no group"), format!("write it as in `{example}`"));
        let (pool, seed) = name.split_once('.').ok_or_else(wrong)?;
        let pool: i64 = pool.parse().map_err(|_| wrong())?;
        let seed = u32::from_str_radix(seed, 16).map_err(|_| wrong())?;
        let state = self.cluster.pools.iter().find(|state| state.placed.id == pool);
        if state.is_none_or(|state| seed >= state.placed.pg_num) {
            let ids: Vec<String> = self.cluster.pools.iter().map(|pool| pool.placed.id.to_string()).collect();
            return Err(Fault::new(
                format!("there is no group {name}"),
                format!(
                    "the pools are {}; behind the dot stands the group's number in hexadecimal",
                    ids.join(", ")
                ),
            ));
        }
        let devices = words.map(|word| self.device(word)).collect::<Result<Vec<ItemId>, Fault>>()?;
        Ok((PgId { pool, seed }, devices))
    }

    fn upmap(&mut self, text: &str) -> Result<(), Fault> {
        const EXAMPLE: &str = "1.7 osd.3 osd.5 osd.8";
        let (group, devices) = self.group_and_devices(text, EXAMPLE)?;
        if devices.is_empty() {
            return Err(Fault::new("it names no device", format!("write it as in `{EXAMPLE}`")));
        }
        self.cluster.overlay.upmap.insert(group, devices);
        self.words.push(format!("upmap {text}"));
        Ok(())
    }

    fn upmap_items(&mut self, text: &str) -> Result<(), Fault> {
        const EXAMPLE: &str = "1.7 osd.3 osd.5";
        let (group, devices) = self.group_and_devices(text, EXAMPLE)?;
        if devices.is_empty() {
            if self.cluster.overlay.upmap_items.remove(&group).is_none() {
                return Err(Fault::new(
                    format!("group {group} has no swaps to remove"),
                    format!("leave it out, or write the swaps that it is to have, as in `{EXAMPLE}`"),
                ));
            }
            self.words.push(format!("upmap-items of {group} removed"));
            return Ok(());
        }
        if devices.len() % 2 == 1 {
            return Err(Fault::new(
                format!("it names {} devices, but each swap has two: from and to", devices.len()),
                format!("write it as in `{EXAMPLE}`"),
            ));
        }
        let swaps = devices.chunks(2).map(|swap| (swap[0], swap[1])).collect();
        self.cluster.overlay.upmap_items.insert(group, swaps);
        self.words.push(format!("upmap-items {text}"));
        Ok(())
    }
}

/// `mon_max_pool_pg_num`, above which the monitors refuse a `pg_num`.
const POOL_GROUPS_MAX: u32 = 65_536;

fn groups_asked(text: &str) -> Result<(&str, u32), Fault> {
    const EXAMPLE: &str = "rbd=128";
    let (name, value) = assignment(text, EXAMPLE)?;
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let count: u32 = match value.parse::<u32>() {
        Err(_) if is_number => return Err(too_many_groups(value)),
        _ => number(value, "number of groups", EXAMPLE)?,
    };
    if count == 0 {
        return Err(Fault::new("a pool has at least 1 group", "write a number from 1"));
    }
    Ok((name, count))
}

fn too_many_groups(count: &str) -> Fault {
    Fault::new(
        format!("Ceph refuses {count} groups of a pool, more than {POOL_GROUPS_MAX} (`mon_max_pool_pg_num`)"),
        format!("set at most {POOL_GROUPS_MAX}"),
    )
}

/// A parsed text such as `h9=4x3.6:ssd@rack1`.
struct HostAsked<'t> {
    text: &'t str,
    name: &'t str,
    count: u32,
    weight: f32,
    class: Option<&'t str>,
    place: Option<&'t str>,
}

impl<'t> HostAsked<'t> {
    fn read(text: &'t str) -> Result<Self, Fault> {
        const EXAMPLE: &str = "h9=4x3.6:ssd@rack1";
        /// The maximum number of devices per host; more is taken for a mistake.
        const DEVICES_MAX: u32 = 1_000;
        let (rest, place) =
            text.split_once('@').map_or((text, None), |(rest, place)| (rest, Some(place.trim())));
        let (name, devices) = assignment(rest, EXAMPLE)?;
        let (devices, class) =
            devices.split_once(':').map_or((devices, None), |(devices, class)| (devices, Some(class.trim())));
        let (count, weight) = devices.split_once('x').ok_or_else(|| {
            Fault::new("it lacks the number and weight of the devices", format!("write it as in `{EXAMPLE}`"))
        })?;
        let count: u32 = number(count.trim(), "number of devices", EXAMPLE)?;
        if !(1..=DEVICES_MAX).contains(&count) {
            return Err(Fault::new(
                format!("a host cannot have {count} devices"),
                format!("set 1 to {DEVICES_MAX}"),
            ));
        }
        Ok(Self { text, name, count, weight: number(weight.trim(), "weight", EXAMPLE)?, class, place })
    }
}

fn check_groups(draft: &Draft, after: &Cluster) -> Problems {
    let mut problems = Problems::new();
    let groups: u64 = after.pools.iter().map(|pool| u64::from(pool.placed.pg_num)).sum();
    if groups > GROUPS_MAX {
        let message = format!("the pools would have {groups} groups, but the limit is {GROUPS_MAX}");
        problems.refuse(
            draft,
            "pg_num",
            message,
            format!("set `pg_num` so that all pools have at most {GROUPS_MAX}"),
        );
    }
    problems
}
