//! The range of a time, 10 to 90 % of the orders of groups, against the times of other orders: over drawn
//! clusters, as many of them lie in it as it says.

use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_streams::{Draws, Purpose, Uniform as _};

use super::coarse::{Cluster, ready};
use super::*;
use crate::whatif::orders;
use crate::whatif::risk;

/// Other orders of each cluster.
const OTHERS: u32 = 60;

/// A small cluster of which a host fails, is emptied, or is out, under WPQ.
fn drawn(turn: u32) -> (Cluster, String) {
    let mut draws = Draws::new(Seed(41), turn, 0);
    let mut draw = |bound: u64| draws.of(Purpose(0)).below(bound);
    let (hosts, disks) = (4 + draw(9), 1 + draw(3));
    let groups = (4 + draw(20)) * hosts * disks / 3;
    let cluster = Cluster { hosts, disks, class: "hdd", groups, objects: 20 + draw(30), data: 1 };
    let devices = || (disks..2 * disks).map(|osd| format!("\"osd.{osd}\"")).collect::<Vec<_>>().join(", ");
    let change = match draw(3) {
        0 => "fail = \"host=h1\"".to_owned(),
        1 => "drain = \"host=h1\"".to_owned(),
        _ => format!("mark_out = [{}]", devices()),
    };
    let queue = format!("recovery_sleep = \"{}ms\"\nqueue = \"wpq\"", [10, 50, 100][draw(3) as usize]);
    (cluster, format!("crush_map = \"map\"\nosd_dump = \"osds\"\npg_dump = \"pgs\"\n{change}\n{queue}"))
}

/// The times of a cluster.
struct Times {
    median: f64,
    range_s: [f64; 2],
    others: Vec<f64>,
}

impl Times {
    /// None where chance has no part in the order.
    fn of(turn: u32) -> Option<Times> {
        let (cluster, text) = drawn(turn);
        let ready = ready(cluster, &text);
        let context = RunContext::alone(Seed(u64::from(turn)), 0);
        let recovery = Recovery { quiet: false, ..ready.real.recovery(&ready.staged, &context) };
        let risk = |recovered: &Recovered| risk::of(&ready, recovered);
        let (middle, found, _) = orders::draw(&recovery, (u64::MAX, &[]), &risk, &context).unwrap()?;
        let time =
            |seed: Seed| orders::with_ties(&recovery, seed).run(&context).unwrap().last().as_secs_f64();
        let median = middle.run(&context).unwrap().last().as_secs_f64();
        let others = (0..OTHERS).map(|number| time(Seed(0xabc).part(number))).collect();
        Some(Times { median, range_s: found.range_s, others })
    }

    /// The share of other orders whose times lie in a range so many times as wide. Times that are equal may
    /// differ by what a sum of floats does.
    fn within(&self, wider: f64) -> f64 {
        let [less, more] = self.range_s.map(|part| part * wider + 1e-9);
        let range = self.median - less..=self.median + more;
        self.others.iter().filter(|time| range.contains(time)).count() as f64 / self.others.len() as f64
    }
}

/// `RANGES=500` draws more; docs/whatif.md has the result of 60.
#[test]
fn a_range_holds_four_of_five_other_orders() {
    let count = std::env::var("RANGES").ok().and_then(|count| count.parse::<u32>().ok()).unwrap_or(60);
    let all: Vec<Times> = (0..count).filter_map(Times::of).collect();
    let share = |wider: f64| all.iter().map(|one| one.within(wider)).sum::<f64>() / all.len() as f64;
    let [narrow, own, wide] = [0.5, 1.0, 2.0].map(share);
    let fewest = all.iter().map(|one| one.within(1.0)).fold(1.0, f64::min);
    println!("{} clusters: {own:.4}, {fewest:.2} of one at least; half as wide {narrow:.4}", all.len());
    assert!(all.len() as u32 * 10 >= count * 8, "{} of {count} have an order by chance", all.len());
    assert!((0.75..0.85).contains(&own), "{own} of other orders lie in the range");
    // A range that is half as wide, and one that is twice as wide, are noticed.
    assert!(narrow < 0.75 && wide > 0.85, "{narrow}, {wide}");
}
