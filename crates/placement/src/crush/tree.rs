//! Prints the hierarchy as a table, as `crushtool --tree` of Ceph 16.2.15 does: including shadow trees, items
//! ordered by class and name.

use super::map::{ChooseArgs, DEFAULT_CHOOSE_ARGS, ItemId, Map, slot_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

/// Writes the table.
pub fn tree(map: &Map, out: &mut dyn Write) -> fmt::Result {
    let mut rows = Rows { map, rows: vec![header(map)], widths: Vec::new() };
    for root in roots(map) {
        // Ceph treats the weight of a root as unsigned, that of an item as signed.
        let weight = map.bucket(root).map_or(0.0, |bucket| bucket.weight as f32 / 65_536.0);
        rows.item(Entry { id: root, weight, parent: None, depth: 0 });
    }
    rows.write(out)
}

/// Buckets without a parent, least id first, including shadows.
pub(super) fn roots(map: &Map) -> Vec<ItemId> {
    let held: BTreeSet<ItemId> =
        map.each_bucket().flat_map(|bucket| bucket.items.iter().copied()).filter(|&item| item < 0).collect();
    let mut roots: Vec<ItemId> =
        map.each_bucket().map(|bucket| bucket.id).filter(|id| !held.contains(id)).collect();
    roots.sort_unstable();
    roots
}

fn header(map: &Map) -> Vec<String> {
    let sets = map.choose_args.keys().map(|&index| match index {
        DEFAULT_CHOOSE_ARGS => "(compat)".to_owned(),
        index => index.to_string(),
    });
    let fixed = ["ID", "CLASS", "WEIGHT"].map(str::to_owned);
    fixed.into_iter().chain(sets).chain(["TYPE NAME".to_owned()]).collect()
}

#[derive(Clone, Copy)]
struct Entry {
    id: ItemId,
    weight: f32,
    parent: Option<ItemId>,
    depth: usize,
}

struct Rows<'a> {
    map: &'a Map,
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
}

impl Rows<'_> {
    fn item(&mut self, entry: Entry) {
        let map = self.map;
        let Entry { id, weight, parent, depth } = entry;
        let class = map.item_classes.get(&id).and_then(|class| map.class_names.get(class));
        let sets = map.choose_args.values().map(|args| set_weight(map, args, parent, id));
        let name = match map.bucket(id) {
            Some(bucket) => {
                let kind = i32::from(bucket.kind);
                let kind =
                    map.type_names.get(&kind).cloned().unwrap_or_else(|| format!("type{}", bucket.kind));
                format!("{kind} {}", name_of(map, id))
            }
            None => format!("osd.{id}"),
        };
        let first = [id.to_string(), class.cloned().unwrap_or_default(), Shown(weight).to_string()];
        let row = first.into_iter().chain(sets).chain([format!("{:1$}{name}", "", 4 * depth)]);
        self.rows.push(row.collect());
        for (child, weight) in children(map, id) {
            let weight = signed(weight);
            self.item(Entry { id: child, weight, parent: Some(id), depth: depth + 1 });
        }
    }

    /// Writes the rows. Headings are left-aligned, numbers right-aligned; the last column is padded too.
    fn write(mut self, out: &mut dyn Write) -> fmt::Result {
        for row in &self.rows {
            self.widths.resize(row.len(), 0);
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.len());
            }
        }
        let last = self.widths.len() - 1;
        for (number, row) in self.rows.iter().enumerate() {
            for (column, (cell, &width)) in row.iter().zip(&self.widths).enumerate() {
                if column > 0 {
                    out.write_str("  ")?;
                }
                if number == 0 || column == last {
                    write!(out, "{cell:<width$}")?;
                } else {
                    write!(out, "{cell:>width$}")?;
                }
            }
            out.write_char('\n')?;
        }
        Ok(())
    }
}

/// The items of a bucket with their weights: devices by class and number, buckets before them by name. An
/// item that occurs twice is listed once.
fn children(map: &Map, id: ItemId) -> Vec<(ItemId, u32)> {
    let Some(bucket) = map.bucket(id) else { return Vec::new() };
    let mut sorted = BTreeMap::new();
    for (position, &item) in bucket.items.iter().enumerate().rev() {
        let key = if item >= 0 {
            let class = map.item_classes.get(&item).and_then(|class| map.class_names.get(class));
            format!("{}_osd.{item:08}", class.map_or("", String::as_str))
        } else {
            format!("_{}", name_of(map, item))
        };
        sorted.insert(key, (item, bucket.item_weight(position)));
    }
    sorted.into_values().collect()
}

fn name_of(map: &Map, id: ItemId) -> String {
    map.item_names.get(&id).cloned().unwrap_or_else(|| format!("bucket{}", -1 - id))
}

/// The weight of an item in the first weight set of its bucket; empty if there is none.
fn set_weight(map: &Map, args: &ChooseArgs, parent: Option<ItemId>, id: ItemId) -> String {
    let weight = || {
        let bucket = map.bucket(parent?)?;
        let weights = args.get(&u32::try_from(slot_of(bucket.id)?).ok()?)?.weight_sets.first()?;
        weights.get(bucket.items.iter().position(|&item| item == id)?).copied()
    };
    weight().map_or(String::new(), |weight| Shown(weight as f32 / 65_536.0).to_string())
}

fn signed(weight: u32) -> f32 {
    weight as i32 as f32 / 65_536.0
}

/// A weight with five decimals; zero is printed as 0.
struct Shown(f32);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = self.0;
        if weight < -0.01 {
            f.write_str("-")
        } else if weight < 0.000_001 {
            f.write_str("0")
        } else {
            write!(f, "{:.5}", f64::from(weight))
        }
    }
}
