//! The content of a CRUSH map: devices, buckets, rules, tunables, names, device classes and weight sets.
//!
//! The fields are those of Ceph's binary map, so that reading and writing lose nothing. Item ids are signed
//! as in Ceph: zero and up is a device, a negative id is a bucket with the slot `-1 - id`.

use super::bucket::Bucket;
pub use super::bucket::ItemId;
use std::collections::BTreeMap;

/// The item that marks a hole in a result of `indep`.
pub const NONE: ItemId = 0x7fff_ffff;

/// The maximum device weight in a text map: 100.0 in 16.16 fixed point.
pub(super) const DEVICE_WEIGHT_MAX: u32 = 100 * 0x1_0000;

/// The maximum number of bucket slots of a map; Ceph's largest clusters use a few thousand, and each slot
/// takes memory.
pub(super) const BUCKET_SLOTS_MAX: usize = 1 << 22;

/// The maximum number of rule slots of a map. Ceph refuses new rules from 256 on, but a text map may use one
/// larger id.
pub const RULE_SLOTS_MAX: usize = 1 << 16;

/// The slot of a bucket id, or `None` for a device.
#[inline]
#[must_use]
pub fn slot_of(id: ItemId) -> Option<usize> {
    if id < 0 { Some((-1 - id) as usize) } else { None }
}

/// The bucket id of a slot.
#[inline]
#[must_use]
pub fn id_of(slot: usize) -> ItemId {
    -1 - slot as ItemId
}

/// A CRUSH map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// Buckets by slot: slot `i` holds id `-1 - i`.
    pub buckets: Vec<Option<Box<Bucket>>>,
    /// Rules by id.
    pub rules: Vec<Option<Rule>>,
    /// One more than the greatest device id in use or named; see [`Map::finalize`].
    pub max_devices: i32,
    /// The names of the bucket types.
    pub type_names: BTreeMap<i32, String>,
    /// The names of devices and buckets; shadow buckets are named `name~class`.
    pub item_names: BTreeMap<ItemId, String>,
    /// The names of the rules.
    pub rule_names: BTreeMap<i32, String>,
    /// The limits and variants of the mapping.
    pub tunables: Tunables,
    /// The device class of each item that has one.
    pub item_classes: BTreeMap<ItemId, i32>,
    /// The names of the device classes.
    pub class_names: BTreeMap<i32, String>,
    /// For each bucket and class, the shadow bucket with only the items of that class.
    pub class_buckets: BTreeMap<ItemId, BTreeMap<i32, ItemId>>,
    /// Weight sets and ids that replace the buckets' own, by pool; [`DEFAULT_CHOOSE_ARGS`] applies to pools
    /// without their own.
    pub choose_args: BTreeMap<i64, ChooseArgs>,
}

/// The index of the set of [`ChooseArgs`] for every pool without its own.
pub(super) const DEFAULT_CHOOSE_ARGS: i64 = -1;

/// One set of replaced weights and ids, by bucket slot.
pub type ChooseArgs = BTreeMap<u32, ChooseArg>;

/// Replacements for the weights and ids of one straw2 bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChooseArg {
    /// Weights by position in the result; positions beyond the last set use the last.
    pub weight_sets: Vec<Vec<u32>>,
    /// Ids to hash instead of the items' own; empty to keep those.
    pub ids: Vec<i32>,
}

impl ChooseArg {
    /// Whether it replaces nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weight_sets.is_empty() && self.ids.is_empty()
    }
}

/// The limits of a mapping, and switches for its behaviour in different releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunables {
    /// Retries in the same bucket after a collision.
    pub choose_local_tries: u32,
    /// Retries by permutation in the same bucket; 0 disables permutation.
    pub choose_local_fallback_tries: u32,
    /// Retries from the top; the number of tries is one more.
    pub choose_total_tries: u32,
    /// 1: the descent to a leaf is tried once, and a failure restarts from the top.
    pub chooseleaf_descend_once: u32,
    /// 0: the descent to a leaf starts at attempt 0; n: at the parent's attempt shifted right by n - 1.
    pub chooseleaf_vary_r: u8,
    /// 1: a leaf does not depend on the number of replicas before it.
    pub chooseleaf_stable: u8,
    /// The version of the formula for straw lengths: 0 or 1.
    pub straw_calc_version: u8,
    /// A bit mask of the bucket algorithms that Ceph lets operators create; no effect on a mapping.
    pub allowed_bucket_algs: u32,
    /// Passes over a block of a multi-step-retry rule, which releases from Squid on have.
    pub msr_descents: u32,
    /// Draws of one item in such a pass until one collides with none.
    pub msr_collision_tries: u32,
}

impl Tunables {
    /// The values of argonaut, which are the defaults of every text map.
    pub(super) const LEGACY: Self = Self {
        choose_local_tries: 2,
        choose_local_fallback_tries: 5,
        choose_total_tries: 19,
        chooseleaf_descend_once: 0,
        chooseleaf_vary_r: 0,
        chooseleaf_stable: 0,
        straw_calc_version: 0,
        allowed_bucket_algs: 22,
        msr_descents: 100,
        msr_collision_tries: 100,
    };
    /// The values of bobtail.
    pub(super) const BOBTAIL: Self = Self {
        choose_local_tries: 0,
        choose_local_fallback_tries: 0,
        choose_total_tries: 50,
        chooseleaf_descend_once: 1,
        ..Self::LEGACY
    };
    /// The values of firefly.
    pub(super) const FIREFLY: Self = Self { chooseleaf_vary_r: 1, ..Self::BOBTAIL };
    /// The values of hammer.
    pub(super) const HAMMER: Self = Self { allowed_bucket_algs: 54, ..Self::FIREFLY };
    /// The values of jewel, which are those of new clusters.
    pub const JEWEL: Self = Self { chooseleaf_stable: 1, straw_calc_version: 1, ..Self::HAMMER };

    /// The profile with this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "legacy" | "argonaut" => Some(Self::LEGACY),
            "bobtail" => Some(Self::BOBTAIL),
            "firefly" => Some(Self::FIREFLY),
            "hammer" => Some(Self::HAMMER),
            "jewel" | "optimal" | "default" => Some(Self::JEWEL),
            _ => None,
        }
    }
}

impl Default for Tunables {
    fn default() -> Self {
        Self::LEGACY
    }
}

/// A placement rule: its steps, and the pools for which it is intended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The low eight bits of the id; older releases distinguished rule sets from rules.
    pub ruleset: u8,
    /// The kind of pool that the rule serves.
    pub kind: RuleKind,
    /// The minimum number of replicas for which the rule is intended; no effect on a mapping.
    pub min_size: u8,
    /// The maximum number of replicas for which the rule is intended; no effect on a mapping.
    pub max_size: u8,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// The kind of pool that a rule serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// Replicated pools.
    Replicated,
    /// Erasure-coded pools.
    Erasure,
    /// Replicated pools, by multi-step retry: `msr_firstn`.
    MsrFirstn,
    /// Erasure-coded pools, by multi-step retry: `msr_indep`.
    MsrIndep,
    /// A number that Ceph does not define, preserved unchanged.
    Other(u8),
}

impl RuleKind {
    /// The number in the binary map.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Replicated => 1,
            Self::Erasure => 3,
            Self::MsrFirstn => 4,
            Self::MsrIndep => 5,
            Self::Other(number) => number,
        }
    }

    /// The kind with this number in the binary map.
    #[must_use]
    pub fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Replicated,
            3 => Self::Erasure,
            4 => Self::MsrFirstn,
            5 => Self::MsrIndep,
            other => Self::Other(other),
        }
    }

    /// How a multi-step-retry rule orders what it finds; `None` for any other rule.
    #[must_use]
    pub fn msr_mode(self) -> Option<Mode> {
        match self {
            Self::MsrFirstn => Some(Mode::Firstn),
            Self::MsrIndep => Some(Mode::Indep),
            Self::Replicated | Self::Erasure | Self::Other(_) => None,
        }
    }

    /// Whether a rule of this kind serves pools of `pool`, as Ceph 19 and later decide it.
    #[must_use]
    pub fn serves(self, pool: RuleKind) -> bool {
        match self {
            Self::MsrFirstn => pool == Self::Replicated,
            Self::MsrIndep => pool == Self::Erasure,
            Self::Replicated | Self::Erasure | Self::Other(_) => pool == self,
        }
    }
}

/// How a step picks several items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The first items that fit: a failed one is left out and the rest move up.
    Firstn,
    /// Each position independently: a failed one leaves a hole.
    Indep,
}

/// One step of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Does nothing.
    Noop,
    /// Starts from one item.
    Take(ItemId),
    /// Picks `count` items of type `kind` below each current item; with `leaf`, one device below each of
    /// them.
    Choose {
        /// How failures appear in the result.
        mode: Mode,
        /// Whether to continue to a device below each picked item.
        leaf: bool,
        /// The number of items; 0 means as many as requested, a negative number that many fewer.
        count: i32,
        /// The type to pick.
        kind: i32,
    },
    /// Splits the positions of a multi-step-retry rule among `count` items of type `kind`.
    ChooseMsr {
        /// The number of items; 0 means as many as requested.
        count: i32,
        /// The type to pick.
        kind: i32,
    },
    /// Appends the current items to the result.
    Emit,
    /// Overrides a tunable for the rest of the rule.
    Set(Setting, i32),
}

/// A tunable that a step may override.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The number of tries from the top.
    ChooseTries,
    /// The number of tries below the picked item.
    ChooseleafTries,
    /// See [`Tunables::choose_local_tries`].
    ChooseLocalTries,
    /// See [`Tunables::choose_local_fallback_tries`].
    ChooseLocalFallbackTries,
    /// See [`Tunables::chooseleaf_vary_r`].
    ChooseleafVaryR,
    /// See [`Tunables::chooseleaf_stable`].
    ChooseleafStable,
    /// See [`Tunables::msr_descents`].
    MsrDescents,
    /// See [`Tunables::msr_collision_tries`].
    MsrCollisionTries,
}

impl Setting {
    /// Every setting, with its number in the binary map and its name in the text map.
    pub(super) const ALL: [(Self, u32, &'static str); 8] = [
        (Self::ChooseTries, 8, "set_choose_tries"),
        (Self::ChooseleafTries, 9, "set_chooseleaf_tries"),
        (Self::ChooseLocalTries, 10, "set_choose_local_tries"),
        (Self::ChooseLocalFallbackTries, 11, "set_choose_local_fallback_tries"),
        (Self::ChooseleafVaryR, 12, "set_chooseleaf_vary_r"),
        (Self::ChooseleafStable, 13, "set_chooseleaf_stable"),
        (Self::MsrDescents, 14, "set_msr_descents"),
        (Self::MsrCollisionTries, 15, "set_msr_collision_tries"),
    ];

    /// Whether it holds for multi-step-retry rules, and for no others.
    pub(super) fn is_msr(self) -> bool {
        matches!(self, Self::MsrDescents | Self::MsrCollisionTries)
    }

    /// The setting's entry in [`Setting::ALL`].
    pub(super) fn row(self) -> (Self, u32, &'static str) {
        Self::ALL[self as usize]
    }
}

impl Map {
    /// The bucket with this id.
    #[inline]
    #[must_use]
    pub fn bucket(&self, id: ItemId) -> Option<&Bucket> {
        self.buckets.get(slot_of(id)?)?.as_deref()
    }

    /// The rule with this id.
    #[must_use]
    pub fn rule(&self, id: usize) -> Option<&Rule> {
        self.rules.get(id)?.as_ref()
    }

    /// The id of the item with this name; of several, the greatest, as in Ceph.
    #[must_use]
    pub fn item_id(&self, name: &str) -> Option<ItemId> {
        self.item_names.iter().rev().find(|(_, known)| *known == name).map(|(&id, _)| id)
    }

    /// The id of the type with this name; of several, the greatest, as in Ceph.
    #[must_use]
    pub fn type_id(&self, name: &str) -> Option<i32> {
        self.type_names.iter().rev().find(|(_, known)| *known == name).map(|(&id, _)| id)
    }

    /// The id of the device class with this name.
    #[must_use]
    pub(super) fn class_id(&self, name: &str) -> Option<i32> {
        self.class_names.iter().find(|(_, known)| *known == name).map(|(&id, _)| id)
    }

    /// The id of the device class with this name; the class is added if it does not exist.
    pub fn class_id_or_new(&mut self, name: &str) -> i32 {
        self.class_id(name).unwrap_or_else(|| {
            let id = self.class_names.last_key_value().map_or(0, |(&last, _)| last.saturating_add(1));
            self.class_names.insert(id, name.to_owned());
            id
        })
    }

    /// Whether only Squid and later releases understand the map: it has a multi-step-retry rule, or sets the
    /// tunables of such rules.
    pub(super) fn needs_msr(&self) -> bool {
        let is_msr = |rule: &Rule| rule.kind.msr_mode().is_some();
        let (ours, usual) = (&self.tunables, &Tunables::LEGACY);
        (ours.msr_descents, ours.msr_collision_tries) != (usual.msr_descents, usual.msr_collision_tries)
            || self.rules.iter().flatten().any(is_msr)
    }

    /// All buckets, in the order of their slots.
    pub fn each_bucket(&self) -> impl Iterator<Item = &Bucket> {
        self.buckets.iter().flatten().map(AsRef::as_ref)
    }

    /// The choose args that pool `index` uses: its own, the default, or `None`.
    #[must_use]
    pub fn choose_args_for(&self, index: i64) -> Option<&ChooseArgs> {
        self.choose_args.get(&index).or_else(|| self.choose_args.get(&DEFAULT_CHOOSE_ARGS))
    }

    /// Puts a bucket into the slot of its id; the number of slots doubles from 8, which is visible in the
    /// binary map. Returns the bucket if the slot is taken or not below [`BUCKET_SLOTS_MAX`].
    pub fn add_bucket(&mut self, bucket: Bucket) -> Result<(), Bucket> {
        let Some(slot) = slot_of(bucket.id).filter(|&slot| slot < BUCKET_SLOTS_MAX) else {
            return Err(bucket);
        };
        while self.buckets.len() <= slot {
            let slots = if self.buckets.is_empty() { 8 } else { self.buckets.len() * 2 };
            self.buckets.resize(slots, None);
        }
        match &mut self.buckets[slot] {
            Some(_) => Err(bucket),
            empty => {
                *empty = Some(Box::new(bucket));
                Ok(())
            }
        }
    }

    /// Recomputes [`Map::max_devices`], as Ceph does after a map was read or changed, and drops what is not
    /// written: entries of [`Map::choose_args`] that replace nothing.
    pub fn finalize(&mut self) {
        self.choose_args.values_mut().for_each(|args| args.retain(|_, arg| !arg.is_empty()));
        let used = self.each_bucket().flat_map(|bucket| bucket.items.iter().copied()).max().unwrap_or(-1);
        let named = self.item_names.last_key_value().map_or(-1, |(&last, _)| last);
        self.max_devices = used.max(named).max(-1).saturating_add(1);
    }
}
