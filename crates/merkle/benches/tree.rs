//! How many leaf updates per second a tree takes, and how long it takes to settle, compare, encode and decode
//! trees, and to decode the differences from sketches.
//!
//! `cargo bench -p towtank-merkle -- [runs] [part of a case's name]`. Where the system reports it (Linux:
//! `/proc/self/schedstat`), times are processor time, so that other work on the machine matters less;
//! elsewhere they are wall-clock time.

use std::hint::black_box;
use std::time::Instant;

use towtank_merkle::{
    Bitmap, Decoder, ObjectId, Outcome, Position, PositionRange, Shape, Sketch, SkipSet, Subspace, Tree,
    Version,
};

/// The base-2 logarithm of the number of leaves that the thesis settles on.
const LEAF_BITS: u8 = 14;
/// Objects that are updated one after the other; more than leaves, so that all leaves are hit in no
/// particular order.
const OBJECTS: u64 = 1 << 16;

/// A case: its name, the amount of work in one repetition, the unit, and the work itself.
struct Case {
    name: &'static str,
    amount: f64,
    unit: Unit,
    work: Box<dyn FnMut()>,
}

#[derive(Clone, Copy)]
enum Unit {
    /// Millions per second.
    Millions,
    /// Microseconds per item.
    Micros,
    /// Gigabytes (10^9 bytes) per second.
    Gigabytes,
}

fn shape(leaf_bits: u8) -> Shape {
    Shape::new(Subspace::WHOLE, leaf_bits).expect("few enough leaves")
}

fn hash_of(object: u64) -> u32 {
    (object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 21) as u32
}

/// A tree of objects, each in its first version.
fn tree(leaf_bits: u8, objects: u64) -> Tree {
    let mut tree = Tree::new(shape(leaf_bits));
    (0..objects).for_each(|object| tree.update(hash_of(object), ObjectId(object), None, Some(Version(1))));
    tree.settle();
    tree
}

fn updates(name: &'static str, mut tree: Tree, update: impl Fn(&mut Tree, u64, u64) + 'static) -> Case {
    let mut version = 0;
    let work = move || {
        version += 1;
        (0..OBJECTS).for_each(|object| update(&mut tree, object, version));
        black_box(&mut tree);
    };
    Case { name, amount: OBJECTS as f64, unit: Unit::Millions, work: Box::new(work) }
}

fn late(tree: &mut Tree, object: u64, version: u64) {
    tree.update(hash_of(object), ObjectId(object), Some(Version(version)), Some(Version(version + 1)));
}

fn at_once(tree: &mut Tree, object: u64, version: u64) {
    tree.update_at_once(
        hash_of(object),
        ObjectId(object),
        Some(Version(version)),
        Some(Version(version + 1)),
    );
}

fn settles(name: &'static str, changes: u64) -> Case {
    let mut tree = tree(LEAF_BITS, OBJECTS);
    let mut version = 0;
    let work = move || {
        version += 1;
        (0..changes).for_each(|object| late(&mut tree, object, version));
        black_box(tree.settle().root());
    };
    Case { name, amount: 1.0, unit: Unit::Micros, work: Box::new(work) }
}

/// Compares two settled trees of which `differing` leaves differ, evenly spaced.
fn differences(name: &'static str, differing: usize) -> Case {
    let (mut ours, mut theirs) = (tree(LEAF_BITS, OBJECTS), tree(LEAF_BITS, OBJECTS));
    let leaves = ours.shape().leaves();
    for leaf in (0..leaves).step_by(leaves / differing) {
        let at = ours.shape().positions_of(leaf, leaf).first;
        ours.update(at.hash(), ObjectId(1 << 40), None, Some(Version(1)));
    }
    let work = move || {
        black_box(ours.settle().difference(&theirs.settle())).expect("they have one shape");
    };
    Case { name, amount: 1.0, unit: Unit::Micros, work: Box::new(work) }
}

fn encodes(name: &'static str, leaf_bits: u8) -> Case {
    let tree = tree(leaf_bits, OBJECTS);
    let amount = tree.encode().len() as f64;
    let work = move || {
        black_box(tree.encode());
    };
    Case { name, amount, unit: Unit::Gigabytes, work: Box::new(work) }
}

/// The baseline for encoding: copies the same bytes without a checksum.
fn copies(name: &'static str, leaf_bits: u8) -> Case {
    let bytes = tree(leaf_bits, OBJECTS).encode();
    let amount = bytes.len() as f64;
    let work = move || {
        black_box(black_box(&bytes).clone());
    };
    Case { name, amount, unit: Unit::Gigabytes, work: Box::new(work) }
}

fn decodes(name: &'static str, leaf_bits: u8) -> Case {
    let bytes = tree(leaf_bits, OBJECTS).encode();
    let amount = bytes.len() as f64;
    let work = move || {
        black_box(Tree::decode(&bytes)).expect("it was encoded");
    };
    Case { name, amount, unit: Unit::Gigabytes, work: Box::new(work) }
}

fn sketch_updates(name: &'static str, cells: usize) -> Case {
    let mut sketch = Sketch::new(cells);
    let mut version = 0;
    let work = move || {
        version += 1;
        for object in 0..OBJECTS / 16 {
            let (old, new) = (Some(Version(version)), Some(Version(version + 1)));
            sketch.update(hash_of(object), ObjectId(object), old, new);
        }
        black_box(&mut sketch);
    };
    Case { name, amount: (OBJECTS / 16) as f64, unit: Unit::Millions, work: Box::new(work) }
}

/// Decodes `differing` objects whose versions differ, from cells with an eighth in reserve.
fn sketch_decodes(name: &'static str, differing: u64) -> Case {
    let cells = (differing as f64 * 1.4 * 1.125) as usize;
    let sketch = |version: u64| {
        let mut sketch = Sketch::new(cells);
        for object in 0..OBJECTS {
            let version = if object < differing { version } else { 1 };
            sketch.update(hash_of(object), ObjectId(object), None, Some(Version(version)));
        }
        sketch
    };
    let (ours, theirs) = (sketch(2), sketch(1));
    let work = move || {
        let mut decoder = Decoder::new();
        decoder.extend(ours.cells(), theirs.cells());
        assert_eq!(decoder.outcome(), Outcome::Complete);
        assert_eq!(black_box(decoder.objects()).len() as u64, differing);
    };
    Case { name, amount: 1.0, unit: Unit::Micros, work: Box::new(work) }
}

/// A set that skips every other leaf of 2^14.
fn chequered() -> SkipSet {
    let mut skipped = SkipSet::new();
    let shape = shape(LEAF_BITS);
    (0..shape.leaves()).step_by(2).for_each(|leaf| skipped.insert(shape.positions_of(leaf, leaf)));
    skipped
}

fn skips(name: &'static str, skipped: SkipSet) -> Case {
    let work = move || {
        let looked_at = (0..OBJECTS).filter(|object| !skipped.contains(Position(hash_of(*object)))).count();
        black_box(looked_at);
    };
    Case { name, amount: OBJECTS as f64, unit: Unit::Millions, work: Box::new(work) }
}

fn sweeps(name: &'static str, skipped: SkipSet) -> Case {
    let work = move || {
        let mut cursor = skipped.cursor();
        let positions = (0..OBJECTS).map(|object| Position((object << 16) as u32));
        black_box(positions.filter(|at| !cursor.skips(*at)).count());
    };
    Case { name, amount: OBJECTS as f64, unit: Unit::Millions, work: Box::new(work) }
}

/// Writes open the leaves of a set that skips everything, until nothing can be skipped.
fn opens(name: &'static str) -> Case {
    let work = || {
        let mut skipped = SkipSet::all_but(PositionRange::ALL, &[]);
        (0..OBJECTS).for_each(|object| skipped.open_leaf(shape(LEAF_BITS), Position(hash_of(object))));
        black_box(skipped.len());
    };
    Case { name, amount: OBJECTS as f64, unit: Unit::Millions, work: Box::new(work) }
}

/// Each write sets a bit of a bitmap.
fn marks(name: &'static str) -> Case {
    let mut bitmap = Bitmap::new(shape(LEAF_BITS));
    let work = move || {
        (0..OBJECTS).for_each(|object| bitmap.mark(black_box(hash_of(object))));
        black_box(bitmap.marked());
    };
    Case { name, amount: OBJECTS as f64, unit: Unit::Millions, work: Box::new(work) }
}

fn cases() -> Vec<Case> {
    vec![
        updates("leaf updates, 2^14 leaves", tree(LEAF_BITS, OBJECTS), late),
        updates("leaf updates, 2^20 leaves", tree(20, OBJECTS), late),
        updates("updates to the root at once, 2^14 leaves", tree(LEAF_BITS, OBJECTS), at_once),
        settles("update 1 leaf of 2^14 and settle", 1),
        settles("update 1,000 objects in 2^14 leaves and settle", 1_000),
        settles("update 65,536 objects in 2^14 leaves and settle", OBJECTS),
        differences("difference, 1 leaf of 2^14", 1),
        differences("difference, 128 leaves of 2^14", 128),
        differences("difference, every other leaf of 2^14", 1 << (LEAF_BITS - 1)),
        differences("difference, all of 2^14 leaves", 1 << LEAF_BITS),
        encodes("encode 2^14 leaves", LEAF_BITS),
        copies("copy the bytes of 2^14 leaves", LEAF_BITS),
        encodes("encode 2^20 leaves", 20),
        copies("copy the bytes of 2^20 leaves", 20),
        decodes("decode 2^14 leaves", LEAF_BITS),
        marks("bitmap marks, 2^14 leaves"),
        sketch_updates("sketch updates, 1,024 cells", 1_024),
        sketch_updates("sketch updates, 16,384 cells", 16_384),
        sketch_decodes("sketch decode, 10 differences", 10),
        sketch_decodes("sketch decode, 1,000 differences", 1_000),
        sketch_decodes("sketch decode, 20,000 differences", 20_000),
        skips("skip set of nothing, contains", SkipSet::new()),
        skips("skip set of 2^13 ranges, contains", chequered()),
        sweeps("skip set of 2^13 ranges, cursor", chequered()),
        opens("skip set of everything, open leaves"),
    ]
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let runs = numbers.first().copied().unwrap_or(9);
    let is_word = |argument: &String| argument.parse::<usize>().is_err() && !argument.starts_with("--");
    let wanted = std::env::args().skip(1).find(is_word).unwrap_or_default();
    println!("{runs} runs: median (least to greatest)");
    for mut case in cases().into_iter().filter(|case| case.name.contains(&wanted)) {
        let [least, median, most] = measure(runs, &mut case);
        let unit = match case.unit {
            Unit::Millions => "M/s",
            Unit::Micros => "us",
            Unit::Gigabytes => "GB/s",
        };
        println!("{:50} {median:9.3} ({least:.3} to {most:.3}) {unit}", case.name);
    }
}

/// The minimum, median and maximum of a case's results, after one run that is not counted.
fn measure(runs: usize, case: &mut Case) -> [f64; 3] {
    // Short work is repeated, because the system reports processor time in steps of some milliseconds.
    let mut times = 1;
    while seconds(&mut case.work, times) < 0.1 {
        times *= 2;
    }
    let mut found: Vec<f64> = (0..runs.max(1))
        .map(|_| {
            let each = seconds(&mut case.work, times) / times as f64;
            match case.unit {
                Unit::Millions => case.amount / each / 1e6,
                Unit::Micros => each * 1e6,
                Unit::Gigabytes => case.amount / each / 1e9,
            }
        })
        .collect();
    found.sort_by(f64::total_cmp);
    [found[0], found[found.len() / 2], found[found.len() - 1]]
}

#[allow(clippy::disallowed_methods, reason = "a bench is what measures")]
fn seconds(work: &mut impl FnMut(), times: usize) -> f64 {
    let (wall, processor) = (Instant::now(), processor_ns());
    (0..times).for_each(|_| work());
    match (processor, processor_ns()) {
        (Some(before), Some(after)) if after > before => (after - before) as f64 / 1e9,
        _ => wall.elapsed().as_secs_f64(),
    }
}

/// The processor time of this thread.
fn processor_ns() -> Option<u64> {
    let account = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    account.split_whitespace().next()?.parse().ok()
}
