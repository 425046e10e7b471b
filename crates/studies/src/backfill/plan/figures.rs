//! The figures of a plan: the time of each discovery against the length of the outage, and how objects fill
//! ranges (figures 14 to 16 of the thesis).

use towtank_merkle::Tree;
use towtank_merkle::cost::Discovery;
use towtank_merkle::plan::{Plan, Pool};
use towtank_merkle::sizing::{distinct, objects_per_filled_range};
use towtank_report::{Axis, CurvePoint, Draw, Figure, Kind, LineSeries, Reference};

/// Numbers of leaves, as powers of two, that are shown beside the plan's: those of the thesis.
const LEAF_BITS: [u8; 7] = [10, 11, 12, 13, 14, 15, 16];
/// Points per line.
const POINTS: u32 = 40;

/// All figures of a plan.
#[must_use]
pub fn all(pool: &Pool, plan: &Plan) -> Vec<Figure> {
    let mut bits: Vec<u8> = LEAF_BITS.into_iter().chain([plan.leaf_bits]).collect();
    bits.sort_unstable();
    bits.dedup();
    let most = pool.objects_per_group.max(1.0);
    let percent_filled = |objects: f64, leaves: f64| 100.0 * distinct(leaves, objects) / leaves;
    vec![
        outages(pool),
        memory(pool, &bits),
        over_objects(
            ("occupancy", "Share of ranges that hold an object"),
            Axis::linear("ranges with an object", "%"),
            most,
            &bits,
            percent_filled,
        ),
        over_objects(
            ("objects_per_range", "Objects per range that holds any"),
            Axis::linear("objects", ""),
            most,
            &bits,
            objects_per_filled_range,
        ),
    ]
}

fn figure(id: &str, title: &str, caption: &str, kind: Kind) -> Figure {
    Figure::new(id, title, caption, kind)
}

/// Seconds of each discovery, for outages from a hundredth of the plan's to ten times it.
fn outages(pool: &Pool) -> Figure {
    let hours =
        |step: u32| pool.outage_s / 3600.0 * 10_f64.powf(-2.0 + 3.0 * f64::from(step) / f64::from(POINTS));
    let series = Discovery::ALL.map(|discovery| {
        let point = |step: u32| {
            let outage = Pool { outage_s: hours(step) * 3600.0, ..*pool };
            let method = outage.plan().ok()?.methods.into_iter().find(|one| one.discovery == discovery)?;
            Some(CurvePoint::new(hours(step), method.seconds))
        };
        let points = (0..=POINTS).filter_map(point).collect();
        LineSeries { name: discovery.name().to_owned(), points, draw: Draw::Line }
    });
    let kind = Kind::Line {
        x: Axis::log("outage", "h"),
        y: Axis::log("time to find the stale objects of a group", "s"),
        series: series.to_vec(),
        references: vec![Reference::Vertical {
            name: "this outage".to_owned(),
            at: (pool.outage_s / 3600.0).into(),
        }],
    };
    let caption = "Computed for one group, one step after the other, without queues, recovery sleeps and copies of stale objects. \
                   Each outage has the leaves and cells that the plan would choose for it, unless they are set.";
    figure("outages", "Time to find stale objects, by the length of the outage", caption, kind)
}

/// Memory of the trees on a device, against the number of the pool's groups.
fn memory(pool: &Pool, bits: &[u8]) -> Figure {
    let most = pool.groups.max(64);
    let line = |&bits: &u8| {
        let tree = Tree::memory_bytes(bits) as f64 / f64::from(1 << 20);
        let point = |step: u32| {
            let groups = most as f64 * f64::from(step) / f64::from(POINTS);
            CurvePoint::new(groups, groups * pool.replicas as f64 / pool.devices as f64 * tree)
        };
        LineSeries { name: leaves(bits), points: (0..=POINTS).map(point).collect(), draw: Draw::Line }
    };
    let kind = Kind::Line {
        x: Axis::linear("groups of the pool", ""),
        y: Axis::linear("memory of a device's trees", "MiB"),
        series: bits.iter().map(line).collect(),
        references: vec![Reference::Vertical {
            name: "this pool".to_owned(),
            at: (pool.groups as f64).into(),
        }],
    };
    let caption = "Each group keeps a tree on each of its devices. The thesis measured about 100 MB more for 64 groups of \
                   16,384 ranges on three devices.";
    figure("memory", "Memory of the trees, by groups", caption, kind)
}

fn over_objects(
    (id, title): (&str, &str),
    y: Axis,
    most: f64,
    bits: &[u8],
    value: impl Fn(f64, f64) -> f64,
) -> Figure {
    let line = |&bits: &u8| {
        let point = |step: u32| {
            let objects = most * f64::from(step) / f64::from(POINTS);
            CurvePoint::new(objects, value(objects, f64::from(1_u32 << bits)))
        };
        LineSeries { name: leaves(bits), points: (1..=POINTS).map(point).collect(), draw: Draw::Line }
    };
    let series = bits.iter().map(line).collect();
    let kind = Kind::Line { x: Axis::linear("objects of a group", ""), y, series, references: Vec::new() };
    figure(id, title, "Expected values for uniform hashes: equation (6) of the thesis.", kind)
}

fn leaves(bits: u8) -> String {
    format!("{} leaves", towtank_report::human::digits(f64::from(1_u32 << bits)))
}
