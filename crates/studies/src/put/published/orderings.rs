//! What the text of the paper says of its tables and figures: which protocol is the better one, and what
//! faster disks gain.
//!
//! Figures 8 to 13 are curves and bars without numbers, so the sentences about them are judged: an ordering
//! holds if the 95 % interval of the ratio lies above 1. Where the text gives a number (gains of 2.18 and
//! 2.4), ours must lie within the 99 % interval of the reference's ratio, by the same scatter as for the
//! tables. Replicates share no draws between protocols, so they are compared as independent samples.

use towtank_metrics::{Contrast, Pairing, ratio_95};
use towtank_negotiation::Protocol::{self, ReplicastH, ReplicastM, UchCcp};
use towtank_puts::Fidelity;
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

use super::{CELLS, Cell, Quoted, SOURCE, scatter_99};
use crate::published::reading;
use crate::put::view::View;

/// A measure that the text compares.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fact {
    Rate,
    Disk,
    /// The smaller one is the better.
    Latency,
}

impl Fact {
    fn measure(self) -> &'static str {
        match self {
            Fact::Rate => "chunks_per_second",
            Fact::Disk => "disk_utilisation",
            Fact::Latency => "put_latency_mean_us",
        }
    }

    fn of(self, cell: &Cell) -> Quoted {
        match self {
            Fact::Rate => cell.rate,
            Fact::Disk => cell.disk,
            Fact::Latency => cell.latency,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Fact::Rate => "more chunks per second",
            Fact::Disk => "higher utilisation of the disks",
            Fact::Latency => "lower mean latency",
        }
    }
}

/// One protocol is better than another, with each of some sizes of chunks.
struct Pair {
    gateways: u32,
    disk_mib: u64,
    chunks_kib: &'static [u64],
    better: Protocol,
    worse: &'static [Protocol],
    facts: &'static [Fact],
    source: &'static str,
}

const ALL_SIZES: &[u64] = &[16, 128, 1024];
const MEDIUM_AND_LARGE: &[u64] = &[128, 1024];

/// The sentences of sections IV.F and IV.H and of the appendix.
#[rustfmt::skip]
const PAIRS: [Pair; 7] = [
    Pair { gateways: 90, disk_mib: 400, chunks_kib: ALL_SIZES, better: ReplicastM, worse: &[UchCcp, ReplicastH], facts: &[Fact::Rate, Fact::Latency], source: "on table 2" },
    Pair { gateways: 90, disk_mib: 1000, chunks_kib: MEDIUM_AND_LARGE, better: ReplicastH, worse: &[UchCcp], facts: &[Fact::Rate, Fact::Latency], source: "on table 3" },
    Pair { gateways: 90, disk_mib: 400, chunks_kib: ALL_SIZES, better: ReplicastM, worse: &[UchCcp], facts: &[Fact::Disk], source: "section IV.H" },
    Pair { gateways: 90, disk_mib: 1000, chunks_kib: ALL_SIZES, better: ReplicastM, worse: &[UchCcp], facts: &[Fact::Disk], source: "section IV.H" },
    Pair { gateways: 30, disk_mib: 400, chunks_kib: &[16], better: ReplicastM, worse: &[UchCcp], facts: &[Fact::Latency], source: "figure 8" },
    Pair { gateways: 30, disk_mib: 400, chunks_kib: MEDIUM_AND_LARGE, better: ReplicastM, worse: &[UchCcp, ReplicastH], facts: &[Fact::Rate, Fact::Disk], source: "figures 12 and 13" },
    Pair { gateways: 30, disk_mib: 1000, chunks_kib: MEDIUM_AND_LARGE, better: ReplicastM, worse: &[UchCcp, ReplicastH], facts: &[Fact::Rate, Fact::Disk], source: "figures 12 and 13" },
];

/// What disks of the higher speed gain, as printed, and the spans of both runs in ms.
struct Gain {
    chunk_kib: u64,
    printed: f64,
    ms: [u64; 2],
}

/// What faster disks gain for Replicast-M: the size of chunks, the printed factor, and the simulated times of
/// the two tables in milliseconds.
const GAINS: [Gain; 2] = [
    Gain { chunk_kib: 128, printed: 2.18, ms: [10, 10] },
    Gain { chunk_kib: 1024, printed: 2.4, ms: [30, 40] },
];
/// What the text still calls almost linear.
const ALMOST_LINEAR: f64 = 2.18;
/// The speeds of disks in MiB/s.
const DISKS: [u64; 2] = [400, 1000];

/// All claims that these views allow.
pub fn claims(views: &[&View<'_>]) -> Vec<Claim> {
    let points = Points(views);
    let swept = views.iter().any(|view| !view.label.is_empty());
    // Points of tables are compared where their cells are, so that no claim is made twice.
    let mut claims: Vec<Claim> = PAIRS
        .iter()
        .filter(|pair| pair.gateways != 90 || !swept)
        .flat_map(|pair| points.pair(pair))
        .collect();
    claims.extend(points.sorted());
    claims.extend(GAINS.iter().flat_map(|gain| points.gains(gain)));
    claims.extend(points.similar());
    claims.extend(points.sizes());
    claims.extend(points.almost_linear());
    claims
}

/// Where a protocol ran. Without a time, any will do.
#[derive(Clone, Copy)]
struct At {
    gateways: u32,
    chunk_kib: u64,
    disk_mib: u64,
    ms: Option<u64>,
}

/// The published points that ran.
struct Points<'v, 'a>(&'v [&'v View<'a>]);

impl<'v, 'a> Points<'v, 'a> {
    fn find(&self, at: At, protocol: Protocol) -> Option<&'v View<'a>> {
        let fits = |view: &&&View<'_>| {
            let spec = &view.settled.spec;
            view.protocol == protocol
                && spec.fidelity == Fidelity::Surge
                && (spec.gateways, spec.servers) == (at.gateways, 90)
                && spec.chunk.get() == at.chunk_kib << 10
                && spec.disk.bytes_per_second() == at.disk_mib << 20
                && at.ms.is_none_or(|ms| spec.duration.as_ns() == ms * 1_000_000)
        };
        self.0.iter().find(fits).copied()
    }

    fn pair(&self, pair: &Pair) -> Vec<Claim> {
        let mut claims = Vec::new();
        for &chunk_kib in pair.chunks_kib {
            let at = At { gateways: pair.gateways, chunk_kib, disk_mib: pair.disk_mib, ms: None };
            for &worse in pair.worse {
                let found = self.find(at, pair.better).zip(self.find(at, worse));
                claims.extend(found.iter().flat_map(|(better, other)| {
                    pair.facts.iter().map(|fact| ordering(pair, at, *fact, better, other))
                }));
            }
        }
        claims
    }

    /// What faster disks gain for a protocol, for each replicate.
    fn gain(
        &self,
        gateways: u32,
        chunk_kib: u64,
        protocol: Protocol,
        ms: [Option<u64>; 2],
    ) -> Option<Vec<f64>> {
        let [slow, fast] = [0, 1].map(|at| {
            let at = At { gateways, chunk_kib, disk_mib: DISKS[at], ms: ms[at] };
            Some(self.find(at, protocol)?.values(Fact::Rate.measure()))
        });
        Some(ratios(&fast?, &slow?))
    }

    /// The gain of Replicast-M as printed, and that the others gain less.
    fn gains(&self, gain: &Gain) -> Vec<Claim> {
        let Gain { chunk_kib, printed, ms } = gain;
        let of = |protocol| self.gain(90, *chunk_kib, protocol, ms.map(Some));
        let Some(ours) = of(ReplicastM) else { return Vec::new() };
        let cells = DISKS.map(|disk| cell(*chunk_kib, disk, ReplicastM));
        let [slow, fast] = cells.map(|cell| cell.map_or(Quoted { paper: None, runs: &[] }, |cell| cell.rate));
        let claim = ClaimDraft {
            name: format!("replicast_m_gain_{chunk_kib}k"),
            source: format!("{SOURCE}, on figure 9"),
            statement: format!(
                "with {chunk_kib} KiB, Replicast-M stores {printed} times as much with disks of 1000 MiB/s as with 400"
            ),
            unit: String::new(),
            published: Reading::of(*printed),
            ours: reading(&ours),
            tolerance: of_ratio(*chunk_kib, &fast, &slow),
            fitted: false,
            note: Some(format!("{}; disks are 2.5 times as fast", REFERENCE_RATIO)),
        };
        let mut claims = vec![claim.judge()];
        for other in [UchCcp, ReplicastH] {
            let Some(theirs) = of(other) else { continue };
            claims.push(greater(
                format!("replicast_m_gains_more_than_{}_{chunk_kib}k", snake_case(other)),
                "on figure 9",
                format!(
                    "with {chunk_kib} KiB, {} gains less from faster disks than Replicast-M",
                    other.name()
                ),
                ratio_95(&ours, &theirs, Pairing::Independent),
            ));
        }
        claims
    }

    /// With slow disks, the two variants of Replicast are called similar. How much that is, the tables say.
    fn similar(&self) -> Option<Claim> {
        let at = At { gateways: 90, chunk_kib: 128, disk_mib: 400, ms: Some(10) };
        // Made where both speeds are, as in figure 9.
        self.find(At { disk_mib: 1000, ..at }, ReplicastM)?;
        let rates = |protocol| Some(self.find(at, protocol)?.values(Fact::Rate.measure()));
        let ours = ratio_95(&rates(ReplicastM)?, &rates(ReplicastH)?, Pairing::Independent)?;
        let [m, h] = [ReplicastM, ReplicastH].map(|protocol| cell(128, 400, protocol));
        let (m, h) = (m?.rate, h?.rate);
        let draft = ClaimDraft {
            name: "replicast_m_and_h_similar_128k_400".to_owned(),
            source: format!("{SOURCE}, on figure 9"),
            statement:
                "with 128 KiB and slow disks, Replicast-M and Replicast-H are as similar as in table 2"
                    .to_owned(),
            unit: String::new(),
            published: Reading::of(m.paper? / h.paper?),
            ours: Reading::from(ours),
            tolerance: of_ratio(128, &m, &h),
            fitted: false,
            note: Some(REFERENCE_RATIO.to_owned()),
        };
        Some(draft.judge())
    }

    /// How many times as much as UCH-CCP Replicast-M stores, for each replicate.
    fn benefit(&self, chunk_kib: u64, disk_mib: u64) -> Option<Vec<f64>> {
        let at = At { gateways: 90, chunk_kib, disk_mib, ms: None };
        let rates = |protocol| Some(self.find(at, protocol)?.values(Fact::Rate.measure()));
        Some(ratios(&rates(ReplicastM)?, &rates(UchCcp)?))
    }

    /// Comparisons of sizes: figures 9 and 10.
    fn sizes(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for (chunk_kib, disk) in [(128, 400), (1024, 400), (128, 1000), (1024, 1000)] {
            let (Some(more), Some(less)) = (self.benefit(chunk_kib, disk), self.benefit(16, disk)) else {
                continue;
            };
            let benefit = |chunk_kib| printed(chunk_kib, disk, ReplicastM, UchCcp, Fact::Rate);
            let mut claim = ClaimDraft::greater(
                &format!("benefit_{chunk_kib}k_over_16k_{disk}"),
                &format!("{SOURCE}, on figure 10"),
                &format!(
                    "at {disk} MiB/s, Replicast-M gains more over UCH-CCP with {chunk_kib} KiB than with 16 KiB"
                ),
                ratio_95(&more, &less, Pairing::Independent),
            );
            claim.note = benefit(chunk_kib).zip(benefit(16)).map(|(more, less)| {
                format!("the paper's tables: {more:.3} times with {chunk_kib} KiB, {less:.3} with 16 KiB")
            });
            claims.push(claim.judge());
        }
        let gain = |chunk_kib, protocol| self.gain(90, chunk_kib, protocol, [None; 2]);
        // The scenario of one size has no other to compare with.
        for (protocol, more, less, source) in [
            (ReplicastM, 1024, 128, "on figure 9"),
            (ReplicastM, 128, 16, "on table 3"),
            (ReplicastH, 128, 16, "on table 3"),
        ] {
            let Some((left, right)) = gain(more, protocol).zip(gain(less, protocol)) else { continue };
            let mut claim = greater(
                format!("{}_gain_{more}k_over_{less}k", snake_case(protocol)),
                source,
                format!(
                    "{} gains more from faster disks with {more} KiB than with {less} KiB",
                    protocol.name()
                ),
                ratio_95(&left, &right, Pairing::Independent),
            );
            claim.note = (more == 1024).then(|| EQUAL_TIMES.to_owned());
            claims.push(claim);
        }
        claims
    }

    /// The appendix: with 30 gateways, too, Replicast-M scales almost linearly.
    fn almost_linear(&self) -> Vec<Claim> {
        let claim = |&chunk_kib: &u64| {
            let ours = self.gain(30, chunk_kib, ReplicastM, [None; 2])?;
            let draft = ClaimDraft {
                name: format!("replicast_m_gain_{chunk_kib}k_30_gateways"),
                source: format!("{SOURCE}, on figures 12 and 13"),
                statement: format!(
                    "30 gateways with {chunk_kib} KiB: Replicast-M scales almost linearly with the speed of disks"
                ),
                unit: String::new(),
                published: Reading::of(ALMOST_LINEAR),
                ours: reading(&ours),
                tolerance: Tolerance::AtLeast,
                fitted: false,
                note: Some(ALMOST_LINEAR_NOTE.to_owned()),
            };
            Some(draft.judge())
        };
        MEDIUM_AND_LARGE.iter().filter_map(claim).collect()
    }

    /// Figure 11: the latencies of all puts, sorted.
    fn sorted(&self) -> Vec<Claim> {
        let claim = |disk_mib: u64| {
            let at = At { gateways: 90, chunk_kib: 16, disk_mib, ms: None };
            let (better, worse) = self.find(at, ReplicastM).zip(self.find(at, UchCcp))?;
            better.label.is_empty().then(|| sorted_latency(disk_mib, better, worse))?
        };
        DISKS.into_iter().filter_map(claim).collect()
    }
}

const REFERENCE_RATIO: &str = "ours must lie within the 99 % interval of the ratio of the two cells of the tables, each the mean of \
     the paper's number and of runs of its simulator's model code, by the scatter of such runs";
const EQUAL_TIMES: &str = "all runs have the same length here. The paper compares 30 ms of slow disks with 40 ms of fast ones at 1 MiB, where \
     the cold start takes a larger part of the slow run";
const ALMOST_LINEAR_NOTE: &str = "the text gives no number for 30 gateways; with 90 it calls 2.18 almost linear. The length of the \
     paper's runs with 30 gateways is not known; 40 ms are assumed";

/// The parts of the sorted curve at which it is compared.
const QUANTILES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// Whether Replicast-M is faster at every part of the curve; the part where that is least certain decides.
fn sorted_latency(disk_mib: u64, better: &View<'_>, worse: &View<'_>) -> Option<Claim> {
    let low = |step: &(f64, Contrast)| step.1.range.map_or(f64::NEG_INFINITY, |range| range.0);
    let at = |q: f64| {
        let of = |view: &View<'_>| view.quantiles(q);
        Some((q, ratio_95(&of(worse), &of(better), Pairing::Independent)?))
    };
    let ratios: Vec<(f64, Contrast)> = QUANTILES.into_iter().filter_map(at).collect();
    let (q, least) = ratios.iter().min_by(|left, right| low(left).total_cmp(&low(right))).copied()?;
    let reversed: Vec<String> = ratios
        .iter()
        .filter(|(_, ratio)| ratio.range.is_some_and(|range| range.1 < 1.0))
        .map(|(q, ratio)| format!("p{:.0} ({:.3})", q * 100.0, ratio.value))
        .collect();
    let mut note = format!("the least certain of {} parts of the curve is p{:.0}", ratios.len(), q * 100.0);
    if !reversed.is_empty() {
        note.push_str(&format!("; UCH-CCP is faster at {}", reversed.join(", ")));
    }
    note.push_str(if disk_mib == 400 {
        "; the paper does not say the speed of the disks of figure 11"
    } else {
        "; table 3 of the paper itself has a mean of 97.0 us by Replicast-M and 96.0 by UCH-CCP here"
    });
    let draft = ClaimDraft::greater(
        &format!("sorted_latency_16k_{disk_mib}"),
        &format!("{SOURCE}, figure 11"),
        &format!("16 KiB, {disk_mib} MiB/s: Replicast-M has consistently lower latency than UCH-CCP"),
        Some(least),
    );
    Some(ClaimDraft { note: Some(note), ..draft }.judge())
}

/// The ratio of the same replicates' values.
fn ratios(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(left, right)| left / right).collect()
}

fn snake_case(protocol: Protocol) -> String {
    protocol.name().replace('-', "_")
}

fn cell(chunk_kib: u64, disk_mib: u64, protocol: Protocol) -> Option<&'static Cell> {
    let same =
        |cell: &&Cell| (cell.chunk_kib, cell.disk_mib, cell.protocol) == (chunk_kib, disk_mib, protocol);
    CELLS.iter().find(same)
}

/// The better value over the worse as the paper prints them, so that more than 1 agrees with its text.
fn printed(chunk_kib: u64, disk_mib: u64, better: Protocol, worse: Protocol, fact: Fact) -> Option<f64> {
    let of = |protocol| fact.of(cell(chunk_kib, disk_mib, protocol)?).paper;
    let ratio = of(better)? / of(worse)?;
    Some(if fact == Fact::Latency { 1.0 / ratio } else { ratio })
}

/// The 99 % interval of the ratio of two cells of one size.
fn of_ratio(chunk_kib: u64, over: &Quoted, under: &Quoted) -> Tolerance {
    let share = |quoted: &Quoted| 1.0 / quoted.count() as f64;
    let far = scatter_99(chunk_kib, |cell| cell.rate) * (share(over) + share(under)).sqrt();
    let ratio = over.mean() / under.mean();
    Tolerance::Range { low: ratio * (1.0 - far), high: ratio * (1.0 + far) }
}

fn greater(name: String, source: &str, statement: String, ratio: Option<Contrast>) -> Claim {
    ClaimDraft::greater(&name, &format!("{SOURCE}, {source}"), &statement, ratio).judge()
}

fn ordering(pair: &Pair, at: At, fact: Fact, better: &View<'_>, worse: &View<'_>) -> Claim {
    let At { gateways, chunk_kib, disk_mib, .. } = at;
    let [left, right] = [better, worse].map(|view| view.values(fact.measure()));
    let (over, under) = if fact == Fact::Latency { (right, left) } else { (left, right) };
    let (first, second) = (better.protocol, worse.protocol);
    let draft = ClaimDraft::greater(
        &format!(
            "{}_over_{}_{chunk_kib}k_{disk_mib}_{}",
            snake_case(first),
            snake_case(second),
            fact.measure()
        ),
        &format!("{SOURCE}, {}", pair.source),
        &format!(
            "{gateways} gateways, {chunk_kib} KiB, {disk_mib} MiB/s: {} has {} than {}",
            first.name(),
            fact.words(),
            second.name()
        ),
        ratio_95(&over, &under, Pairing::Independent),
    );
    let theirs = (gateways == 90).then(|| printed(chunk_kib, disk_mib, first, second, fact)).flatten();
    let note = theirs.map(|theirs| {
        let own = if theirs > 1.0 { "" } else { ", against its own text" };
        format!("the paper's tables: {theirs:.3} times{own}")
    });
    ClaimDraft { note, ..draft }.judge()
}
