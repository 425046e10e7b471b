//! One figure of every kind, with invented data.

use super::{Noise, SERVERS, STREAMS, rebuild_seconds};
use crate::{
    Axis, Band, BarSeries, Bin, BoxSeries, BoxStats, ChordFlows, CurvePoint, Draw, EcdfSeries, Figure,
    HistogramSeries, Kind, Lane, LineSeries, Mark, Num, PlacedBox, Reference, Span,
};

pub(crate) fn all(servers: usize) -> Vec<Figure> {
    vec![
        speedup(),
        progress(),
        boxes(),
        placed(),
        latencies(),
        ecdf(),
        tail(),
        heat(),
        lanes(),
        chord(servers),
        stacked(),
        grouped(),
        scatter(),
    ]
}

fn figure(id: &str, title: &str, caption: &str, kind: Kind) -> Figure {
    Figure::new(id, title, caption, kind)
}

/// Log-log, with intervals and the ideal line.
fn speedup() -> Figure {
    let mut noise = Noise::new(21);
    let series = STREAMS.map(|streams| LineSeries {
        name: format!("{streams} stream{} per server", if streams == 1 { "" } else { "s" }),
        points: SERVERS
            .map(|servers| {
                let span = rebuild_seconds(servers.into(), streams.into());
                let half = span * (0.05 + 0.1 * noise.unit());
                CurvePoint {
                    low: (span - half).into(),
                    high: (span + half).into(),
                    ..CurvePoint::new(servers, span)
                }
            })
            .to_vec(),
        draw: Draw::Line,
    });
    let ideal = SERVERS.map(|n| CurvePoint::new(n, rebuild_seconds(8.0, 4.0) * 8.0 / f64::from(n)));
    figure(
        "speedup",
        "Rebuild time against cluster size",
        "Shaded: 95 % interval over 30 replicates. Twice the servers halve the time until detection dominates.",
        Kind::Line {
            x: Axis::log("servers", ""),
            y: Axis::log("rebuild time", "s"),
            series: series.to_vec(),
            references: vec![Reference::Curve { name: "ideal".to_owned(), points: ideal.to_vec() }],
        },
    )
}

fn progress() -> Figure {
    let mut noise = Noise::new(5);
    let series = ["rack 1", "rack 2", "rack 3"].map(|name| {
        let (mut share, speed) = (0.0, 0.6 + noise.unit());
        let points = (0_u32..=60).map(|minute| {
            if minute > 10 {
                share += speed * 2.0 * noise.unit() * (100.0 - share) / 30.0;
            }
            let y = if (34..37).contains(&minute) && name == "rack 2" { Num::MISSING } else { share.into() };
            CurvePoint::new(f64::from(minute) * 60.0, y)
        });
        LineSeries { name: name.to_owned(), points: points.collect(), draw: Draw::Step }
    });
    figure(
        "progress",
        "Objects with all their copies",
        "Rack 2 reported nothing for three minutes.",
        Kind::Line {
            x: Axis::linear("time", "s"),
            y: Axis::linear("objects restored", "%"),
            series: series.to_vec(),
            references: vec![
                Reference::Vertical { name: "failure".to_owned(), at: 600.0.into() },
                Reference::Horizontal { name: "goal".to_owned(), at: 95.0.into() },
            ],
        },
    )
    .with_bands(Band::one_after_the_other([("all is well", 600.0), ("wait", 0.0), ("rebuild", 3000.0)]))
}

/// A box at each place of a numeric axis, log-log, with the ideal line.
fn placed() -> Figure {
    let series =
        [("4 streams per server", 4.0), ("1 stream per server", 1.0)].map(|(name, streams)| BoxSeries {
            name: name.to_owned(),
            boxes: SERVERS
                .iter()
                .zip(box_stats(streams))
                .map(|(&n, stats)| PlacedBox { x: n.into(), stats })
                .collect(),
        });
    let ideal = SERVERS.map(|n| CurvePoint::new(n, rebuild_seconds(8.0, 4.0) * 8.0 / f64::from(n)));
    figure(
        "spread-by-size",
        "Spread over replicates by cluster size",
        "Box: quartiles and median; whiskers: 1.5 times the box. The lines join medians.",
        Kind::Boxes {
            x: Axis::log("servers", ""),
            y: Axis::log("rebuild time", "s"),
            series: series.to_vec(),
            references: vec![Reference::Curve { name: "ideal".to_owned(), points: ideal.to_vec() }],
        },
    )
}

fn box_stats(streams: f64) -> [BoxStats; SERVERS.len()] {
    let mut noise = Noise::new(8);
    SERVERS.map(|servers| {
        let mid = rebuild_seconds(servers.into(), streams);
        let (inner, outer) = (mid * (0.05 + 0.04 * noise.unit()), mid * (0.14 + 0.05 * noise.unit()));
        let beyond =
            if servers % 3 == 2 { vec![Num::from(mid * 1.35), Num::from(mid * 1.5)] } else { Vec::new() };
        BoxStats {
            label: servers.to_string(),
            low: (mid - outer).into(),
            q1: (mid - inner).into(),
            median: mid.into(),
            q3: (mid + inner * 1.3).into(),
            high: (mid + outer * 1.4).into(),
            mean: (mid * 1.03).into(),
            outliers: beyond,
            n: 30,
        }
    })
}

fn boxes() -> Figure {
    figure(
        "spread",
        "Spread over replicates",
        "Box: quartiles and median; whiskers: 1.5 times the box; dot in the box: mean.",
        Kind::Box {
            x: "servers".to_owned(),
            y: Axis::linear("rebuild time", "s"),
            boxes: box_stats(4.0).to_vec(),
            references: vec![Reference::Horizontal { name: "timeout".to_owned(), at: 36_000.0.into() }],
        },
    )
}

fn samples(seed: u64, weight: f64) -> Vec<f64> {
    let mut noise = Noise::new(seed);
    let mut values: Vec<f64> = (0..2_000).map(|_| noise.skewed(weight) * 0.001).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn latencies() -> Figure {
    let series = [("quiet", 0.25), ("during the rebuild", 1.1)].map(|(name, weight)| {
        let values = samples(77, weight);
        let bins = (0_u32..40).map(|bin| {
            let (from, to) = (f64::from(bin) * 0.000_25, f64::from(bin + 1) * 0.000_25);
            let count = values.iter().filter(|value| (from..to).contains(*value)).count();
            Bin { from: from.into(), to: to.into(), height: count.into() }
        });
        HistogramSeries { name: name.to_owned(), bins: bins.collect() }
    });
    figure(
        "latency",
        "Client latency",
        "2,000 reads each.",
        Kind::Histogram {
            x: Axis::linear("latency", "s"),
            y: Axis::linear("reads", ""),
            series: series.to_vec(),
            references: vec![Reference::Vertical { name: "objective".to_owned(), at: 0.005.into() }],
        },
    )
}

/// Every fortieth sample, and the last ones for the tail.
fn distributions() -> Vec<EcdfSeries> {
    [("quiet", 0.25), ("during the rebuild", 1.1)]
        .map(|(name, weight)| {
            let values = samples(77, weight);
            let count = values.len();
            let kept = values.iter().enumerate().filter(|(at, _)| at % 40 == 0 || at + 20 > count);
            let share = |at: usize| Num::from(Num::from(at + 1).get().unwrap_or(0.0) / 2_000.0);
            let points = kept.map(|(at, &value)| (Num::from(value), share(at))).collect();
            EcdfSeries { name: name.to_owned(), points }
        })
        .to_vec()
}

fn ecdf() -> Figure {
    figure(
        "latency-ecdf",
        "Share of reads at or below a latency",
        "",
        Kind::Ecdf {
            x: Axis::log("latency", "s"),
            series: distributions(),
            references: vec![Reference::Vertical { name: "objective".to_owned(), at: 0.005.into() }],
            tail: false,
        },
    )
}

pub(crate) fn tail() -> Figure {
    figure(
        "latency-tail",
        "The slowest reads",
        "One in a hundred is slower than where a line crosses 0.01.",
        Kind::Ecdf {
            x: Axis::log("latency", "s"),
            series: distributions(),
            references: Vec::new(),
            tail: true,
        },
    )
}

fn heat() -> Figure {
    let mut noise = Noise::new(9);
    let rows: Vec<String> = (0..12).map(|server| format!("server-{server:02}")).collect();
    let columns: Vec<String> = (0..24).map(|slot| (slot * 5).to_string()).collect();
    let values = (0_u32..12)
        .map(|server| {
            (0_u32..24)
                .map(|slot| {
                    if server == 3 && slot > 1 {
                        return Num::MISSING;
                    }
                    let away = f64::from(slot) - 9.0 - f64::from(server % 4);
                    (2.2e9 / (1.0 + away * away / 14.0) * (0.7 + 0.5 * noise.unit())).into()
                })
                .collect()
        })
        .collect();
    figure(
        "heat",
        "Recovery traffic by server and minute",
        "Server 3 is the one that failed.",
        Kind::Heatmap {
            x: "minute".to_owned(),
            y: "server".to_owned(),
            columns,
            rows,
            value: Axis::linear("read rate", "bytes/s"),
            values,
        },
    )
}

fn lanes() -> Figure {
    let mut noise = Noise::new(31);
    let mark = |at: f64, what: &str| Mark { at: at.into(), what: what.to_owned() };
    let lanes = (0_u32..8).map(|server| {
        let (mut at, mut spans) = (660.0 + 60.0 * noise.unit(), Vec::new());
        while at < 5_400.0 && server != 3 {
            for (what, mean) in [("reserve", 60.0), ("read", 500.0), ("write", 350.0)] {
                let to = at + mean * (0.4 + noise.unit());
                spans.push(Span {
                    from: at.into(),
                    to: to.into(),
                    what: what.to_owned(),
                    note: format!("group {}", spans.len() / 3 + usize::try_from(server).expect("small") * 9),
                });
                at = to;
            }
            at += 90.0 * noise.unit();
        }
        let marks =
            if server == 3 { vec![mark(600.0, "fails"), mark(5_800.0, "returns")] } else { Vec::new() };
        Lane { name: format!("server-{server:02}"), spans, marks }
    });
    figure(
        "lanes",
        "Who works on what",
        "One group at a time; waiting for a slot is white.",
        Kind::Timeline { x: Axis::linear("time", "s"), lanes: lanes.collect() },
    )
}

/// Three replicates to choose from; in the last one the first server is gone.
fn chord(servers: usize) -> Figure {
    let (labels, groups, matrix) = flows(servers, 0, 13);
    let other = |name: &str, gone: usize, seed: u64| {
        let (labels, groups, matrix) = flows(servers, gone, seed);
        ChordFlows { name: name.to_owned(), labels, groups, matrix }
    };
    figure(
        "flows",
        "Who sends to whom",
        "An arc is in full colour for what its server sends, and pale for what it takes.",
        Kind::Chord {
            value: Axis::linear("bytes sent", "bytes"),
            labels,
            groups,
            matrix,
            name: "replicate 1, the slowest".to_owned(),
            others: vec![other("replicate 0", 0, 14), other("replicate 2", 1, 15)],
        },
    )
}

/// The servers, their racks, and what they send each other, without the first `gone` of them.
fn flows(servers: usize, gone: usize, seed: u64) -> (Vec<String>, Vec<String>, Vec<Vec<Num>>) {
    let mut noise = Noise::new(seed);
    let rack = |server: usize| server * 4 / servers;
    let matrix = (gone..servers)
        .map(|from| {
            (gone..servers)
                .map(|to| match (from == to, rack(from) == rack(to)) {
                    (true, _) => 0.0.into(),
                    (_, true) => (2e9 * noise.unit()).into(),
                    _ => (2e10 * noise.unit() * noise.unit()).into(),
                })
                .collect()
        })
        .collect();
    let labels = (gone..servers).map(|server| format!("server-{server:02}")).collect();
    let groups = (gone..servers).map(|server| format!("rack {}", rack(server) + 1)).collect();
    (labels, groups, matrix)
}

fn stacked() -> Figure {
    let parts = [("read", 1.0), ("write", 1.1), ("metadata", 0.06), ("retransmitted", 0.02)];
    let series = parts.map(|(name, weight)| BarSeries {
        name: name.to_owned(),
        values: SERVERS.map(|n| Num::from(48e12 * weight * (1.0 + 1.0 / f64::from(n)))).to_vec(),
        low: Vec::new(),
        high: Vec::new(),
    });
    figure(
        "bytes",
        "Bytes by cause",
        "",
        Kind::Bar {
            x: "servers".to_owned(),
            y: Axis::linear("bytes", "bytes"),
            categories: SERVERS.map(|n| n.to_string()).to_vec(),
            series: series.to_vec(),
            stacked: true,
            references: Vec::new(),
        },
    )
}

fn grouped() -> Figure {
    let series = [("weighted priority", 1.0), ("mclock", 1.6)].map(|(name, factor)| {
        let values = [164e6, 131e6, 72e6].map(|rate: f64| rate * factor);
        BarSeries {
            name: name.to_owned(),
            values: values.map(Num::from).to_vec(),
            low: values.map(|v| Num::from(v * 0.93)).to_vec(),
            high: values.map(|v| Num::from(v * 1.08)).to_vec(),
        }
    });
    figure(
        "clients",
        "What clients get during the rebuild",
        "Whiskers: 95 % interval.",
        Kind::Bar {
            x: "workload".to_owned(),
            y: Axis::linear("throughput", "bytes/s"),
            categories: ["read", "mixed", "write"].map(str::to_owned).to_vec(),
            series: series.to_vec(),
            stacked: false,
            references: vec![Reference::Horizontal { name: "promised".to_owned(), at: 120e6.into() }],
        },
    )
}

fn scatter() -> Figure {
    let mut noise = Noise::new(17);
    let points = (0..120).map(|_| {
        let fill = 0.55 + 0.3 * noise.unit();
        CurvePoint::new(fill * 100.0, 3_600.0 * fill * (1.0 + 0.1 * noise.bell()))
    });
    figure(
        "fill",
        "Fuller disks take longer",
        "One dot per replicate.",
        Kind::Line {
            x: Axis::linear("fill", "%"),
            y: Axis::linear("rebuild time", "s"),
            series: vec![LineSeries {
                name: "replicates".to_owned(),
                points: points.collect(),
                draw: Draw::Points,
            }],
            references: Vec::new(),
        },
    )
}
