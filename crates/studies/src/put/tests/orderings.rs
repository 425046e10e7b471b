//! The claims about the text, on numbers that agree with it and on numbers that do not.

use serde_json::{Value as Json, json};
use towtank_metrics::Histogram;
use towtank_negotiation::Protocol::{self, ReplicastH, ReplicastM, UchCcp};
use towtank_report::Claim;
use towtank_streams::{Draws, Purpose, Uniform};

use super::*;
use crate::put::published::CELLS;

/// One protocol at one point: chunks per second, utilisation and mean latency.
type Numbers = (Protocol, [f64; 3]);

/// A point with ten replicates, whose numbers scatter by a thousandth.
struct Made {
    scenario: Json,
    settings: Vec<(String, Json)>,
    outcomes: Vec<Outcome>,
}

/// The latencies of a replicate in microseconds, in the order of their ends.
type Latencies = fn(f64) -> Vec<f64>;

/// As a curve that rises from half the mean to one and a half.
fn straight(mean: f64) -> Vec<f64> {
    (0..100).map(|at| mean * (0.505 + 0.01 * f64::from(at))).collect()
}

fn outcome(seed: u32, numbers: &[Numbers], latencies: Latencies) -> Outcome {
    let factor = 1.0 + 0.001 * (f64::from(seed) - 4.5) / 4.5;
    let mut outcome = Outcome::default();
    for (protocol, [rate, disk, latency]) in numbers {
        let before = if numbers.len() == 1 { String::new() } else { observed::prefix(*protocol) };
        outcome.measure(format!("{before}chunks_per_second"), rate * factor, "chunks/s");
        outcome.measure(format!("{before}disk_utilisation"), disk * factor / 100.0, "fraction");
        outcome.measure(format!("{before}put_latency_mean_us"), latency * factor, "us");
        let mut histogram = Histogram::new();
        let all = latencies(latency * factor);
        all.iter().for_each(|us| histogram.record((us * 1e3) as u64));
        let trace = |(at, us): (usize, &f64)| json!([19_000_000 + at, 0, { "Put": { "latency_ns": (us * 1e3) as u64 } }]);
        let traces: Vec<Json> = all.iter().enumerate().map(trace).collect();
        let observed = json!({ "protocol": protocol.name(), "latencies": histogram, "got": Histogram::new(), "traces": traces });
        outcome.series.insert(protocol.name().to_owned(), observed);
    }
    outcome
}

/// A point of the cluster in `surge` fidelity, swept if `swept`.
fn point(
    (gateways, chunk_kib, disk_mib, ms): (u32, u64, u64, u64),
    swept: bool,
    numbers: &[Numbers],
    latencies: Latencies,
) -> Made {
    let names: Vec<&str> = numbers.iter().map(|(protocol, _)| protocol.name()).collect();
    let text = format!(
        "protocol = \"{}\"\nfidelity = \"surge\"\ngateways = {gateways}\nchunk = \"{chunk_kib}KiB\"\ndisk = \"{disk_mib}MiB/s\"\nduration = \"{ms}ms\"",
        names.join(",")
    );
    let settings =
        if swept { vec![("disk".to_owned(), json!(format!("{disk_mib}MiB/s")))] } else { Vec::new() };
    let outcomes = (0..10).map(|seed| outcome(seed, numbers, latencies)).collect();
    Made { scenario: prepare(&text).resolved(), settings, outcomes }
}

fn claims(points: &[Made]) -> Vec<Claim> {
    let results: Vec<PointResult<'_>> = points
        .iter()
        .map(|made| PointResult {
            settings: &made.settings,
            scenario: &made.scenario,
            outcomes: &made.outcomes,
        })
        .collect();
    Put.present(&results).claims
}

fn verdict(claims: &[Claim], name: &str) -> Verdict {
    let names = || claims.iter().map(|claim| claim.name.as_str()).collect::<Vec<_>>();
    claims
        .iter()
        .find(|claim| claim.name == name)
        .unwrap_or_else(|| panic!("{name} is none of {:?}", names()))
        .verdict
}

/// The numbers that the paper prints for a cell; those of `from` under the name of `protocol`.
fn printed((chunk, disk): (u64, u64), protocol: Protocol, from: Protocol) -> Numbers {
    let same = |cell: &&crate::put::published::Cell| {
        (cell.chunk_kib, cell.disk_mib, cell.protocol) == (chunk, disk, from)
    };
    let cell = CELLS.iter().find(same).expect("it is in a table");
    (protocol, [cell.rate, cell.disk, cell.latency].map(|quoted| quoted.paper.expect("it is printed")))
}

fn as_printed(at: (u64, u64)) -> [Numbers; 3] {
    [UchCcp, ReplicastM, ReplicastH].map(|protocol| printed(at, protocol, protocol))
}

#[test]
fn the_better_protocol_of_a_table_is_distinguished_from_the_worse() {
    let right = claims(&[point((90, 128, 400, 10), false, &as_printed((128, 400)), straight)]);
    let swapped = [
        printed((128, 400), UchCcp, ReplicastM),
        printed((128, 400), ReplicastM, UchCcp),
        printed((128, 400), ReplicastH, ReplicastH),
    ];
    let wrong = claims(&[point((90, 128, 400, 10), false, &swapped, straight)]);
    for other in ["uch_ccp", "replicast_h"] {
        for measure in ["chunks_per_second", "put_latency_mean_us"] {
            let name = format!("replicast_m_over_{other}_128k_400_{measure}");
            assert_eq!(verdict(&right, &name), Verdict::Holds);
            assert_eq!(verdict(&wrong, &name), Verdict::Misses);
        }
    }
    let busy = "replicast_m_over_uch_ccp_128k_400_disk_utilisation";
    assert_eq!((verdict(&right, busy), verdict(&wrong, busy)), (Verdict::Holds, Verdict::Misses));
    let fast = claims(&[point((90, 1024, 1000, 40), false, &as_printed((1024, 1000)), straight)]);
    assert_eq!(verdict(&fast, "replicast_h_over_uch_ccp_1024k_1000_chunks_per_second"), Verdict::Holds);
}

/// At 1 MiB, the paper's own latencies are the other way round than its text.
#[test]
fn the_text_is_held_against_the_papers_own_tables_too() {
    let own = claims(&[point((90, 1024, 400, 30), false, &as_printed((1024, 400)), straight)]);
    let name = "replicast_m_over_replicast_h_1024k_400_put_latency_mean_us";
    assert_eq!(verdict(&own, name), Verdict::Misses);
    let claim = own.iter().find(|claim| claim.name == name).unwrap();
    assert!(claim.note.as_deref().is_some_and(|note| note.contains("against its own text")), "{claim:?}");
}

/// Both speeds of disks, with the numbers of the fast one multiplied.
fn figure9(chunk: u64, ms: [u64; 2], factor: impl Fn(Protocol) -> f64) -> Vec<Claim> {
    let slow = as_printed((chunk, 400));
    let fast = as_printed((chunk, 1000))
        .map(|(protocol, [rate, disk, latency])| (protocol, [rate * factor(protocol), disk, latency]));
    let at = |disk, ms, numbers: &[Numbers]| {
        let mut made = point((90, chunk, disk, ms), true, numbers, straight);
        made.settings.push(("duration".to_owned(), json!(format!("{ms}ms"))));
        made
    };
    claims(&[at(400, ms[0], &slow), at(1000, ms[1], &fast)])
}

#[test]
fn gains_other_than_the_printed_ones_are_noticed() {
    for (chunk, ms) in [(128, [10, 10]), (1024, [30, 40])] {
        let gain = format!("replicast_m_gain_{chunk}k");
        let names =
            ["uch_ccp", "replicast_h"].map(|other| format!("replicast_m_gains_more_than_{other}_{chunk}k"));
        let right = figure9(chunk, ms, |_| 1.0);
        assert_eq!(verdict(&right, &gain), Verdict::Holds, "{right:#?}");
        let slower = figure9(chunk, ms, |protocol| if protocol == ReplicastM { 0.85 } else { 1.0 });
        assert_eq!(verdict(&slower, &gain), Verdict::Misses);
        let others = figure9(chunk, ms, |protocol| if protocol == ReplicastM { 1.0 } else { 1.5 });
        for name in &names {
            assert_eq!(verdict(&right, name), Verdict::Holds);
            assert_eq!(verdict(&others, name), Verdict::Misses);
        }
    }
    let alike = "replicast_m_and_h_similar_128k_400";
    assert_eq!(verdict(&figure9(128, [10, 10], |_| 1.0), alike), Verdict::Holds);
    let (mut slow, fast) = (as_printed((128, 400)), as_printed((128, 1000)));
    slow[2].1[0] /= 1.2;
    let far =
        [point((90, 128, 400, 10), true, &slow, straight), point((90, 128, 1000, 10), true, &fast, straight)];
    assert_eq!(verdict(&claims(&far), alike), Verdict::Misses);
}

#[test]
fn sizes_that_gain_more_than_16_kib_are_distinguished_from_those_that_gain_less() {
    let at =
        |chunk: u64, disk, from: u64| point((90, chunk, disk, 40), true, &as_printed((from, disk)), straight);
    let figures = |medium: u64, small: u64| {
        let mut points = Vec::new();
        for disk in [400, 1000] {
            points.extend([at(16, disk, small), at(128, disk, medium), at(1024, disk, 1024)]);
        }
        claims(&points)
    };
    let (right, swapped) = (figures(128, 16), figures(16, 128));
    for name in [
        "benefit_128k_over_16k_400",
        "benefit_128k_over_16k_1000",
        "replicast_m_gain_128k_over_16k",
        "replicast_h_gain_128k_over_16k",
    ] {
        assert_eq!(
            (verdict(&right, name), verdict(&swapped, name)),
            (Verdict::Holds, Verdict::Misses),
            "{name}"
        );
    }
    assert_eq!(verdict(&right, "replicast_m_gain_1024k_over_128k"), Verdict::Holds);
    assert_eq!(verdict(&swapped, "benefit_1024k_over_16k_1000"), Verdict::Misses);
}

#[test]
fn thirty_gateways_scale_almost_linearly_or_do_not() {
    let points = |gain: f64, worse: f64| {
        let numbers = |factor: f64| {
            let of = |protocol, rate: f64| (protocol, [rate * factor, 50.0 * rate / 1e4 * factor, 100.0]);
            [of(UchCcp, 1e4 * worse), of(ReplicastM, 1e4), of(ReplicastH, 0.9e4 * worse)]
        };
        [
            point((30, 128, 400, 40), true, &numbers(0.5), straight),
            point((30, 128, 1000, 40), true, &numbers(0.5 * gain), straight),
        ]
    };
    let (right, wrong) = (claims(&points(2.3, 0.8)), claims(&points(1.5, 1.3)));
    for name in [
        "replicast_m_gain_128k_30_gateways",
        "replicast_m_over_uch_ccp_128k_400_chunks_per_second",
        "replicast_m_over_replicast_h_128k_1000_disk_utilisation",
    ] {
        assert_eq!(
            (verdict(&right, name), verdict(&wrong, name)),
            (Verdict::Holds, Verdict::Misses),
            "{name}"
        );
    }
}

/// A tail that crosses the other protocol's is noticed although the mean is lower.
#[test]
fn consistently_lower_is_more_than_a_lower_mean() {
    fn long_tail(mean: f64) -> Vec<f64> {
        let mut all = straight(mean);
        // Only the protocol with the lower mean gets the tail.
        if mean < 150.0 {
            all[97..].iter_mut().for_each(|latency| *latency *= 3.0);
        }
        all
    }
    let numbers = as_printed((16, 400));
    let name = "sorted_latency_16k_400";
    let of = |latencies| claims(&[point((90, 16, 400, 20), false, &numbers, latencies)]);
    assert_eq!(verdict(&of(straight), name), Verdict::Holds);
    let crossed = of(long_tail);
    assert_eq!(verdict(&crossed, name), Verdict::Misses);
    let note = crossed.iter().find(|claim| claim.name == name).and_then(|claim| claim.note.clone());
    assert!(note.is_some_and(|note| note.contains("UCH-CCP is faster at p99")), "{crossed:#?}");
}

#[test]
fn a_sawtooth_in_figure_8_is_noticed() {
    fn level(mean: f64) -> Vec<f64> {
        let mut draws = Draws::new(Seed(1), 0, 0);
        let mut draws = draws.of(Purpose(0));
        (0..2_560).map(|_| mean * (1.0 + 0.2 * draws.unit_f64())).collect()
    }
    fn sawtooth(mean: f64) -> Vec<f64> {
        level(mean).iter().enumerate().map(|(at, us)| us + mean * (at % 640) as f64 / 640.0).collect()
    }
    let numbers = [(UchCcp, [3e5, 40.0, 90.0]), (ReplicastM, [3.3e5, 44.0, 80.0])];
    for (latencies, want) in [(level as Latencies, Verdict::Holds), (sawtooth, Verdict::Misses)] {
        let claims = claims(&[point((30, 16, 400, 20), false, &numbers, latencies)]);
        assert_eq!(verdict(&claims, "no_pattern_replicast_m"), want);
        assert_eq!(verdict(&claims, "replicast_m_over_uch_ccp_16k_400_put_latency_mean_us"), Verdict::Holds);
    }
}

/// The lab's cluster with these results, and replicates that scatter by `factor` times a thousandth.
fn lab([rate, latency_us]: [f64; 2], factor: f64) -> Vec<Claim> {
    let text = include_str!("../../../../../scenarios/papers/put-table4.toml");
    let outline = Document::parse(&Source::file("put-table4.toml", text)).unwrap().outline().unwrap();
    let scenario = Put.check(outline.points()[0].draft()).unwrap_or_else(|_| panic!("{text}")).resolved();
    let numbers = [(ReplicastM, [rate, 50.0, latency_us])];
    let scattered = |seed: u32| {
        let mut outcome = outcome(seed, &numbers, straight);
        let apart = 1.0 + 0.001 * factor * (f64::from(seed) - 4.5) / 4.5;
        outcome.measure("chunks_per_second", rate * apart, "chunks/s");
        outcome.measure("put_latency_mean_us", latency_us * apart, "us");
        outcome
    };
    let outcomes = (0..10).map(scattered).collect();
    claims(&[Made { scenario, settings: Vec::new(), outcomes }])
}

#[test]
fn the_lab_run_is_compared_in_milliseconds() {
    let names = [
        "table_4_chunks_per_second",
        "table_4_megabytes",
        "table_4_latency",
        "table_4_bound",
        "table_4_unit",
    ];
    let verdicts = |numbers| names.map(|name| verdict(&lab(numbers, 1.0), name));
    use Verdict::{CannotTell, Holds, Misses};
    // The printed bandwidth is 3.5 % more than the printed chunks have, and a rate that is the same is no
    // bound.
    assert_eq!(verdicts([23_360.0, 2_450.5]), [Holds, Misses, Holds, CannotTell, Holds]);
    assert_eq!(verdicts([150_000.0, 400.0]), [Misses, Misses, Misses, Holds, Holds]);
    assert_eq!(verdicts([5_000.0, 2.0]), [Misses, Misses, Misses, Misses, Misses]);
    // A fault that was mended: runs that scattered by half let anything pass.
    let wild = names.map(|name| verdict(&lab([30_000.0, 2_450.5], 500.0), name));
    assert_eq!(wild, [CannotTell, CannotTell, CannotTell, CannotTell, Holds]);
}
