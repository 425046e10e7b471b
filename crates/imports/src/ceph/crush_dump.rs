//! `ceph osd crush dump -f json`: a CRUSH map as JSON. It lacks straw lengths, which are computed anew.

use std::collections::BTreeMap;

use serde::Deserialize;
use towtank_placement::crush::{
    Alg, Bucket, BucketSpec, ChooseArg, Map, Mode, RULE_SLOTS_MAX, Rule, RuleKind, Setting, Step, Tunables,
    check, slot_of,
};

use crate::ImportError;

/// The fields of the dump.
#[derive(Deserialize)]
pub(super) struct CrushDump {
    devices: Vec<Device>,
    types: Vec<Type>,
    buckets: Vec<BucketEntry>,
    rules: Vec<RuleEntry>,
    tunables: TunablesEntry,
    #[serde(default)]
    choose_args: BTreeMap<String, Vec<ChooseArgEntry>>,
}

#[derive(Deserialize)]
struct Device {
    id: i32,
    name: String,
    class: Option<String>,
}

#[derive(Deserialize)]
struct Type {
    type_id: i32,
    name: String,
}

#[derive(Deserialize)]
struct BucketEntry {
    id: i32,
    name: String,
    type_id: u16,
    alg: String,
    hash: String,
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    id: i32,
    weight: u32,
    #[serde(default)]
    pos: u32,
}

#[derive(Deserialize)]
struct RuleEntry {
    rule_id: u32,
    rule_name: String,
    #[serde(rename = "type")]
    kind: u8,
    min_size: Option<u8>,
    max_size: Option<u8>,
    steps: Vec<StepEntry>,
}

#[derive(Deserialize)]
struct StepEntry {
    op: String,
    item: Option<i32>,
    num: Option<i32>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct TunablesEntry {
    choose_local_tries: u32,
    choose_local_fallback_tries: u32,
    choose_total_tries: u32,
    chooseleaf_descend_once: u32,
    chooseleaf_vary_r: u8,
    chooseleaf_stable: u8,
    straw_calc_version: u8,
    allowed_bucket_algs: u32,
    /// From Squid on.
    msr_descents: Option<u32>,
    msr_collision_tries: Option<u32>,
}

#[derive(Deserialize)]
struct ChooseArgEntry {
    bucket_id: i32,
    #[serde(default)]
    weight_set: Vec<Vec<f64>>,
    #[serde(default)]
    ids: Vec<i32>,
}

/// The place of an entry: a file and a key.
struct Place<'a> {
    file: &'a str,
    key: String,
}

impl Place<'_> {
    fn wrong(&self, reason: impl Into<String>) -> ImportError {
        ImportError::new(self.file, reason).key(self.key.clone())
    }
}

impl CrushDump {
    /// Converts the dump to a map. `prefix` is where in the file the dump begins.
    pub(super) fn map(&self, file: &str, prefix: &str) -> Result<Map, ImportError> {
        let place = |key: String| Place { file, key: format!("{prefix}{key}") };
        let mut map = Map { tunables: self.tunables.tunables(), ..Map::default() };
        map.type_names = self.types.iter().map(|kind| (kind.type_id, kind.name.clone())).collect();
        for (at, device) in self.devices.iter().enumerate() {
            if device.id < 0 {
                return Err(
                    place(format!("devices[{at}].id")).wrong(format!("{} is not a device", device.id))
                );
            }
            map.item_names.insert(device.id, device.name.clone());
            if let Some(class) = &device.class {
                let class = map.class_id_or_new(class);
                map.item_classes.insert(device.id, class);
            }
        }
        for (at, bucket) in self.buckets.iter().enumerate() {
            bucket.add_to(&mut map, &place(format!("buckets[{at}]")))?;
        }
        map.finalize();
        self.name_shadows(&mut map);
        for (at, rule) in self.rules.iter().enumerate() {
            rule.add_to(&mut map, &place(format!("rules[{at}]")))?;
        }
        self.add_choose_args(&mut map, &place("choose_args".to_owned()))?;
        check(&map).map_err(|fault| place("buckets".to_owned()).wrong(fault.to_string()))?;
        Ok(map)
    }

    /// Records shadow buckets: `root~ssd` holds the devices of class `ssd` below `root`.
    fn name_shadows(&self, map: &mut Map) {
        for bucket in &self.buckets {
            let Some((original, class)) = bucket.name.split_once('~') else { continue };
            let Some(original) = map.item_id(original) else { continue };
            let class = map.class_id_or_new(class);
            map.item_classes.insert(bucket.id, class);
            map.class_buckets.entry(original).or_default().insert(class, bucket.id);
        }
    }

    fn add_choose_args(&self, map: &mut Map, place: &Place<'_>) -> Result<(), ImportError> {
        for (index, entries) in &self.choose_args {
            let number: i64 =
                index.parse().map_err(|_| place.wrong(format!("{index:?} is not the index of a set")))?;
            for entry in entries {
                let slot = slot_of(entry.bucket_id).and_then(|slot| u32::try_from(slot).ok());
                let slot = slot.ok_or_else(|| place.wrong(format!("{} is not a bucket", entry.bucket_id)))?;
                let fixed =
                    |set: &Vec<f64>| set.iter().map(|weight| (weight * 65_536.0).round() as u32).collect();
                let arg = ChooseArg {
                    weight_sets: entry.weight_set.iter().map(fixed).collect(),
                    ids: entry.ids.clone(),
                };
                map.choose_args.entry(number).or_default().insert(slot, arg);
            }
        }
        Ok(())
    }
}

impl BucketEntry {
    fn add_to(&self, map: &mut Map, place: &Place<'_>) -> Result<(), ImportError> {
        let alg = Alg::named(&self.alg)
            .ok_or_else(|| place.wrong(format!("{:?} is not a bucket algorithm", self.alg)))?;
        if self.hash != "rjenkins1" {
            return Err(place.wrong(format!("{:?} is not a hash; Ceph has rjenkins1", self.hash)));
        }
        let mut items: Vec<&Item> = self.items.iter().collect();
        items.sort_by_key(|item| item.pos);
        let spec = BucketSpec {
            straw_calc_version: map.tunables.straw_calc_version,
            ..BucketSpec::new(self.id, self.type_id, alg)
        };
        let weights = items.iter().map(|item| item.weight).collect();
        let bucket = Bucket::new(spec, items.iter().map(|item| item.id).collect(), weights)
            .map_err(|error| place.wrong(error.to_string()))?;
        map.add_bucket(bucket)
            .map_err(|_| place.wrong(format!("{} is already used, or is not a bucket id", self.id)))?;
        map.item_names.insert(self.id, self.name.clone());
        Ok(())
    }
}

impl RuleEntry {
    fn add_to(&self, map: &mut Map, place: &Place<'_>) -> Result<(), ImportError> {
        let slot = self.rule_id as usize;
        if slot >= RULE_SLOTS_MAX {
            return Err(place.wrong(format!("{} is not a rule id", self.rule_id)));
        }
        let steps: Result<Vec<Step>, String> = self.steps.iter().map(|step| step.step(map)).collect();
        let rule = Rule {
            ruleset: self.rule_id as u8,
            kind: RuleKind::from_number(self.kind),
            // Quincy and later releases have no such limits.
            min_size: self.min_size.unwrap_or(1),
            max_size: self.max_size.unwrap_or(u8::MAX),
            steps: steps.map_err(|reason| place.wrong(reason))?,
        };
        if map.rules.len() <= slot {
            map.rules.resize(slot + 1, None);
        }
        if map.rules[slot].replace(rule).is_some() {
            return Err(place.wrong(format!("there are two rules {}", self.rule_id)));
        }
        map.rule_names.insert(self.rule_id as i32, self.rule_name.clone());
        Ok(())
    }
}

impl StepEntry {
    fn step(&self, map: &Map) -> Result<Step, String> {
        let setting =
            |setting| self.num.map(|value| Step::Set(setting, value)).ok_or_else(|| self.lacks("num"));
        Ok(match self.op.as_str() {
            "noop" => Step::Noop,
            "take" => Step::Take(self.item.ok_or_else(|| self.lacks("item"))?),
            "emit" => Step::Emit,
            "choose_firstn" => self.choose(map, Mode::Firstn, false)?,
            "choose_indep" => self.choose(map, Mode::Indep, false)?,
            "chooseleaf_firstn" => self.choose(map, Mode::Firstn, true)?,
            "chooseleaf_indep" => self.choose(map, Mode::Indep, true)?,
            "choosemsr" => {
                let (count, kind) = self.count_and_kind(map)?;
                Step::ChooseMsr { count, kind }
            }
            "set_msr_descents" => setting(Setting::MsrDescents)?,
            "set_msr_collision_tries" => setting(Setting::MsrCollisionTries)?,
            "set_choose_tries" => setting(Setting::ChooseTries)?,
            "set_chooseleaf_tries" => setting(Setting::ChooseleafTries)?,
            "set_choose_local_tries" => setting(Setting::ChooseLocalTries)?,
            "set_choose_local_fallback_tries" => setting(Setting::ChooseLocalFallbackTries)?,
            "set_chooseleaf_vary_r" => setting(Setting::ChooseleafVaryR)?,
            "set_chooseleaf_stable" => setting(Setting::ChooseleafStable)?,
            other => {
                return Err(format!(
                    "Towtank does not support the step {other:?}, and placements without it would be wrong"
                ));
            }
        })
    }

    fn lacks(&self, what: &str) -> String {
        format!("the step {:?} lacks its `{what}`", self.op)
    }

    fn choose(&self, map: &Map, mode: Mode, leaf: bool) -> Result<Step, String> {
        let (count, kind) = self.count_and_kind(map)?;
        Ok(Step::Choose { mode, leaf, count, kind })
    }

    fn count_and_kind(&self, map: &Map) -> Result<(i32, i32), String> {
        let name = self.kind.as_deref().ok_or_else(|| self.lacks("type"))?;
        let kind = map.type_id(name).ok_or_else(|| format!("{name:?} is not one of the types"))?;
        Ok((self.num.ok_or_else(|| self.lacks("num"))?, kind))
    }
}

impl TunablesEntry {
    fn tunables(&self) -> Tunables {
        let usual = Tunables::JEWEL;
        Tunables {
            msr_descents: self.msr_descents.unwrap_or(usual.msr_descents),
            msr_collision_tries: self.msr_collision_tries.unwrap_or(usual.msr_collision_tries),
            choose_local_tries: self.choose_local_tries,
            choose_local_fallback_tries: self.choose_local_fallback_tries,
            choose_total_tries: self.choose_total_tries,
            chooseleaf_descend_once: self.chooseleaf_descend_once,
            chooseleaf_vary_r: self.chooseleaf_vary_r,
            chooseleaf_stable: self.chooseleaf_stable,
            straw_calc_version: self.straw_calc_version,
            allowed_bucket_algs: self.allowed_bucket_algs,
        }
    }
}
