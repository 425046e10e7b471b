//! Invented reports with every kind of figure, cell and verdict, for the tests here and in `web/`.
//!
//! The numbers come only from additions, multiplications, divisions and square roots, so that the golden
//! files are the same on every machine.

mod figures;

use serde_json::json;

use crate::runs::Run;
use crate::{
    Answer, Cell, ClaimDraft, Column, Label, Line, Measure, Ordered, Outcome, PointSummary, Reading, Report,
    Standing, Status, Step, SweepAxis, Table, Tolerance, Warning, title,
};

/// A deterministic pseudo-random generator.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in [0, 1): the multiplier and increment are Knuth's MMIX generator.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double")]
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// Approximately normal, mean 0 and deviation 1: twelve uniforms, less six.
    pub(crate) fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Skewed to the right, at least 1, as latencies are.
    pub(crate) fn skewed(&mut self, weight: f64) -> f64 {
        let u = self.unit();
        1.0 + 0.6 * self.unit() + weight * u * u / (1.03 - u)
    }
}

/// Invented seconds to rebuild: the data divided by the streams of the remaining servers.
pub(crate) fn rebuild_seconds(servers: f64, streams: f64) -> f64 {
    let rate = 180e6 * (servers - 1.0) * streams / (streams + 1.5);
    48e12 / rate + 240.0
}

const SERVERS: [u32; 5] = [8, 16, 24, 32, 64];
const STREAMS: [u32; 2] = [1, 4];

/// A sweep with every kind of figure; sixteen servers in the chord diagram.
#[must_use]
pub fn rebuild() -> Report {
    rebuild_of(16)
}

/// The same with `servers` servers in the chord diagram.
#[must_use]
pub fn rebuild_of(servers: usize) -> Report {
    Report {
        study: "rebuild".to_owned(),
        title: "Rebuild after losing one server".to_owned(),
        answer: rebuild_answer(),
        scenario: scenario(),
        scenario_hash: "9f2c4e51d07ab8366b1b54dca2c0f5f27dd18b5c9f0b6a3ce1f4a8b77e02d913".to_owned(),
        seed: 7,
        replicates: 30,
        executor: "conservative".to_owned(),
        digest: Some("b7e4a19c05d2f3386a4e90b1c7f52d08".to_owned()),
        events: 184_203_551,
        sweep: vec![
            SweepAxis { key: "cluster.servers".to_owned(), values: SERVERS.map(|n| json!(n)).to_vec() },
            SweepAxis { key: "recovery.streams".to_owned(), values: STREAMS.map(|n| json!(n)).to_vec() },
        ],
        glossary: glossary(),
        points: points(),
        runs: runs(&points()),
        tables: vec![disks(), events()],
        figures: figures::all(servers),
        claims: claims(),
        warnings: vec![
            Warning::unknown(
                "12 of 300 replicates ran out of spare space; their rebuild time counts as missing",
            ),
            Warning::note("disk.fail_rate is a choice, not a measurement: see docs/devices.md"),
        ],
        ..Report::default()
    }
}

/// An answer with every part.
fn rebuild_answer() -> Answer {
    let mut answer = Answer::of("With 64 servers and 4 streams each, redundancy is back in 1 h 34 min.")
        .line(Label::Limit, "the disks: 88 % of the time")
        .line(Label::Try, "`recovery.streams = 8`: 1 h 12 min instead of 1 h 34 min")
        .line(Label::Also, "the network is never the limit")
        .line(Label::LeavesOut, "scrubs")
        .comparing("events");
    answer.course = vec![
        Step::at(0.0, "server-03 fails"),
        Step::at(2.5, "detected"),
        Step::at(60.0, "marked out"),
        Step::over(&[5_640.0, 5_700.0, 5_580.0], "all copies back").expect("there are three times"),
    ];
    answer.lines.push(Line {
        label: Label::Assumed,
        text: "disks of 180 MB/s".to_owned(),
        change: Some("--disk-write".to_owned()),
    });
    answer
}

/// A single point, with and without intervals, and with a missing value.
#[must_use]
pub fn queue() -> Report {
    let mut summary = Ordered::new();
    summary.insert("mean_wait".to_owned(), Measure::new(3.981_22, "s", 30).with_interval(3.921_4, 4.041_04));
    summary.insert("utilisation".to_owned(), Measure::new(0.799_871, "", 30).with_interval(0.797_9, 0.801_8));
    summary.insert("p99_wait".to_owned(), Measure::new(18.233, "s", 30).with_interval(17.9, 18.57));
    summary.insert("throughput".to_owned(), Measure::new(0.8, "requests/s", 1));
    summary.insert("served".to_owned(), Measure::new(2_400_113.0, "requests", 30));
    let reason = "the queue has no limit, so nothing can be refused";
    summary.insert("refused_share".to_owned(), Measure::missing("%", 0, reason));
    Report {
        study: "queue".to_owned(),
        title: "M/M/1 queue at load 0.8".to_owned(),
        // A queue has no verdict; it is here so that the page's tests have one.
        answer: Answer::of("A request waits 3.98 s on average, within 0.5 % of the closed form.")
            .with_verdict(Some(Standing::new(Status::AtRisk, "the desk is busy 80 % of the time"))),
        headline: Some("mean_wait".to_owned()),
        main_figure: Some(figures::tail().id),
        titles: titles(&summary),
        scenario: json!({"study": "queue", "queue": {"arrival_rate": "0.8/s", "service_rate": "1/s", "stations": 1}}),
        scenario_hash: "00d1c2b3a4958677".to_owned(),
        seed: u64::MAX,
        replicates: 30,
        executor: "sequential".to_owned(),
        digest: Some("5b0f9c2e".to_owned()),
        events: 4_800_226,
        summary,
        glossary: glossary(),
        figures: vec![figures::tail()],
        tables: vec![cells()],
        ..Report::default()
    }
}

/// Two replicates of each point.
fn runs(points: &[PointSummary]) -> Option<Table> {
    let outcome = |point: &PointSummary, factor: f64| {
        let mut outcome = Outcome { events: 613_000, ..Outcome::default() };
        for (name, measure) in &point.summary {
            match measure.value() {
                Some(value) => outcome.measure(name, value * factor, measure.unit()),
                None => outcome.missing(name, measure.unit(), measure.reason().unwrap_or_default()),
            }
        }
        outcome
    };
    let outcomes: Vec<Outcome> =
        points.iter().flat_map(|point| [outcome(point, 0.99), outcome(point, 1.01)]).collect();
    let run = |(at, outcome)| {
        let at: u32 = at;
        Run { settings: &points[at as usize / 2].settings, replicate: at % 2, outcome }
    };
    crate::runs::table(&(0..).zip(&outcomes).map(run).collect::<Vec<_>>())
}

fn titles(summary: &Ordered<Measure>) -> Ordered<String> {
    summary.iter().map(|(name, measure)| (name.clone(), title::of(name, measure.unit()))).collect()
}

fn glossary() -> Ordered<String> {
    let lines = [
        ("rebuild_span", "from the failure until every object has its copies again"),
        ("bytes_moved", "bytes read from surviving copies"),
        ("mean_wait", "from arrival to the start of service"),
        ("utilisation", "share of time the server is busy"),
    ];
    lines.into_iter().map(|(name, about)| (name.to_owned(), about.to_owned())).collect()
}

fn scenario() -> serde_json::Value {
    json!({
        "study": "rebuild",
        "seed": 7,
        "replicates": 30,
        "cluster": {"servers": 16, "racks": 4, "disks_per_server": 12, "disk": "hdd-16t"},
        "layout": {"replicas": 3, "groups": 4096, "spread": "rack"},
        "recovery": {"streams": 4, "chunk": "4MiB", "rate_limit": null, "order": ["degraded", "misplaced"]},
        "link": {"rate": "25Gbit/s", "delay": "20us"},
        "failure": {"server": 3, "at": "10min", "note": "pulled, <not> drained"},
    })
}

fn points() -> Vec<PointSummary> {
    let mut noise = Noise::new(11);
    let mut points = Vec::new();
    for servers in SERVERS {
        for streams in STREAMS {
            let span = rebuild_seconds(f64::from(servers), f64::from(streams)) * (1.0 + 0.02 * noise.bell());
            let half = span * (0.02 + 0.02 * noise.unit());
            let mut summary = Ordered::new();
            let measured = Measure::new(span, "s", 30).with_interval(span - half, span + half);
            summary.insert("rebuild_span".to_owned(), measured);
            let moved = 48e12 * (1.0 + 0.001 * noise.bell());
            let measured = Measure::new(moved, "bytes", 30).with_interval(moved * 0.999, moved * 1.001);
            summary.insert("bytes_moved".to_owned(), measured);
            let lost = "no object lost all its copies in any replicate";
            let loss =
                if servers == 8 { Measure::new(0.002, "", 30) } else { Measure::missing("", 30, lost) };
            summary.insert("loss_probability".to_owned(), loss);
            points.push(PointSummary {
                settings: [("cluster.servers", servers), ("recovery.streams", streams)]
                    .map(|(key, value)| (key.to_owned(), json!(value)))
                    .into_iter()
                    .collect(),
                label: format!("servers={servers}, streams={streams}"),
                summary,
                digest: Some(format!("{:08x}", servers * 7_919 + streams)),
                partial: false,
            });
        }
    }
    points
}

/// Sixty rows, so that the terminal and the page must hide some.
fn disks() -> Table {
    let columns = vec![
        Column::text("disk"),
        Column::text("server"),
        Column::number("read", "bytes"),
        Column::number("rate", "bytes/s"),
        Column::number("busy", "%"),
        Column::number("queue_depth_max", ""),
        Column::flag("source"),
    ];
    let mut table =
        Table::new("disks", "Disks during the rebuild", columns).about("One row per disk, of replicate 0.");
    let mut noise = Noise::new(3);
    for disk in 0_u32..60 {
        let read = 2.4e11 * (0.6 + 0.8 * noise.unit());
        let source = disk % 7 != 3;
        let busy: Cell =
            if source { (100.0 * noise.unit()).into() } else { Cell::missing("the disk was down") };
        table.push(vec![
            format!("disk-{disk:02}").into(),
            format!("server-{:02}", disk / 12).into(),
            read.round().into(),
            (read / 5_400.0).into(),
            busy,
            (1 + disk * disk % 31).into(),
            source.into(),
        ]);
    }
    table
}

fn events() -> Table {
    let columns = vec![Column::number("at", "s"), Column::text("event"), Column::text("what_it_means")];
    let mut table = Table::new("events", "What happened", columns);
    let rows = [
        (600.0, "server-03 fails", "its 12 disks are gone at once; 1,024 groups are degraded"),
        (602.5, "failure detected", "five heartbeats of 500 ms were missed"),
        (660.25, "new map", "every group has a full set of servers again, most of them without data"),
        (6_240.0, "last object copied", "redundancy is back; from here on another failure loses nothing"),
    ];
    for (at, event, meaning) in rows {
        table.push(vec![at.into(), event.into(), meaning.into()]);
    }
    table
}

/// Cells that are hard to write as CSV.
fn cells() -> Table {
    let columns = vec![Column::text("text"), Column::number("number", "requests/s"), Column::flag("flag")];
    let mut table = Table::new("cells", "Cells of every kind", columns);
    let texts = ["plain", "", "a, \"b\"\nc", "=1+1", "'quoted", " space ", "-5", "é ☃ <b>"];
    let numbers: [Cell; 8] = [
        1.5.into(),
        u64::MAX.into(),
        (-0.0).into(),
        1e21.into(),
        1e-7.into(),
        f64::NAN.into(),
        Cell::Empty,
        i64::MIN.into(),
    ];
    for (at, (text, number)) in texts.into_iter().zip(numbers).enumerate() {
        table.push(vec![text.into(), number, (at % 2 == 0).into()]);
    }
    table.push(vec![Cell::Empty, Cell::missing("nothing was measured"), Cell::Empty]);
    table
}

fn claims() -> Vec<Claim> {
    let draft = |name: &str, statement: &str, published: Reading, ours: Reading| ClaimDraft {
        name: name.to_owned(),
        source: "Weil et al., OSDI 2006, figure 7".to_owned(),
        statement: statement.to_owned(),
        unit: "s".to_owned(),
        published,
        ours,
        tolerance: Tolerance::Relative { fraction: 0.1 },
        fitted: false,
        note: None,
    };
    let of = Reading::of;
    vec![
        draft(
            "rebuild_span_16",
            "sixteen servers rebuild in two hours",
            of(7200.0),
            Reading::with_range(7010.0, 6800.0, 7220.0),
        )
        .judge(),
        ClaimDraft {
            tolerance: Tolerance::Interval,
            note: Some("the paper counts detection, which took 90 s there".to_owned()),
            ..draft(
                "rebuild_span_64",
                "64 servers rebuild in 26 minutes",
                of(1560.0),
                Reading::with_range(1702.0, 1650.0, 1754.0),
            )
        }
        .judge(),
        ClaimDraft {
            fitted: true,
            unit: "bytes/s".to_owned(),
            tolerance: Tolerance::Range { low: 170e6, high: 190e6 },
            ..draft("disk_rate", "a disk streams 180 MB/s", of(180e6), of(180e6))
        }
        .judge(),
        ClaimDraft {
            unit: String::new(),
            source: "closed form".to_owned(),
            tolerance: Tolerance::AtMost,
            ..draft("imbalance", "the fullest disk holds at most 1.3 times the mean", of(1.3), of(1.22))
        }
        .judge()
        .loosened("the closed form gives 1.2 for disks of one size; these are of three"),
        ClaimDraft {
            unit: String::new(),
            tolerance: Tolerance::Above,
            ..draft(
                "groups_steadier",
                "with groups the span is spread less over seeds",
                of(1.0),
                Reading::with_range(1.08, 0.71, 1.64),
            )
        }
        .judge(),
    ]
}

use crate::Claim;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{csv, golden};

    /// The page's tests read these files: the same reports, and the CSV files that both sides must write
    /// identically.
    #[test]
    fn the_page_is_given_the_same_reports() {
        for (name, report) in [("rebuild", rebuild()), ("queue", queue())] {
            golden::check(&format!("web/test/golden/{name}.json"), &report.to_json());
            for file in csv::files(&report) {
                golden::check(&format!("web/test/golden/{name}-{}", file.name), &file.text);
            }
        }
    }

    #[test]
    fn samples_hold_every_kind_of_figure() {
        let report = rebuild_of(64);
        let json = report.to_json();
        for kind in ["line", "box", "boxes", "histogram", "ecdf", "heatmap", "timeline", "chord", "bar"] {
            assert!(json.contains(&format!("\"type\": \"{kind}\"")), "{kind}");
        }
        assert_eq!(Report::from_json(&json).unwrap(), report);
    }
}
