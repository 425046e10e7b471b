//! From statements to a map: looks up names, converts weights to fixed point, makes shadow trees.

use super::lex::{Place, Word};
use super::syntax::{
    self, BucketText, ChooseArgText, ChooseArgsText, Document, Head, ItemText, RuleText, StepText,
};
use super::{TextError, UNSAID_SIZES};
use crate::crush::bucket::{Alg, Bucket, BucketError, BucketSpec};
use crate::crush::check::{check, check_nesting};
use crate::crush::classes::{self, Kept};
use crate::crush::map::{
    BUCKET_SLOTS_MAX, ChooseArg, ChooseArgs, DEVICE_WEIGHT_MAX, ItemId, Map, RULE_SLOTS_MAX, Rule, Step,
    Tunables, slot_of,
};
use crate::crush::straw::to_u32;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum weight of a bucket in a text map: 65535.0 in 16.16 fixed point.
const BUCKET_WEIGHT_MAX: u32 = 65_535 * 0x1_0000;

/// The number of rule slots from which on Ceph adds no rule to a map.
const RULES_UNTIL: usize = 256;

/// Compiles a text map to the map that crushtool 16.2.15 makes from it.
pub fn compile(text: &str) -> Result<Map, TextError> {
    let document = syntax::parse(text)?;
    let mut compiler = Compiler::default();
    compiler.map.tunables = Tunables::LEGACY;
    for head in &document.heads {
        compiler.head(head)?;
    }
    compiler.reserve_ids(&document);
    for bucket in in_order(&document.buckets)? {
        compiler.bucket(bucket, &document)?;
    }
    let end = Place { line: 1, column: 1 };
    let whole = |fault: crate::crush::check::Fault| TextError::at(end, fault.to_string());
    if let Some(first) = document.rules.first() {
        check_nesting(&compiler.map).map_err(|fault| TextError::at(first.place, fault.to_string()))?;
        // As in Ceph, a missing shadow is an error only for a rule that takes its class.
        let _ = classes::populate(&mut compiler.map, &compiler.kept);
    }
    for rule in &document.rules {
        compiler.rule(rule)?;
    }
    for args in &document.choose_args {
        compiler.choose_args(args)?;
    }
    check(&compiler.map).map_err(whole)?;
    compiler.map.finalize();
    Ok(compiler.map)
}

/// Orders buckets as crushtool does: one pass over all pairs swaps two buckets if the first contains the
/// second. The pass goes by the positions in the text, so some orders are still wrong after it, and are
/// refused later.
fn in_order<'t, 'a>(buckets: &'t [BucketText<'a>]) -> Result<Vec<&'t BucketText<'a>>, TextError> {
    let places: BTreeMap<&str, usize> =
        buckets.iter().enumerate().map(|(at, bucket)| (bucket.name.text, at)).collect();
    let mut ordered: Vec<&BucketText<'_>> = buckets.iter().collect();
    for (at, bucket) in buckets.iter().enumerate() {
        // Sorted by position, not by item: the pass visits later buckets in the order of the text.
        let later: BTreeSet<usize> = bucket
            .items
            .iter()
            .filter_map(|item| places.get(item.name.text).copied())
            .filter(|&place| place > at)
            .collect();
        for place in later {
            let other = &buckets[place];
            if other.items.iter().any(|item| item.name.text == bucket.name.text) {
                let reason =
                    format!("bucket `{}` and bucket `{}` hold each other", bucket.name.text, other.name.text);
                return Err(TextError::at(other.name.place, reason).hint("remove one from the other"));
            }
            ordered.swap(places[bucket.name.text], place);
        }
    }
    Ok(ordered)
}

#[derive(Default)]
struct Compiler<'a> {
    map: Map,
    /// Ids of devices and buckets by name.
    items: BTreeMap<&'a str, ItemId>,
    types: BTreeMap<&'a str, i32>,
    rules: BTreeSet<&'a str>,
    /// Ids that must not be assigned to buckets without an id.
    taken: BTreeSet<ItemId>,
    /// The number of ids from -1 down that are known to be taken.
    passed: i32,
    /// Shadow ids given in the text.
    kept: Kept,
    bucket_weights: BTreeMap<ItemId, u32>,
}

impl<'a> Compiler<'a> {
    fn head(&mut self, head: &Head<'a>) -> Result<(), TextError> {
        match head {
            Head::Tunable { name, value } => self.tunable(name, *value),
            Head::Device { id, name, class } => self.device(*id, name, class.as_ref()),
            Head::Type { id, name } => {
                self.map.type_names.insert(*id, name.text.to_owned());
                self.types.insert(name.text, *id);
                Ok(())
            }
        }
    }

    fn tunable(&mut self, name: &Word<'_>, value: i32) -> Result<(), TextError> {
        let tunables = &mut self.map.tunables;
        let word = value as u32;
        match name.text {
            "choose_local_tries" => tunables.choose_local_tries = word,
            "choose_local_fallback_tries" => tunables.choose_local_fallback_tries = word,
            "choose_total_tries" => tunables.choose_total_tries = word,
            // A switch: crushtool keeps only whether the value is zero.
            "chooseleaf_descend_once" => tunables.chooseleaf_descend_once = u32::from(word != 0),
            "chooseleaf_vary_r" => tunables.chooseleaf_vary_r = word as u8,
            "chooseleaf_stable" => tunables.chooseleaf_stable = word as u8,
            "straw_calc_version" => tunables.straw_calc_version = word as u8,
            "allowed_bucket_algs" => tunables.allowed_bucket_algs = word,
            "msr_descents" => tunables.msr_descents = word,
            "msr_collision_tries" => tunables.msr_collision_tries = word,
            other => {
                return Err(TextError::at(name.place, format!("`{other}` is not a tunable"))
                    .hint("tunables are choose_local_tries, choose_local_fallback_tries, choose_total_tries, chooseleaf_descend_once, chooseleaf_vary_r, chooseleaf_stable, straw_calc_version, allowed_bucket_algs, msr_descents and msr_collision_tries"));
            }
        }
        Ok(())
    }

    fn device(&mut self, id: i32, name: &Word<'a>, class: Option<&Word<'_>>) -> Result<(), TextError> {
        if !(0..0x7fff_fffe).contains(&id) {
            return Err(TextError::at(
                name.place,
                format!("the id of device `{}` in 32 bits is {id}", name.text),
            )
            .hint("device ids go from 0 to 2147483645"));
        }
        if self.items.insert(name.text, id).is_some() {
            return Err(TextError::at(name.place, format!("item `{}` is defined twice", name.text))
                .hint("give each device a unique name"));
        }
        self.map.item_names.insert(id, name.text.to_owned());
        if let Some(class) = class {
            let class = self.map.class_id_or_new(class.text);
            self.map.item_classes.insert(id, class);
        }
        Ok(())
    }

    /// Reserves the id in the first `id` line of each bucket, even if it is a shadow's, so that buckets
    /// without an id do not get it.
    fn reserve_ids(&mut self, document: &Document<'_>) {
        self.taken
            .extend(document.buckets.iter().filter_map(|bucket| bucket.ids.first()).map(|line| line.id));
    }

    fn bucket(&mut self, text: &BucketText<'a>, document: &Document<'_>) -> Result<(), TextError> {
        let Some(&kind) = self.types.get(text.kind.text) else {
            return Err(TextError::at(
                text.kind.place,
                format!("bucket type `{}` is not defined", text.kind.text),
            )
            .hint(format!("add `type N {}` above the buckets", text.kind.text)));
        };
        if self.items.contains_key(text.name.text) {
            return Err(TextError::at(text.name.place, format!("`{}` is already defined", text.name.text))
                .hint("give each device and bucket a unique name"));
        }
        let Some(alg) = Alg::named(text.alg.text) else {
            return Err(TextError::at(
                text.alg.place,
                format!("there is no bucket algorithm `{}`", text.alg.text),
            )
            .hint("use uniform, list, tree, straw or straw2"));
        };
        let (given, shadows) = self.bucket_ids(text)?;
        let (items, weights) = self.bucket_items(text, alg, document)?;
        let id = match given {
            Some(id) => id,
            None => self.free_id(),
        };
        let straw_calc_version = self.map.tunables.straw_calc_version;
        let spec = BucketSpec { id, kind: kind as u16, alg, hash: text.hash as u8, straw_calc_version };
        let bucket = Bucket::new(spec, items, weights).map_err(|why| bucket_problem(text, why))?;
        if slot_of(id).is_none_or(|slot| slot >= BUCKET_SLOTS_MAX) {
            return Err(TextError::at(text.name.place, format!("bucket `{}` has id {id}", text.name.text))
                .hint(format!("ids go from -1 to -{BUCKET_SLOTS_MAX}")));
        }
        self.bucket_weights.insert(id, bucket.weight);
        if self.map.add_bucket(bucket).is_err() {
            return Err(TextError::at(
                text.name.place,
                format!("bucket `{}` has id {id}, which is in use", text.name.text),
            )
            .hint("give it another id, or leave the id out"));
        }
        if !shadows.is_empty() {
            self.kept.insert(id, shadows);
        }
        self.taken.insert(id);
        self.items.insert(text.name.text, id);
        self.map.item_names.insert(id, text.name.text.to_owned());
        Ok(())
    }

    /// The first id from -1 down that no bucket has or claims; ids are never released, so the search
    /// continues where it ended.
    fn free_id(&mut self) -> ItemId {
        while self.taken.contains(&(-1 - self.passed)) {
            self.passed += 1;
        }
        -1 - self.passed
    }

    fn bucket_ids(
        &mut self,
        text: &BucketText<'_>,
    ) -> Result<(Option<ItemId>, BTreeMap<i32, ItemId>), TextError> {
        let (mut id, mut shadows) = (None, BTreeMap::new());
        for line in &text.ids {
            let Some(class) = line.class else {
                id = (line.id != 0).then_some(line.id);
                continue;
            };
            if slot_of(line.id).is_none_or(|slot| slot >= BUCKET_SLOTS_MAX) {
                return Err(TextError::at(
                    line.place,
                    format!("a shadow of bucket `{}` has id {}", text.name.text, line.id),
                )
                .hint(format!("ids go from -1 to -{BUCKET_SLOTS_MAX}")));
            }
            let class_id = self.map.class_id_or_new(class.text);
            if shadows.insert(class_id, line.id).is_some() {
                return Err(TextError::at(
                    class.place,
                    format!("bucket `{}` has two ids for class `{}`", text.name.text, class.text),
                )
                .hint("remove one of them"));
            }
        }
        Ok((id, shadows))
    }

    fn bucket_items(
        &self,
        text: &BucketText<'_>,
        alg: Alg,
        document: &Document<'_>,
    ) -> Result<(Vec<ItemId>, Vec<u32>), TextError> {
        let size = text.items.len();
        let mut slots: Vec<Option<(ItemId, u32)>> = vec![None; size];
        let mut fixed = BTreeSet::new();
        for item in &text.items {
            if let Some((position, place)) = item.position {
                if usize::try_from(position).map_or(true, |position| position >= size) {
                    let reason =
                        format!("item `{}` has pos {position} in a bucket of {size} items", item.name.text);
                    return Err(TextError::at(place, reason).hint("positions count from 0"));
                }
                if !fixed.insert(position as usize) {
                    return Err(TextError::at(
                        place,
                        format!("item `{}` has pos {position}, which is in use", item.name.text),
                    )
                    .hint("give each item a unique position, or none"));
                }
            }
        }
        let mut free = (0..size).filter(|position| !fixed.contains(position));
        let mut uniform: Option<u32> = None;
        for item in &text.items {
            let id = self.item(item, text, document)?;
            let weight = self.weight(item, id)?;
            if alg == Alg::Uniform && *uniform.get_or_insert(weight) != weight {
                let place = item.weight.map_or(item.name.place, |weight| weight.1);
                return Err(TextError::at(
                    place,
                    format!(
                        "item `{}` of uniform bucket `{}` has another weight",
                        item.name.text, text.name.text
                    ),
                )
                .hint("all items of a uniform bucket need the same weight"));
            }
            let position = match item.position {
                Some((position, _)) => position as usize,
                None => free.next().expect("there are as many free positions as items without one"),
            };
            slots[position] = Some((id, weight));
        }
        Ok(slots.into_iter().map(|slot| slot.expect("every position was filled")).unzip())
    }

    fn item(
        &self,
        item: &ItemText<'_>,
        text: &BucketText<'_>,
        document: &Document<'_>,
    ) -> Result<ItemId, TextError> {
        self.items.get(item.name.text).copied().ok_or_else(|| {
            let why = TextError::at(
                item.name.place,
                format!("item `{}` of bucket `{}` is not defined", item.name.text, text.name.text),
            );
            match document.buckets.iter().find(|bucket| bucket.name.text == item.name.text) {
                Some(later) => why.hint(format!(
                    "move bucket `{}` from line {} above bucket `{}`",
                    item.name.text, later.name.place.line, text.name.text
                )),
                None => why.hint(format!("add `device N {}` or a bucket of that name", item.name.text)),
            }
        })
    }

    fn weight(&self, item: &ItemText<'_>, id: ItemId) -> Result<u32, TextError> {
        let Some((value, place)) = item.weight else {
            return Ok(self.bucket_weights.get(&id).copied().unwrap_or(0x1_0000));
        };
        let weight = fixed_point(value);
        let (what, limit) =
            if id >= 0 { ("device", DEVICE_WEIGHT_MAX) } else { ("bucket", BUCKET_WEIGHT_MAX) };
        // Ceph prints weights of buckets as signed numbers, and accepts what it prints.
        let printed_so = id < 0 && (-32_768.0..0.0).contains(&value);
        if weight > limit || (value < 0.0 && weight != 0 && !printed_so) {
            return Err(TextError::at(place, format!("{what} `{}` has weight {value}", item.name.text))
                .hint(format!("weights of {what}s go from 0 to {}", limit / 0x1_0000)));
        }
        Ok(weight)
    }

    fn rule(&mut self, text: &RuleText<'a>) -> Result<(), TextError> {
        if let Some(name) = text.name
            && !self.rules.insert(name.text)
        {
            return Err(TextError::at(name.place, format!("rule `{}` is already defined", name.text))
                .hint("give each rule a unique name"));
        }
        let id = text.id as u32 as usize;
        if id >= RULE_SLOTS_MAX || (id >= self.map.rules.len() && self.map.rules.len() >= RULES_UNTIL) {
            return Err(TextError::at(text.id_place, format!("rule id {id} is out of range"))
                .hint(format!("use ids below {RULES_UNTIL}")));
        }
        if self.map.rule(id).is_some() {
            return Err(
                TextError::at(text.id_place, format!("rule {id} already exists")).hint("give it another id")
            );
        }
        let steps = text.steps.iter().map(|step| self.step(step)).collect::<Result<_, _>>()?;
        let (min_size, max_size) = text.sizes.map_or(UNSAID_SIZES, |(min, max)| (min as u8, max as u8));
        if self.map.rules.len() <= id {
            self.map.rules.resize(id + 1, None);
        }
        self.map.rules[id] = Some(Rule { ruleset: id as u8, kind: text.kind, min_size, max_size, steps });
        if let Some(name) = text.name {
            self.map.rule_names.insert(id as i32, name.text.to_owned());
        }
        Ok(())
    }

    fn step(&self, step: &StepText<'_>) -> Result<Step, TextError> {
        Ok(match step {
            StepText::Noop => Step::Noop,
            StepText::Emit => Step::Emit,
            StepText::Set(setting, value) => Step::Set(*setting, *value),
            StepText::Take { item, class } => Step::Take(self.take(item, class.as_ref())?),
            StepText::Choose { mode, leaf, count, kind } => {
                Step::Choose { mode: *mode, leaf: *leaf, count: *count, kind: self.kind(kind)? }
            }
            StepText::ChooseMsr { count, kind } => Step::ChooseMsr { count: *count, kind: self.kind(kind)? },
        })
    }

    fn kind(&self, kind: &Word<'_>) -> Result<i32, TextError> {
        self.types.get(kind.text).copied().ok_or_else(|| {
            TextError::at(kind.place, format!("type `{}` is not defined", kind.text))
                .hint(format!("add `type N {}` above the buckets", kind.text))
        })
    }

    fn take(&self, item: &Word<'_>, class: Option<&Word<'_>>) -> Result<ItemId, TextError> {
        let Some(&id) = self.items.get(item.text) else {
            return Err(TextError::at(item.place, format!("item `{}` is not defined", item.text))
                .hint("use the name of a bucket or a device"));
        };
        let Some(class) = class else { return Ok(id) };
        let Some(class_id) = self.map.class_id(class.text) else {
            return Err(TextError::at(class.place, format!("no device has class `{}`", class.text)).hint(
                format!(
                    "classes are {}",
                    self.map.class_names.values().map(String::as_str).collect::<Vec<_>>().join(", ")
                ),
            ));
        };
        self.map.class_buckets.get(&id).and_then(|shadows| shadows.get(&class_id)).copied().ok_or_else(|| {
            TextError::at(
                class.place,
                format!("`{}` has no shadow bucket for class `{}`", item.text, class.text),
            )
            .hint("in Ceph 16.2 uniform buckets have no device classes: use straw2")
        })
    }

    fn choose_args(&mut self, text: &ChooseArgsText) -> Result<(), TextError> {
        let index = i64::from(text.index);
        if self.map.choose_args.contains_key(&index) {
            return Err(TextError::at(text.place, format!("choose_args {index} is already defined"))
                .hint("merge the two"));
        }
        let mut args = ChooseArgs::new();
        for arg in &text.args {
            let size = match self.map.bucket(arg.bucket) {
                Some(bucket) => bucket.items.len(),
                None => {
                    return Err(TextError::at(arg.place, format!("there is no bucket {}", arg.bucket))
                        .hint("choose_args name buckets by id"));
                }
            };
            let slot = (-1 - arg.bucket) as u32;
            let made = choose_arg(arg, size)?;
            // A second entry for a bucket replaces only the parts that it gives.
            let known: &mut ChooseArg = args.entry(slot).or_default();
            if let Some(ids) = made.1 {
                known.ids = ids;
            }
            if let Some(sets) = made.0 {
                known.weight_sets = sets;
            }
        }
        args.retain(|_, arg| !arg.weight_sets.is_empty() || !arg.ids.is_empty());
        self.map.choose_args.insert(index, args);
        Ok(())
    }
}

type Replaced = (Option<Vec<Vec<u32>>>, Option<Vec<i32>>);

fn choose_arg(text: &ChooseArgText, size: usize) -> Result<Replaced, TextError> {
    for (weights, place) in &text.weight_sets {
        if weights.len() != size {
            return Err(TextError::at(
                *place,
                format!("{} weights for bucket {} of {size} items", weights.len(), text.bucket),
            )
            .hint("give one weight per item"));
        }
    }
    if let Some(ids) = &text.ids
        && ids.len() != size
    {
        return Err(TextError::at(
            text.place,
            format!("{} ids for bucket {} of {size} items", ids.len(), text.bucket),
        )
        .hint("give one id per item"));
    }
    let sets: Vec<Vec<u32>> = text
        .weight_sets
        .iter()
        .map(|(weights, _)| weights.iter().map(|&weight| fixed_point(weight)).collect())
        .collect();
    Ok(((!sets.is_empty()).then_some(sets), text.ids.clone()))
}

/// Converts a weight to 16.16 fixed point, through single precision as in Ceph.
fn fixed_point(value: f32) -> u32 {
    to_u32(f64::from(value * 65_536.0))
}

fn bucket_problem(text: &BucketText<'_>, why: BucketError) -> TextError {
    let problem = TextError::at(text.name.place, format!("bucket `{}`: {why}", text.name.text));
    match why {
        BucketError::WeightOverflow => {
            problem.hint("weights are counted in 16.16 fixed point: use a larger unit")
        }
        BucketError::UniformZero => {
            problem.hint("crushtool crashes on it: give the items a weight, or use straw2")
        }
        BucketError::UniformMixed => problem.hint("use straw2"),
        BucketError::TreeTooLarge { .. } => problem.hint("use straw2, or two levels of buckets"),
    }
}
