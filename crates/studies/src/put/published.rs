//! The tables of the paper, and the results of its simulator's model code: the reference for `surge`
//! fidelity.
//!
//! Aizman and Bestler, tables 2, 3 and 5. Each cell also has runs of SURGE's own model code (build d92018f,
//! under a sequential scheduler, multicast order equal at all servers, equal bids ranked at random, all
//! gateways at once); `paper` is printed in the paper. Run lengths follow from the printed rates being whole
//! numbers of chunks.
//!
//! **Tolerance.** The reference's mean is known from one to four runs and the printed number, whose scatter
//! depends on the size of chunks: it is pooled over the six cells of a size. Ours must lie within the 99 %
//! interval of that mean (Student), so that of 54 right claims chance misses one every other time. Where the
//! reference is one run that is in no table, ours must lie where 99 % of single runs scatter, by our own
//! scatter, since the reference's is not known.
//!
//! - `orderings`: which protocol the text calls the better one, and what it says faster disks gain;
//! - `figure8`: no pattern in the latencies of successive puts;
//! - `lab`: table 4, a run on real hardware;
//! - `reads`: gets where disks read faster than they write, which the paper does not simulate;
//! - `rules`: the multicast groups of 900 servers.

mod figure8;
mod lab;
mod orderings;
mod reads;
mod rules;

use towtank_negotiation::Protocol;
use towtank_puts::{Bids, Faults, Fidelity, Network, Spec};
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};
use towtank_units::{Bytes, SimSpan};

use super::view::View;
use crate::published::student;

/// A cell of table 2 or 3, or a run of the reference that is in no table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The number of the table; none where only the reference was run.
    pub table: Option<u32>,
    /// The numbers of gateways and servers.
    pub nodes: (u32, u32),
    /// The speed of the disks in MiB/s.
    pub disk_mib: u64,
    /// The size of the chunks in KiB.
    pub chunk_kib: u64,
    /// The protocol.
    pub protocol: Protocol,
    /// The simulated time.
    pub duration_ms: u64,
    /// Chunks per second.
    pub rate: Quoted,
    /// Disk utilisation in percent.
    pub disk: Quoted,
    /// Mean latency in microseconds.
    pub latency: Quoted,
}

/// A printed number, and the results of runs of the reference; only the latter where the cell is in no table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quoted {
    /// As printed in the paper.
    pub paper: Option<f64>,
    /// Runs of the simulator's model code.
    pub runs: &'static [f64],
}

const fn quoted(paper: f64, runs: &'static [f64]) -> Quoted {
    Quoted { paper: Some(paper), runs }
}

impl Quoted {
    fn values(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        self.paper.into_iter().chain(self.runs.iter().copied())
    }

    fn count(&self) -> usize {
        self.values().count()
    }

    fn mean(&self) -> f64 {
        self.values().sum::<f64>() / self.count().max(1) as f64
    }

    /// The mean, with the range that the values span.
    fn reading(&self) -> Reading {
        let least = self.values().fold(f64::INFINITY, f64::min);
        let most = self.values().fold(f64::NEG_INFINITY, f64::max);
        Reading::with_range(self.paper.unwrap_or_else(|| self.mean()), least, most)
    }
}

const fn cell(
    [disk_mib, chunk_kib, duration_ms]: [u64; 3],
    protocol: Protocol,
    rate: Quoted,
    disk: Quoted,
    latency: Quoted,
) -> Cell {
    let table = Some(if disk_mib == 400 { 2 } else { 3 });
    Cell { table, nodes: (90, 90), disk_mib, chunk_kib, protocol, duration_ms, rate, disk, latency }
}

/// One run of the reference: chunks per second, utilisation in percent, mean latency.
const fn run(
    nodes: (u32, u32),
    [disk_mib, chunk_kib, duration_ms]: [u64; 3],
    protocol: Protocol,
    [rate, disk, latency]: [&'static [f64]; 3],
) -> Cell {
    let rate = Quoted { paper: None, runs: rate };
    let disk = Quoted { paper: None, runs: disk };
    let latency = Quoted { paper: None, runs: latency };
    Cell { table: None, nodes, disk_mib, chunk_kib, protocol, duration_ms, rate, disk, latency }
}

use Protocol::{ReplicastH, ReplicastM, UchCcp};

/// Runs of the reference that are in no table: other clusters, and other spans. Two more, of 0.4 ms with 6
/// gateways, have 11 to 25 chunks and are left to `docs/put.md`.
const RUNS: [Cell; 5] = [
    run((6, 18), [400, 16, 1], UchCcp, [&[63_000.0], &[43.4], &[90.0]]),
    run((6, 18), [400, 16, 1], ReplicastM, [&[68_000.0], &[45.7], &[84.8]]),
    run((6, 18), [400, 16, 1], ReplicastH, [&[37_000.0], &[24.8], &[151.4]]),
    run((90, 90), [1000, 1024, 80], ReplicastM, [&[21_925.0], &[74.3], &[3_942.3]]),
    run((90, 90), [1000, 1024, 80], ReplicastH, [&[16_762.0], &[57.9], &[5_125.2]]),
];

/// All 18 cells: the paper's numbers, and runs of the model code without jitter.
#[rustfmt::skip]
pub(super) const CELLS: [Cell; 18] = [
    cell([400, 16, 20], UchCcp, quoted(536_950.0, &[532_750.0]), quoted(70.6, &[70.1]), quoted(164.7, &[165.8])),
    cell([400, 16, 20], ReplicastM, quoted(635_750.0, &[639_050.0]), quoted(83.6, &[84.0]), quoted(139.0, &[138.3])),
    cell([400, 16, 20], ReplicastH, quoted(525_100.0, &[526_500.0]), quoted(69.0, &[69.2]), quoted(168.4, &[167.8])),
    cell([400, 128, 10], UchCcp, quoted(58_400.0, &[61_600.0, 57_300.0]), quoted(66.4, &[70.2, 65.2]), quoted(1_401.7, &[1_319.8, 1_410.4])),
    cell([400, 128, 10], ReplicastM, quoted(80_700.0, &[78_600.0, 80_100.0, 79_000.0]), quoted(90.6, &[87.9, 90.6, 88.8]), quoted(1_039.8, &[1_061.4, 1_047.5, 1_061.1])),
    cell([400, 128, 10], ReplicastH, quoted(73_400.0, &[76_100.0, 73_100.0, 72_000.0]), quoted(83.6, &[85.6, 82.8, 81.7]), quoted(1_132.6, &[1_098.5, 1_136.1, 1_156.7])),
    cell([400, 1024, 30], UchCcp, quoted(6_733.0, &[6_833.0, 6_400.0]), quoted(69.6, &[73.2, 67.9]), quoted(10_260.2, &[10_075.8, 10_610.3])),
    cell([400, 1024, 30], ReplicastM, quoted(8_067.0, &[8_333.0, 8_167.0]), quoted(85.6, &[85.6, 85.4]), quoted(9_210.8, &[9_059.5, 9_349.2])),
    cell([400, 1024, 30], ReplicastH, quoted(8_000.0, &[8_100.0, 8_267.0, 7_733.0]), quoted(84.9, &[83.7, 84.7, 81.1]), quoted(8_945.9, &[9_337.1, 9_045.3, 9_386.8])),
    cell([1000, 16, 10], UchCcp, quoted(918_500.0, &[929_300.0]), quoted(48.1, &[48.6]), quoted(96.0, &[94.9])),
    cell([1000, 16, 10], ReplicastM, quoted(907_400.0, &[899_800.0]), quoted(47.4, &[46.9]), quoted(97.0, &[97.9])),
    cell([1000, 16, 10], ReplicastH, quoted(632_200.0, &[634_700.0]), quoted(32.9, &[33.1]), quoted(139.3, &[138.9])),
    cell([1000, 128, 10], UchCcp, quoted(108_900.0, &[107_400.0, 105_400.0]), quoted(47.0, &[46.3, 45.9]), quoted(784.7, &[797.1, 807.7])),
    cell([1000, 128, 10], ReplicastM, quoted(176_000.0, &[175_800.0, 175_300.0, 164_800.0]), quoted(74.7, &[74.6, 74.5, 69.8]), quoted(489.5, &[492.9, 493.9, 525.3])),
    cell([1000, 128, 10], ReplicastH, quoted(127_900.0, &[127_900.0, 128_600.0, 130_400.0]), quoted(55.0, &[55.3, 55.6, 56.2]), quoted(673.0, &[674.0, 670.0, 663.5])),
    cell([1000, 1024, 40], UchCcp, quoted(13_475.0, &[13_275.0]), quoted(48.4, &[47.7]), quoted(6_042.9, &[6_200.0])),
    cell([1000, 1024, 40], ReplicastM, quoted(19_850.0, &[18_000.0, 19_225.0]), quoted(68.6, &[62.2, 66.6]), quoted(4_242.0, &[4_703.1, 4_352.1])),
    cell([1000, 1024, 40], ReplicastH, quoted(16_075.0, &[14_850.0, 15_275.0, 15_400.0]), quoted(57.1, &[53.2, 54.4, 54.9]), quoted(5_163.8, &[5_570.3, 5_446.0, 5_393.3])),
];

/// With fewer seeds than this, no claim about a table is made.
const SEEDS_MIN: usize = 10;
/// Where the reference is one run: 99 % of single runs lie within this many standard deviations.
const DEVIATIONS: f64 = 2.576;
/// Student's t for a two-sided 99 % interval, by degrees of freedom: those that the three sizes have.
const STUDENT_99: [(usize, f64); 3] = [(6, 3.707), (13, 3.012), (16, 2.921)];

/// Selects one of the three numbers of a cell.
type Number = fn(&Cell) -> Quoted;

/// How far the reference's true mean may lie from its estimate, as a fraction of it.
fn uncertainty(cell: &Cell, of: Number) -> f64 {
    scatter_99(cell.chunk_kib, of) / (of(cell).count() as f64).sqrt()
}

/// The scatter of single runs of the reference, as a fraction of their mean, times Student's t at 99 %: of
/// all cells of a size, pooled, with the count of their runs.
fn scatter_99(chunk_kib: u64, of: Number) -> f64 {
    let (mut squares, mut freedom) = (0.0, 0);
    for other in CELLS.iter().filter(|other| other.chunk_kib == chunk_kib) {
        let quoted = of(other);
        let mean = quoted.mean();
        squares += quoted.values().map(|value| (value / mean - 1.0) * (value / mean - 1.0)).sum::<f64>();
        freedom += quoted.count() - 1;
    }
    let student =
        STUDENT_99.iter().find(|(count, _)| *count == freedom).map_or(f64::NAN, |(_, student)| *student);
    student * (squares / freedom as f64).sqrt()
}

/// The tolerance for our value.
fn tolerance(cell: &Cell, of: Number, deviation: f64) -> Tolerance {
    let mean = of(cell).mean();
    let far = if cell.table.is_some() { mean * uncertainty(cell, of) } else { deviation * DEVIATIONS };
    Tolerance::Range { low: mean - far, high: mean + far }
}

/// The cell with the settings of this point, if there is one: the paper's cluster with all of SURGE's
/// numbers.
#[must_use]
fn cell_of(spec: &Spec, protocol: Protocol) -> Option<&'static Cell> {
    let usual = spec.fidelity == Fidelity::Surge
        && (spec.replicas, spec.group) == (3, 9)
        && spec.start_spread.is_zero()
        && spec.network == Network::default()
        && spec.bids == Bids::default()
        && spec.faults == Faults::default();
    let same = |cell: &&Cell| {
        cell.protocol == protocol
            && cell.nodes == (spec.gateways, spec.servers)
            && spec.chunk == Bytes::from_kib(cell.chunk_kib)
            && spec.disk.bytes_per_second() == cell.disk_mib << 20
            && spec.duration == SimSpan::from_ms(cell.duration_ms)
    };
    CELLS.iter().chain(&RUNS).filter(|_| usual).find(same)
}

/// All claims about published points.
#[must_use]
pub fn claims(views: &[&View<'_>]) -> Vec<Claim> {
    let whole = |view: &&&View<'_>| {
        let outcomes = view.result.outcomes;
        outcomes.len() >= SEEDS_MIN && !outcomes.iter().any(|outcome| outcome.partial)
    };
    let views: Vec<&View<'_>> = views.iter().filter(whole).copied().collect();
    // The scenarios of figures have the points of tables side by side, whose cells are judged with the
    // tables.
    let of_tables = views.iter().filter(|view| view.label.is_empty());
    let mut claims: Vec<Claim> = of_tables.flat_map(|view| of_cell(view)).collect();
    claims.extend(orderings::claims(&views));
    claims.extend(figure8::claims(&views));
    claims.extend(lab::claims(&views));
    claims.extend(reads::claims(&views));
    claims.extend(rules::claims(&views));
    claims
}

/// The claims about one protocol at one point of a table.
fn of_cell(view: &View<'_>) -> Vec<Claim> {
    let Some(cell) = cell_of(&view.settled.spec, view.protocol) else { return Vec::new() };
    let facts: [(&str, &str, f64, Number); 3] = [
        ("chunks_per_second", "chunks/s", 1.0, |cell| cell.rate),
        ("disk_utilisation", "%", 100.0, |cell| cell.disk),
        ("put_latency_mean_us", "us", 1.0, |cell| cell.latency),
    ];
    let claim = |(measure, unit, factor, of): (&str, &str, f64, Number)| {
        let mean = student(&view.values(measure))?;
        let (from, to) = mean.range?;
        let ((gateways, servers), disk, chunk) = (cell.nodes, cell.disk_mib, cell.chunk_kib);
        let at = match cell.table {
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
            statement: format!("{measure} of {} at {at}", view.protocol.name()),
            unit: unit.to_owned(),
            published: of(cell).reading(),
            ours: Reading::with_range(mean.mean * factor, from * factor, to * factor),
            tolerance: tolerance(cell, of, view.deviation(measure) * factor),
            fitted: false,
            note: Some(format!("{}; {} seeds", cell.note(of), view.result.outcomes.len())),
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

    fn note(&self, of: Number) -> String {
        match self.table {
            Some(_) => {
                let runs = of(self).runs.len();
                let of_runs = if runs == 1 { "one run".to_owned() } else { format!("{runs} runs") };
                format!(
                    "published: the paper and {of_runs} of its simulator's model code; ours must lie within the 99 % interval of their mean, by the scatter of such runs"
                )
            }
            None => "the reference is one run; ours must lie within the range of 99 % of single runs here"
                .to_owned(),
        }
    }
}

const SOURCE: &str = "Aizman and Bestler, Scalable object storage with resource reservations";

/// The probability that another request comes within `wait_us` of one, if requests come at random at the mean
/// rate `rate_per_us`.
#[must_use]
pub(super) fn chance_within(rate_per_us: f64, wait_us: f64) -> f64 {
    -libm::expm1(-rate_per_us * wait_us)
}

/// The influence of the start-up on the shares of table 5: with gateways that begin within 5 ms, ten seeds
/// each.
const SPREAD_OUT: [(u64, &str); 2] = [(128, "13.0"), (1024, "2.0")];

/// Table 5: the share of requests that find another bid of their server undecided, which the paper computes
/// from its rates of puts and the 7 us that a bid and its answer take: 1 - exp(-λt). (What it prints as the
/// formula, 1 - λ·exp(-λt), is a misprint.) It prints λ with one digit, so the possible range of the share is
/// that of the rates that round to λ.
fn undecided(cell: &Cell, view: &View<'_>) -> Option<Claim> {
    let (rate, half_digit, printed) = match (cell.disk_mib, cell.protocol, cell.chunk_kib) {
        (1000, Protocol::ReplicastM, 16) => (0.09, 0.005, 46.7),
        (1000, Protocol::ReplicastM, 128) => (0.02, 0.005, 13.0),
        (1000, Protocol::ReplicastM, 1024) => (0.002, 0.000_5, 1.39),
        _ => return None,
    };
    let mean = student(&view.values("undecided_share"))?;
    let (from, to) = mean.range?;
    let share = |rate: f64| chance_within(rate, BID_AND_ANSWER_US) * 100.0;
    let (low, high) = (share(rate - half_digit), share(rate + half_digit));
    let why = match SPREAD_OUT.iter().find(|(chunk, _)| *chunk == cell.chunk_kib) {
        Some((_, spread)) => format!(
            "; requests do not arrive at random here: all gateways start at once, and their first bids collide and fail; \
             with gateways that start within 5 ms, the share is {spread} %"
        ),
        None => String::new(),
    };
    let draft = ClaimDraft {
        name: format!("table_5_{}k", cell.chunk_kib),
        source: format!("{SOURCE}, table 5"),
        statement: format!("the share of requests at {} KiB that find another bid undecided", cell.chunk_kib),
        unit: "%".to_owned(),
        published: Reading::with_range(printed, low, high),
        ours: Reading::with_range(mean.mean * 100.0, from * 100.0, to * 100.0),
        tolerance: Tolerance::Range { low, high },
        fitted: false,
        note: Some(format!(
            "the paper computes it as 1 - exp(-λ · 7 us) with λ = {rate}/us; the range covers rates that round to λ{why}"
        )),
    };
    Some(draft.judge())
}

/// How long a bid is undecided: it goes to the gateway, and the answer comes back.
const BID_AND_ANSWER_US: f64 = 7.0;
