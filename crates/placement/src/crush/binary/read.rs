//! Reading the binary map.

use super::MAGIC;
use crate::crush::bucket::{Bucket, Shape};
use crate::crush::check::{self, Fault};
use crate::crush::map::{
    BUCKET_SLOTS_MAX, ChooseArg, ChooseArgs, Map, Mode, RULE_SLOTS_MAX, Rule, RuleKind, Setting, Step,
    Tunables, id_of,
};
use crate::crush::vring::VNODES;
use crate::crush::weight_sets;
use std::collections::BTreeMap;

/// Why bytes are not a valid map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BinaryError {
    /// The first word is not the magic number.
    #[error("not a binary CRUSH map: it starts with {found:#010x} instead of {MAGIC:#010x}")]
    Magic {
        /// The first word.
        found: u32,
    },
    /// The input ends too early.
    #[error("the map is cut short: {what} at byte {at} needs {needs} bytes, but only {left} are left")]
    Short {
        /// What was being read.
        what: &'static str,
        /// The offset in bytes.
        at: usize,
        /// The number of bytes needed.
        needs: u64,
        /// The number of bytes left.
        left: usize,
    },
    /// A value is invalid or not supported.
    #[error("{what} at byte {at} is {found}, {want}")]
    Value {
        /// What was being read.
        what: &'static str,
        /// The offset in bytes.
        at: usize,
        /// The value.
        found: String,
        /// The values that are allowed.
        want: &'static str,
    },
    /// The parts are valid, but contradict each other.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Reads a binary map of any Ceph release.
pub fn read(bytes: &[u8]) -> Result<Map, BinaryError> {
    let mut input = Reader { bytes, at: 0 };
    let found = input.u32("the magic number")?;
    if found != MAGIC {
        return Err(BinaryError::Magic { found });
    }
    let slots = input.slots("the number of bucket slots", BUCKET_SLOTS_MAX)?;
    let rules = input.slots("the number of rule slots", RULE_SLOTS_MAX)?;
    input.u32("the number of devices")?;
    let mut map = Map { tunables: Tunables::LEGACY, ..Map::default() };
    input.need("the bucket slots", slots as u64 * 4)?;
    map.buckets = (0..slots).map(|slot| input.bucket(slot)).collect::<Result<_, _>>()?;
    input.need("the rule slots", rules as u64 * 4)?;
    map.rules = (0..rules).map(|_| input.rule()).collect::<Result<_, _>>()?;
    map.type_names = input.names("type names", KeySize::Either)?;
    map.item_names = input.names("item names", KeySize::Either)?;
    map.rule_names = input.names("rule names", KeySize::Either)?;
    input.tunables(&mut map.tunables)?;
    if input.left() > 0 {
        input.classes(&mut map)?;
    }
    if input.left() > 0 {
        map.choose_args = input.choose_args(slots)?;
    }
    // Squid and later append the tunables of multi-step-retry rules.
    if input.left() == 8 {
        map.tunables.msr_descents = input.u32("msr_descents")?;
        map.tunables.msr_collision_tries = input.u32("msr_collision_tries")?;
    }
    if input.left() != 0 {
        let found = input.left().to_string();
        return input.refuse("the number of bytes after the map", found, "but must be 0 or 8");
    }
    weight_sets::normalize(&mut map);
    for args in map.choose_args.values_mut() {
        args.retain(|_, arg| !arg.weight_sets.is_empty() || !arg.ids.is_empty());
    }
    check::check(&map)?;
    map.finalize();
    Ok(map)
}

#[derive(Clone, Copy, PartialEq)]
enum KeySize {
    Four,
    /// Very old maps have eight-byte keys, whose upper half is read as a length of 0.
    Either,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn need(&self, what: &'static str, needs: u64) -> Result<(), BinaryError> {
        if needs > self.left() as u64 {
            return Err(BinaryError::Short { what, at: self.at, needs, left: self.left() });
        }
        Ok(())
    }

    fn refuse<T>(&self, what: &'static str, found: String, want: &'static str) -> Result<T, BinaryError> {
        Err(BinaryError::Value { what, at: self.at, found, want })
    }

    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], BinaryError> {
        self.need(what, N as u64)?;
        let taken = self.bytes[self.at..self.at + N].try_into().expect("the slice has that length");
        self.at += N;
        Ok(taken)
    }

    fn u8(&mut self, what: &'static str) -> Result<u8, BinaryError> {
        Ok(u8::from_le_bytes(self.take(what)?))
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, BinaryError> {
        Ok(u32::from_le_bytes(self.take(what)?))
    }

    fn i32(&mut self, what: &'static str) -> Result<i32, BinaryError> {
        Ok(i32::from_le_bytes(self.take(what)?))
    }

    fn slots(&mut self, what: &'static str, limit: usize) -> Result<usize, BinaryError> {
        let slots = self.u32(what)? as usize;
        if slots > limit {
            self.at -= 4;
            return self.refuse(what, slots.to_string(), "more than Towtank supports");
        }
        Ok(slots)
    }

    /// Reads a count of entries of at least `each` bytes, all of which must fit in the remaining input.
    fn count(&mut self, what: &'static str, each: u64) -> Result<usize, BinaryError> {
        let count = self.u32(what)?;
        self.need(what, u64::from(count) * each)?;
        Ok(count as usize)
    }

    fn words(&mut self, what: &'static str, count: usize) -> Result<Vec<u32>, BinaryError> {
        self.need(what, count as u64 * 4)?;
        (0..count).map(|_| self.u32(what)).collect()
    }

    fn pairs(&mut self, what: &'static str, count: usize) -> Result<(Vec<u32>, Vec<u32>), BinaryError> {
        let words = self.words(what, count.saturating_mul(2))?;
        Ok(words.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip())
    }

    fn bucket(&mut self, slot: usize) -> Result<Option<Box<Bucket>>, BinaryError> {
        let alg = self.u32("a bucket's algorithm")?;
        if alg == 0 {
            return Ok(None);
        }
        let id = self.i32("a bucket's id")?;
        if id != id_of(slot) {
            self.at -= 4;
            return self.refuse("a bucket's id", id.to_string(), "but its slot requires another");
        }
        let kind = u16::from_le_bytes(self.take("a bucket's type")?);
        let again = self.u8("a bucket's algorithm")?;
        if u32::from(again) != alg {
            self.at -= 1;
            return self.refuse("a bucket's algorithm", again.to_string(), "but differs from the one before");
        }
        let hash = self.u8("a bucket's hash")?;
        let weight = self.u32("a bucket's weight")?;
        let size = self.count("a bucket's size", 4)?;
        let items = self.words("a bucket's items", size)?.into_iter().map(|word| word as i32).collect();
        let shape = self.shape(again, size)?;
        Ok(Some(Box::new(Bucket { id, kind, hash, weight, items, shape })))
    }

    fn shape(&mut self, alg: u8, size: usize) -> Result<Shape, BinaryError> {
        Ok(match alg {
            1 => Shape::Uniform { item_weight: self.u32("a uniform bucket's item weight")? },
            2 => {
                let (weights, sums) = self.pairs("a list bucket's weights", size)?;
                Shape::List { weights, sums }
            }
            3 => {
                let nodes = self.u8("a tree bucket's node count")?;
                if size > 0 && !(nodes.is_power_of_two() && usize::from(nodes) / 2 >= size) {
                    self.at -= 1;
                    return self.refuse(
                        "a tree bucket's node count",
                        nodes.to_string(),
                        "which is not a power of two with a leaf for every item",
                    );
                }
                Shape::Tree { node_weights: self.words("a tree bucket's nodes", usize::from(nodes))? }
            }
            4 => {
                let (weights, straws) = self.pairs("a straw bucket's weights", size)?;
                Shape::Straw { weights, straws }
            }
            5 => Shape::Straw2 { weights: self.words("a straw2 bucket's weights", size)? },
            6 => {
                let vnodes = self.u32("a vring bucket's virtual nodes")?;
                if u64::from(vnodes) != VNODES {
                    self.at -= 4;
                    return self.refuse(
                        "a vring bucket's virtual nodes",
                        vnodes.to_string(),
                        "but must be 1024",
                    );
                }
                Shape::Vring { weights: self.words("a vring bucket's weights", size)? }
            }
            other => {
                return self.refuse(
                    "a bucket's algorithm",
                    other.to_string(),
                    "which is none of uniform (1), list (2), tree (3), straw (4), straw2 (5)",
                );
            }
        })
    }

    fn rule(&mut self) -> Result<Option<Rule>, BinaryError> {
        if self.u32("a rule's presence")? == 0 {
            return Ok(None);
        }
        let steps = self.u32("a rule's length")?;
        let [ruleset, kind, min_size, max_size] = self.take("a rule's mask")?;
        self.need("a rule's steps", u64::from(steps) * 12)?;
        let steps = (0..steps).map(|_| self.step()).collect::<Result<_, _>>()?;
        Ok(Some(Rule { ruleset, kind: RuleKind::from_number(kind), min_size, max_size, steps }))
    }

    fn step(&mut self) -> Result<Step, BinaryError> {
        let op = self.u32("a step's operation")?;
        let (arg1, arg2) = (self.i32("a step's argument")?, self.i32("a step's argument")?);
        let choose = |mode, leaf| Step::Choose { mode, leaf, count: arg1, kind: arg2 };
        Ok(match op {
            0 => Step::Noop,
            1 => Step::Take(arg1),
            2 => choose(Mode::Firstn, false),
            3 => choose(Mode::Indep, false),
            4 => Step::Emit,
            6 => choose(Mode::Firstn, true),
            7 => choose(Mode::Indep, true),
            16 => Step::ChooseMsr { count: arg1, kind: arg2 },
            _ => match Setting::ALL.iter().find(|row| row.1 == op) {
                Some(row) => Step::Set(row.0, arg1),
                None => {
                    self.at -= 12;
                    return self.refuse("a step's operation", op.to_string(), "which is unknown");
                }
            },
        })
    }

    fn names(&mut self, what: &'static str, keys: KeySize) -> Result<BTreeMap<i32, String>, BinaryError> {
        let count = self.count(what, 8)?;
        let mut names = BTreeMap::new();
        for _ in 0..count {
            let id = self.i32(what)?;
            let mut length = self.u32(what)?;
            if length == 0 && keys == KeySize::Either {
                length = self.u32(what)?;
            }
            if length == 0 {
                return self.refuse(what, "empty".to_owned(), "but names are never empty");
            }
            self.need(what, u64::from(length))?;
            let bytes = &self.bytes[self.at..self.at + length as usize];
            let Ok(name) = std::str::from_utf8(bytes) else {
                return self.refuse(what, String::from_utf8_lossy(bytes).into_owned(), "which is not UTF-8");
            };
            names.insert(id, name.to_owned());
            self.at += length as usize;
        }
        Ok(names)
    }

    /// Reads the tunables. Each group was added in some release, so the map may end before any of them.
    fn tunables(&mut self, tunables: &mut Tunables) -> Result<(), BinaryError> {
        if self.left() > 0 {
            tunables.choose_local_tries = self.u32("choose_local_tries")?;
            tunables.choose_local_fallback_tries = self.u32("choose_local_fallback_tries")?;
            tunables.choose_total_tries = self.u32("choose_total_tries")?;
        }
        if self.left() > 0 {
            tunables.chooseleaf_descend_once = self.u32("chooseleaf_descend_once")?;
        }
        if self.left() > 0 {
            tunables.chooseleaf_vary_r = self.u8("chooseleaf_vary_r")?;
        }
        if self.left() > 0 {
            tunables.straw_calc_version = self.u8("straw_calc_version")?;
        }
        if self.left() > 0 {
            tunables.allowed_bucket_algs = self.u32("allowed_bucket_algs")?;
        }
        if self.left() > 0 {
            tunables.chooseleaf_stable = self.u8("chooseleaf_stable")?;
        }
        Ok(())
    }

    fn classes(&mut self, map: &mut Map) -> Result<(), BinaryError> {
        for _ in 0..self.count("the device classes", 8)? {
            let item = self.i32("a device class")?;
            map.item_classes.insert(item, self.i32("a device class")?);
        }
        map.class_names = self.names("class names", KeySize::Four)?;
        for _ in 0..self.count("the shadow buckets", 8)? {
            let bucket = self.i32("a shadow bucket")?;
            let mut shadows = BTreeMap::new();
            for _ in 0..self.count("the shadows of a bucket", 8)? {
                let class = self.i32("a shadow bucket's class")?;
                shadows.insert(class, self.i32("a shadow bucket's id")?);
            }
            map.class_buckets.insert(bucket, shadows);
        }
        Ok(())
    }

    fn choose_args(&mut self, slots: usize) -> Result<BTreeMap<i64, ChooseArgs>, BinaryError> {
        let mut all = BTreeMap::new();
        for _ in 0..self.count("the choose_args", 12)? {
            let index = i64::from_le_bytes(self.take("a choose_args index")?);
            let mut args = ChooseArgs::new();
            for _ in 0..self.count("the buckets of choose_args", 12)? {
                let slot = self.u32("a choose_args bucket")?;
                if slot as usize >= slots {
                    self.at -= 4;
                    return self.refuse(
                        "a choose_args bucket",
                        slot.to_string(),
                        "past the last bucket slot",
                    );
                }
                args.insert(slot, self.choose_arg()?);
            }
            all.insert(index, args);
        }
        Ok(all)
    }

    fn choose_arg(&mut self) -> Result<ChooseArg, BinaryError> {
        let mut arg = ChooseArg::default();
        for _ in 0..self.count("the positions of a weight set", 4)? {
            let size = self.count("the weights of a weight set", 4)?;
            arg.weight_sets.push(self.words("a weight set", size)?);
        }
        let ids = self.count("the ids of choose_args", 4)?;
        arg.ids = self.words("the ids of choose_args", ids)?.into_iter().map(|id| id as i32).collect();
        Ok(arg)
    }
}
