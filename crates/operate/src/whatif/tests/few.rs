//! Recoveries that are estimated with as few objects in a group as are left in the largest clusters, against
//! the same recoveries with all objects, over drawn clusters: copies and codes, with sleeps and without.

use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_rebuild::thinned::Thinned;
use towtank_streams::{Draws, Purpose, Uniform as _};
use towtank_units::SimSpan;

use super::coarse::{Cluster, quantiles, ready};
use super::*;
use crate::whatif::orders;

/// The objects of a group that are left on average, as in an estimate of a recovery with very many groups.
const LEFT: u64 = 50;

/// A cluster of which a device or a host fails, with the keys of its queue: each in turn.
fn drawn(turn: u32) -> (Cluster, String) {
    let mut draws = Draws::new(Seed(29), turn, 0);
    let mut draw = |bound: u64| draws.of(Purpose(0)).below(bound);
    let data = [1, 1, 2, 4, 6][draw(5) as usize];
    let hosts = data + 4 + draw(5);
    let disks = 2 + draw(3);
    // 40 to 120 groups have a copy or shard on what fails.
    let whole = draw(3) == 0;
    let width = if data == 1 { 3 } else { data + 2 };
    let parts = hosts * if whole { 1 } else { disks };
    let groups = ((40 + draw(80)) * parts / width).max(8);
    let class = ["hdd", "ssd"][usize::from(draw(4) == 0)];
    let cluster = Cluster { hosts, disks, class, groups, objects: LEFT * (4 + draw(6)), data };
    let queue = match turn % 3 {
        0 => format!("recovery_sleep = \"{}ms\"\nqueue = \"wpq\"", 1 + draw(100)),
        1 => format!("recovery_sleep = \"0s\"\nqueue = \"wpq\"\nmax_backfills = {}", 1 + draw(4)),
        _ => format!("queue = \"mclock\"\nceph_release = {}", 16 + draw(4)),
    };
    let change = if whole { "fail = \"host=h1\"" } else { "fail = \"osd.3\"" };
    let exports = "crush_map = \"map\"\nosd_dump = \"osds\"\npg_dump = \"pgs\"";
    (cluster, format!("{exports}\n{change}\n{queue}"))
}

/// How long it takes from the first object to the last: the median of drawn orders, and half the range of
/// most of them.
fn moving(times: &mut [f64]) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let count = times.len();
    (times[count / 2], (times[count - 1 - count / 10] - times[count / 10]) / 2.0)
}

/// By how much estimates are off: the median of orders of each drawn recovery, with a share of its objects
/// that `scale` makes wrong, and half the range of orders. The recovery with all objects has the same orders.
fn errors(turns: u32, drawn_orders: u32, scale: f64) -> Vec<[f64; 2]> {
    let error = |turn: u32| {
        let (cluster, text) = drawn(turn);
        let ready = ready(cluster, &text);
        let context = RunContext::alone(Seed(u64::from(turn)), 0);
        let recovery = Recovery { quiet: false, ..ready.real.recovery(&ready.staged, &context) };
        let by = (cluster.objects / LEFT) as u32;
        let span = |found: &Recovered| found.last().since(found.first_transfer);
        let run = |thin: bool| {
            let of = |number: u32| {
                let one = orders::with_ties(&recovery, Seed(7).part(number));
                if !thin {
                    return span(&one.run(&context).unwrap()).as_secs_f64();
                }
                let thinned = Thinned::at_once_by(&one, by);
                let found: SimSpan = span(&thinned.whole(&one, thinned.of(&one).run(&context).unwrap()));
                found.as_secs_f64() * scale
            };
            (0..drawn_orders).map(of).collect::<Vec<f64>>()
        };
        let ((whole, half), (some, _)) = (moving(&mut run(false)), moving(&mut run(true)));
        let both = [some / whole - 1.0, half / whole];
        let asked = text.split_once("\"pgs\"\n").unwrap().1;
        println!("{turn}: one in {by} is {:.4} off, orders {:.4}, {cluster:?} {asked:?}", both[0], both[1]);
        both
    };
    (0..turns).map(error).collect()
}

/// Whether estimates are as near as is said of them: 1 % in the median, and each 3 %, or the range of orders
/// where that is more.
fn near(errors: &[[f64; 2]]) -> bool {
    let off: Vec<f64> = errors.iter().map(|[off, _]| off.abs()).collect();
    quantiles(off)[0] <= 0.01 && errors.iter().all(|[off, half]| off.abs() <= half.max(0.03))
}

/// `FEW=500` in the environment draws more, and `FEW_ORDERS` more orders of each.
#[test]
fn few_objects_of_a_group_tell_the_time_of_all() {
    let number = |name: &str| std::env::var(name).ok().and_then(|count| count.parse::<u32>().ok());
    let (turns, orders) = (number("FEW").unwrap_or(6), number("FEW_ORDERS").unwrap_or(5));
    let found = errors(turns, orders, 1.0);
    let off = |fits: &dyn Fn(u32) -> bool| {
        let some = (0..).zip(&found).filter(|(turn, _)| fits(*turn));
        some.map(|(_, [off, _])| off.abs()).collect::<Vec<f64>>()
    };
    for queue in 0..3 {
        println!("queue {queue}: {:.4?}", quantiles(off(&|turn| turn % 3 == queue)));
    }
    println!("{:.4?}", quantiles(off(&|_| true)));
    assert!(near(&found), "{found:?}");
}

/// Times that are 4 % too long are noticed.
#[test]
fn an_estimate_that_is_off_is_noticed() {
    assert!(!near(&errors(3, 1, 1.04)));
}
