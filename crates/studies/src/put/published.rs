//! The tables of the paper, and what the model code of its simulator gives: what `surge` fidelity is held against.
//!
//! Aizman and Bestler, tables 2, 3 and 5. Beside each cell stands the range of runs of SURGE's own model code (build d92018f,
//! under a sequential scheduler, multicast order equal at all servers, equal bids ranked at random); `paper` is printed in the
//! paper. Run lengths follow from the printed rates being whole numbers of chunks.

use negotiation::Protocol;
use report::{Claim, ClaimDraft, Reading, Tolerance};
use units::{Bytes, SimSpan};

use super::present::View;
use super::scenario::{Bids, Faults, Fidelity, Network, Scenario};

/// A cell of table 2 or 3, or a run of the reference that is in no table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The table; none where only the reference was run.
    pub table: Option<u32>,
    /// Gateways and servers.
    pub nodes: (u32, u32),
    /// The speed of the disks in MiB/s.
    pub disk_mib: u64,
    /// The size of the chunks in KiB.
    pub chunk_kib: u64,
    /// The protocol.
    pub protocol: Protocol,
    /// How long was simulated.
    pub duration_ms: u64,
    /// Chunks per second.
    pub rate: Quoted,
    /// Disk utilisation in percent.
    pub disk: Quoted,
    /// Mean latency in microseconds.
    pub latency: Quoted,
    /// Whether the start-up dominates, so that single runs scatter.
    pub scatters: bool,
    /// Whether the reference is one run of so few chunks that its scatter is more than the tolerance.
    pub few: bool,
}

/// A printed number, and the range that it and the runs of the reference span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quoted {
    /// As printed in the paper.
    pub paper: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

const fn quoted(paper: f64, low: f64, high: f64) -> Quoted {
    Quoted { paper, low, high }
}

const fn cell(
    (disk_mib, chunk_kib, duration_ms): (u64, u64, u64),
    protocol: Protocol,
    rate: Quoted,
    disk: Quoted,
    latency: Quoted,
) -> Cell {
    let scatters = disk_mib == 1000 && chunk_kib == 1024 && !matches!(protocol, Protocol::UchCcp);
    let table = Some(if disk_mib == 400 { 2 } else { 3 });
    let nodes = (90, 90);
    Cell {
        table,
        nodes,
        disk_mib,
        chunk_kib,
        protocol,
        duration_ms,
        rate,
        disk,
        latency,
        scatters,
        few: false,
    }
}

/// One run of the reference: chunks a second, utilisation in percent, mean latency.
const fn run(
    nodes: (u32, u32),
    (disk_mib, chunk_kib, duration_ms): (u64, u64, u64),
    protocol: Protocol,
    (rate, disk, latency): (f64, f64, f64),
) -> Cell {
    let few = nodes.0 < 90;
    Cell {
        table: None,
        nodes,
        disk_mib,
        chunk_kib,
        protocol,
        duration_ms,
        rate: quoted(rate, rate, rate),
        disk: quoted(disk, disk, disk),
        latency: quoted(latency, latency, latency),
        scatters: false,
        few,
    }
}

use Protocol::{ReplicastH, ReplicastM, UchCcp};

/// Runs of the reference that are in no table: other clusters, and other spans. Two more, of 0.4 ms with 6 gateways, have 11 to
/// 25 chunks and are left to `docs/put.md`.
const RUNS: [Cell; 5] = [
    run((6, 18), (400, 16, 1), UchCcp, (63_000.0, 43.4, 90.0)),
    run((6, 18), (400, 16, 1), ReplicastM, (68_000.0, 45.7, 84.8)),
    run((6, 18), (400, 16, 1), ReplicastH, (37_000.0, 24.8, 151.4)),
    run((90, 90), (1000, 1024, 80), ReplicastM, (21_925.0, 74.3, 3_942.3)),
    run((90, 90), (1000, 1024, 80), ReplicastH, (16_762.0, 57.9, 5_125.2)),
];

/// All 18 cells.
#[rustfmt::skip]
pub const CELLS: [Cell; 18] = [
    cell((400, 16, 20), UchCcp, quoted(536_950.0, 532_750.0, 536_950.0), quoted(70.6, 70.1, 70.6), quoted(164.7, 164.7, 165.8)),
    cell((400, 16, 20), ReplicastM, quoted(635_750.0, 635_750.0, 639_050.0), quoted(83.6, 83.6, 84.0), quoted(139.0, 138.3, 139.0)),
    cell((400, 16, 20), ReplicastH, quoted(525_100.0, 525_100.0, 526_500.0), quoted(69.0, 69.0, 69.2), quoted(168.4, 167.8, 168.4)),
    cell((400, 128, 10), UchCcp, quoted(58_400.0, 57_300.0, 61_600.0), quoted(66.4, 65.2, 70.2), quoted(1_401.7, 1_319.8, 1_410.4)),
    cell((400, 128, 10), ReplicastM, quoted(80_700.0, 78_600.0, 80_700.0), quoted(90.6, 87.9, 90.6), quoted(1_039.8, 1_039.8, 1_061.4)),
    cell((400, 128, 10), ReplicastH, quoted(73_400.0, 72_000.0, 76_100.0), quoted(83.6, 81.7, 85.6), quoted(1_132.6, 1_098.5, 1_156.7)),
    cell((400, 1024, 30), UchCcp, quoted(6_733.0, 6_400.0, 6_833.0), quoted(69.6, 67.9, 73.2), quoted(10_260.2, 10_075.8, 10_610.3)),
    cell((400, 1024, 30), ReplicastM, quoted(8_067.0, 8_067.0, 8_333.0), quoted(85.6, 85.4, 85.6), quoted(9_210.8, 9_059.5, 9_349.2)),
    cell((400, 1024, 30), ReplicastH, quoted(8_000.0, 7_733.0, 8_267.0), quoted(84.9, 81.1, 84.9), quoted(8_945.9, 8_945.9, 9_386.8)),
    cell((1000, 16, 10), UchCcp, quoted(918_500.0, 918_500.0, 929_300.0), quoted(48.1, 48.1, 48.6), quoted(96.0, 94.9, 96.0)),
    cell((1000, 16, 10), ReplicastM, quoted(907_400.0, 899_800.0, 907_400.0), quoted(47.4, 46.9, 47.4), quoted(97.0, 97.0, 97.9)),
    cell((1000, 16, 10), ReplicastH, quoted(632_200.0, 632_200.0, 634_700.0), quoted(32.9, 32.9, 33.1), quoted(139.3, 138.9, 139.3)),
    cell((1000, 128, 10), UchCcp, quoted(108_900.0, 105_400.0, 108_900.0), quoted(47.0, 45.9, 47.0), quoted(784.7, 784.7, 807.7)),
    cell((1000, 128, 10), ReplicastM, quoted(176_000.0, 164_800.0, 176_000.0), quoted(74.7, 69.8, 74.7), quoted(489.5, 489.5, 525.3)),
    cell((1000, 128, 10), ReplicastH, quoted(127_900.0, 127_900.0, 130_400.0), quoted(55.0, 55.0, 56.2), quoted(673.0, 663.5, 674.0)),
    cell((1000, 1024, 40), UchCcp, quoted(13_475.0, 13_275.0, 13_475.0), quoted(48.4, 47.7, 48.4), quoted(6_042.9, 6_042.9, 6_200.0)),
    cell((1000, 1024, 40), ReplicastM, quoted(19_850.0, 18_000.0, 19_850.0), quoted(68.6, 62.2, 68.6), quoted(4_242.0, 4_242.0, 4_703.1)),
    cell((1000, 1024, 40), ReplicastH, quoted(16_075.0, 14_850.0, 16_075.0), quoted(57.1, 53.2, 57.1), quoted(5_163.8, 5_163.8, 5_570.3)),
];

/// Fewer seeds than this are not held against a table.
const SEEDS_MIN: usize = 10;
/// How far throughput and latency may lie outside the range, and how far where the start-up dominates.
const FRACTION: (f64, f64) = (0.03, 0.10);
/// The same for utilisation, in points.
const POINTS: (f64, f64) = (2.0, 5.0);
/// Where the reference is one run of few chunks: 99 % of single runs lie within so many standard deviations.
const DEVIATIONS: f64 = 2.6;

/// The cell that a point repeats, if it does: the paper's cluster with all of SURGE's numbers.
#[must_use]
pub fn cell_of(scenario: &Scenario, protocol: Protocol) -> Option<&'static Cell> {
    let usual = scenario.fidelity == Fidelity::Surge
        && (scenario.replicas, scenario.group) == (3, 9)
        && scenario.start_spread.is_none_or(SimSpan::is_zero)
        && scenario.network == Network::default()
        && scenario.bids == Bids::default()
        && scenario.faults == Faults::default();
    let same = |cell: &&Cell| {
        cell.protocol == protocol
            && cell.nodes == (scenario.gateways, scenario.servers)
            && scenario.chunk == Bytes::from_kib(cell.chunk_kib)
            && scenario.disk.bytes_per_second() == cell.disk_mib << 20
            && scenario.duration == SimSpan::from_ms(cell.duration_ms)
    };
    CELLS.iter().chain(&RUNS).filter(|_| usual).find(same)
}

/// The claims of one protocol at one point.
#[must_use]
pub fn claims(view: &View<'_>) -> Vec<Claim> {
    let Some(cell) = cell_of(&view.scenario, view.protocol) else { return Vec::new() };
    let partial = view.result.outcomes.iter().any(|outcome| outcome.partial);
    if partial || view.result.outcomes.len() < SEEDS_MIN {
        return Vec::new();
    }
    let pick = |pair: (f64, f64)| if cell.scatters { pair.1 } else { pair.0 };
    let (fraction, points) = (pick(FRACTION), pick(POINTS));
    let scatter = |measure: &str| if cell.few { view.deviation(measure) * DEVIATIONS } else { 0.0 };
    let wide = |quoted: Quoted, measure: &str| {
        let more = scatter(measure);
        (quoted.low * (1.0 - fraction) - more, quoted.high * (1.0 + fraction) + more)
    };
    let busy = points + scatter("disk_utilisation") * 100.0;
    let (rate, latency) = ("chunks_per_second", "put_latency_mean_us");
    let facts = [
        (rate, "chunks/s", 1.0, cell.rate, wide(cell.rate, rate)),
        ("disk_utilisation", "%", 100.0, cell.disk, (cell.disk.low - busy, cell.disk.high + busy)),
        (latency, "us", 1.0, cell.latency, wide(cell.latency, latency)),
    ];
    let claim = |(measure, unit, factor, quoted, (low, high)): (&str, &str, f64, Quoted, (f64, f64))| {
        let mean = view.mean(measure)?;
        let (from, to) = mean.range?;
        let ((gateways, servers), disk, chunk) = (cell.nodes, cell.disk_mib, cell.chunk_kib);
        let of = match cell.table {
            Some(_) => format!("{chunk} KiB, {disk} MiB/s"),
            None => format!("{chunk} KiB, {disk} MiB/s, {gateways} x {servers}, {} ms", cell.duration_ms),
        };
        let name = format!(
            "{}_{}k_{}_{measure}",
            view.protocol.name().replace('-', "_"),
            cell.chunk_kib,
            cell.disk_mib
        );
        let draft = ClaimDraft {
            name,
            source: cell.source(),
            statement: format!("{measure} of {} at {of}", view.protocol.name()),
            unit: unit.to_owned(),
            published: Reading::with_range(quoted.paper, quoted.low, quoted.high),
            ours: Reading::with_range(mean.mean * factor, from * factor, to * factor),
            tolerance: Tolerance::Range { low, high },
            fitted: false,
            note: Some(format!("{}; {} seeds", cell.note(), view.result.outcomes.len())),
        };
        Some(draft.judge())
    };
    let mut claims: Vec<Claim> = facts.into_iter().filter_map(claim).collect();
    claims.extend(undecided(cell, view).filter(|_| cell.table.is_some()));
    claims
}

impl Cell {
    fn source(&self) -> String {
        match self.table {
            Some(table) => format!("{SOURCE}, table {table}"),
            None => "the model code of the simulator SURGE, build d92018f".to_owned(),
        }
    }

    fn note(&self) -> &'static str {
        match (self.table, self.few) {
            (Some(_), _) => "the published range spans the paper and runs of its simulator's model code",
            (None, false) => "the reference is one run",
            (None, true) => {
                "the reference is one run of few chunks: the range is wider by 2.6 standard deviations of single runs here"
            }
        }
    }
}

const SOURCE: &str = "Aizman and Bestler, Scalable object storage with resource reservations";

/// The chance that another request comes within `wait_us` of one, if they come at random every `gap_us` on average.
#[must_use]
pub fn chance_within(rate_per_us: f64, wait_us: f64) -> f64 {
    -libm::expm1(-rate_per_us * wait_us)
}

/// Table 5: the paper's rates and the 7 us that a bid and its answer take. What it prints as the formula, 1 - λ·exp(-λt), is
/// a misprint: 1 - exp(-λt) gives its numbers.
fn undecided(cell: &Cell, view: &View<'_>) -> Option<Claim> {
    let (rate, printed) = match (cell.disk_mib, cell.protocol, cell.chunk_kib) {
        (1000, Protocol::ReplicastM, 16) => (0.09, 46.7),
        (1000, Protocol::ReplicastM, 128) => (0.02, 13.0),
        (1000, Protocol::ReplicastM, 1024) => (0.002, 1.39),
        _ => return None,
    };
    let seen = view.mean("undecided_share").map_or(String::new(), |mean| {
        format!("; here {:.1} % of requests found another bid of their server undecided", mean.mean * 100.0)
    });
    let draft = ClaimDraft {
        name: format!("table_5_{}k", cell.chunk_kib),
        source: format!("{SOURCE}, table 5"),
        statement: format!(
            "1 - exp(-λ · 7 us) with λ = {rate}/us is the chance of a request within 7 us of another"
        ),
        unit: "%".to_owned(),
        published: Reading::of(printed),
        ours: Reading::of(chance_within(rate, 7.0) * 100.0),
        tolerance: Tolerance::Relative { fraction: 0.01 },
        fitted: false,
        note: Some(format!("the formula as printed, 1 - λ·exp(-λt), does not give these numbers{seen}")),
    };
    Some(draft.judge())
}
