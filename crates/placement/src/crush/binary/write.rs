//! Writing the binary map.

use super::MAGIC;
use crate::crush::bucket::{Bucket, Shape};
use crate::crush::map::{ChooseArg, Map, Mode, Rule, Setting, Step};
use crate::crush::vring::VNODES;
use std::collections::BTreeMap;

/// The binary form of a map, byte for byte as crushtool 16.2.15 writes it, with the tunables that Squid
/// appends if the map has multi-step-retry rules. (A `vring` bucket is our extension; crushtool refuses it.)
#[must_use]
pub fn write(map: &Map) -> Vec<u8> {
    let mut out = Writer(Vec::new());
    out.u32(MAGIC);
    out.u32(map.buckets.len() as u32);
    out.u32(map.rules.len() as u32);
    out.i32(map.max_devices);
    for bucket in &map.buckets {
        match bucket {
            Some(bucket) => out.bucket(bucket),
            None => out.u32(0),
        }
    }
    for rule in &map.rules {
        out.u32(u32::from(rule.is_some()));
        if let Some(rule) = rule {
            out.rule(rule);
        }
    }
    out.names(&map.type_names);
    out.names(&map.item_names);
    out.names(&map.rule_names);
    out.tunables(map);
    out.classes(map);
    out.choose_args(map);
    if map.needs_msr() {
        out.words(&[map.tunables.msr_descents, map.tunables.msr_collision_tries]);
    }
    out.0
}

/// The operation and arguments of a step.
pub(super) fn step_words(step: Step) -> (u32, i32, i32) {
    match step {
        Step::Noop => (0, 0, 0),
        Step::Take(item) => (1, item, 0),
        Step::Choose { mode, leaf, count, kind } => {
            let op = match (leaf, mode) {
                (false, Mode::Firstn) => 2,
                (false, Mode::Indep) => 3,
                (true, Mode::Firstn) => 6,
                (true, Mode::Indep) => 7,
            };
            (op, count, kind)
        }
        Step::Emit => (4, 0, 0),
        Step::ChooseMsr { count, kind } => (16, count, kind),
        Step::Set(setting, value) => {
            let row = Setting::ALL.iter().find(|row| row.0 == setting).expect("every setting has a row");
            (row.1, value, 0)
        }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn i32(&mut self, value: i32) {
        self.0.extend(value.to_le_bytes());
    }

    fn words(&mut self, values: &[u32]) {
        values.iter().for_each(|&value| self.u32(value));
    }

    fn bucket(&mut self, bucket: &Bucket) {
        let alg = bucket.alg().number();
        self.u32(u32::from(alg));
        self.i32(bucket.id);
        self.0.extend(bucket.kind.to_le_bytes());
        self.u8(alg);
        self.u8(bucket.hash);
        self.u32(bucket.weight);
        self.u32(bucket.items.len() as u32);
        bucket.items.iter().for_each(|&item| self.i32(item));
        match &bucket.shape {
            Shape::Uniform { item_weight } => self.u32(*item_weight),
            Shape::List { weights, sums: pairs } | Shape::Straw { weights, straws: pairs } => {
                for (&weight, &other) in weights.iter().zip(pairs) {
                    self.u32(weight);
                    self.u32(other);
                }
            }
            Shape::Tree { node_weights } => {
                self.u8(node_weights.len() as u8);
                self.words(node_weights);
            }
            Shape::Straw2 { weights } => self.words(weights),
            Shape::Vring { weights } => {
                self.u32(VNODES as u32);
                self.words(weights);
            }
        }
    }

    fn rule(&mut self, rule: &Rule) {
        self.u32(rule.steps.len() as u32);
        self.0.extend([rule.ruleset, rule.kind.number(), rule.min_size, rule.max_size]);
        for &step in &rule.steps {
            let (op, arg1, arg2) = step_words(step);
            self.u32(op);
            self.i32(arg1);
            self.i32(arg2);
        }
    }

    fn names(&mut self, names: &BTreeMap<i32, String>) {
        self.u32(names.len() as u32);
        for (&id, name) in names {
            self.i32(id);
            self.u32(name.len() as u32);
            self.0.extend(name.as_bytes());
        }
    }

    fn tunables(&mut self, map: &Map) {
        let tunables = &map.tunables;
        self.u32(tunables.choose_local_tries);
        self.u32(tunables.choose_local_fallback_tries);
        self.u32(tunables.choose_total_tries);
        self.u32(tunables.chooseleaf_descend_once);
        self.u8(tunables.chooseleaf_vary_r);
        self.u8(tunables.straw_calc_version);
        self.u32(tunables.allowed_bucket_algs);
        self.u8(tunables.chooseleaf_stable);
    }

    fn classes(&mut self, map: &Map) {
        self.u32(map.item_classes.len() as u32);
        for (&item, &class) in &map.item_classes {
            self.i32(item);
            self.i32(class);
        }
        self.names(&map.class_names);
        self.u32(map.class_buckets.len() as u32);
        for (&bucket, shadows) in &map.class_buckets {
            self.i32(bucket);
            self.u32(shadows.len() as u32);
            for (&class, &shadow) in shadows {
                self.i32(class);
                self.i32(shadow);
            }
        }
    }

    fn choose_args(&mut self, map: &Map) {
        self.u32(map.choose_args.len() as u32);
        for (&index, args) in &map.choose_args {
            self.0.extend(index.to_le_bytes());
            let is_set = |arg: &ChooseArg| !arg.is_empty();
            self.u32(args.values().filter(|arg| is_set(arg)).count() as u32);
            for (&slot, arg) in args.iter().filter(|(_, arg)| is_set(arg)) {
                self.u32(slot);
                self.u32(arg.weight_sets.len() as u32);
                for weights in &arg.weight_sets {
                    self.u32(weights.len() as u32);
                    self.words(weights);
                }
                self.u32(arg.ids.len() as u32);
                arg.ids.iter().for_each(|&id| self.i32(id));
            }
        }
    }
}
