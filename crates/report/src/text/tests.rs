//! The terminal's view of the sample reports, as snapshots.

use super::*;
use crate::{Cell, Column, Ordered, PointSummary, Step, sample};

const NARROW: Style = Style { colour: false, width: 60 };

#[test]
fn a_single_point_reads_at_a_glance() {
    insta::assert_snapshot!(render(&sample::queue(), Style::default()), @r#"
    A request waits 3.98 s on average, within 0.5 % of the closed form.                          AT RISK
    because     the desk is busy 80 % of the time

    Summary over 30 replicates
                                   mean  95 % interval
    mean_wait          3.981 s           3.921 to 4.041 s
    utilisation       0.7999             0.7979 to 0.8018
    p99_wait           18.23 s           17.9 to 18.57 s
    throughput           0.8 requests/s
    served         2,400,113 requests
    refused_share          –             the queue has no limit, so nothing can be refused

    Cells of every kind
    Text      Number [requests/s]  Flag
    plain                1.5       yes
                         1.845e19  no
    a, "b" c             0         yes
    =1+1              1e21         no
    'quoted           1e-7         yes
     space               –         no
    -5                             yes
    é ☃ <b>             -9.223e18  no
                         –

    seed 18446744073709551615, 4,800,226 events, executor sequential, digest 5b0f9c2e, scenario
    00d1c2b3a4958677, towtank 0.1.0 (results 1)
    "#);
}

#[test]
fn a_sweep_with_claims_and_warnings() {
    let report = Report { tables: sample::rebuild().tables.split_off(1), ..sample::rebuild() };
    insta::assert_snapshot!(render(&report, Style::default()), @"
    With 64 servers and 4 streams each, redundancy is back in 1 h 34 min.

    unknown     12 of 300 replicates ran out of spare space; their rebuild time counts as missing

          0:00  server-03 fails
         2.5 s  detected
          1:00  marked out
       1:34:00  all copies back (1:33:00 to 1:35:00)

    What happened
    At [min]  Event               What it means
       10     server-03 fails     its 12 disks are gone at once; 1,024 groups are degraded
       10.04  failure detected    five heartbeats of 500 ms were missed
       11     new map             every group has a full set of servers again, most of them without data
      104     last object copied  redundancy is back; from here on another failure loses nothing

    limit       the disks: 88 % of the time
    try         `recovery.streams = 8`: 1 h 12 min instead of 1 h 34 min
    also        the network is never the limit
    assumed     disks of 180 MB/s   --disk-write
    leaves out  scrubs
    note        disk.fail_rate is a choice, not a measurement: see docs/devices.md

    10 points, 30 replicates each
    servers  streams  rebuild_span [h]  bytes_moved [TiB]  loss_probability
          8        1        26.65 ±0.6       43.65 ±0.044             0.002
          8        4       14.65 ±0.46       43.63 ±0.044             0.002
         16        1       12.29 ±0.29       43.72 ±0.044                 –
         16        4       6.752 ±0.16       43.54 ±0.044                 –
         24        1       7.915 ±0.17       43.63 ±0.044                 –
         24        4      4.532 ±0.091       43.64 ±0.044                 –
         32        1       6.097 ±0.21       43.72 ±0.044                 –
         32        4       3.295 ±0.12       43.68 ±0.044                 –
         64        1       2.964 ±0.11       43.66 ±0.044                 –
         64        4      1.634 ±0.039       43.71 ±0.044                 –
    –  loss_probability: no object lost all its copies in any replicate

    Claims: 2 of 5 hold, 1 misses, 1 cannot tell, 1 fitted and not counted
                        claim              published         ours  tolerance           source
    holds               rebuild_span_16          2 h      1.947 h  ±10 %               Weil et al., OSDI
                                                                                       2006, figure 7
    misses              rebuild_span_64       26 min    28.37 min  within our 95 %     Weil et al., OSDI
                                                                                       2006, figure 7
    fitted (would       disk_rate        171.7 MiB/s  171.7 MiB/s  162.1 to 181.2      Weil et al., OSDI
    hold)                                                          MiB/s               2006, figure 7
    holds               imbalance                1.3         1.22  at most, loosened   closed form
    cannot tell         groups_steadier            1         1.08  above (95 %)        Weil et al., OSDI
                                                                                       2006, figure 7
    rebuild_span_64: the paper counts detection, which took 90 s there
    imbalance: tolerance loosened: the closed form gives 1.2 for disks of one size; these are of three

    seed 7, 184,203,551 events, executor conservative, digest b7e4a19c05d2f3386a4e90b1c7f52d08, scenario
    9f2c4e51d07ab8366b1b54dca2c0f5f27dd18b5c9f0b6a3ce1f4a8b77e02d913, towtank 0.1.0 (results 1)
    ");
}

/// Why the points of a sweep do not begin with the headline measure; `None` if they do.
fn buried(shown: &str, keys: &[&str], headline: &str) -> Option<String> {
    let begins = |line: &&str| line.trim_start().to_lowercase().starts_with(keys[0]);
    let head = shown.lines().find(begins).unwrap_or_default();
    let first = head.split_whitespace().nth(keys.len()).unwrap_or("missing");
    (first != headline).then(|| format!("the first measure is {first}"))
}

#[test]
fn the_points_of_a_sweep_begin_with_the_headline() {
    let (keys, name) = (["servers", "streams"], "loss_probability");
    let report =
        Report { headline: Some(name.to_owned()), answer: Answer::of("All is well."), ..sample::rebuild() };
    for style in [Style::default(), NARROW] {
        for (shown, name) in
            [(render(&report, style), name), (brief(&report, style, Rest::OF_COMMAND), "Loss")]
        {
            assert_eq!(buried(&shown, &keys, name), None, "{shown}");
        }
        let whole = render(&report, style);
        assert!(
            ["rebuild_span [h]", "bytes_moved [TiB]"].iter().all(|other| whole.contains(other)),
            "{whole}"
        );
    }
    // A report without a headline keeps the order of the study.
    assert!(buried(&render(&sample::rebuild(), Style::default()), &keys, name).is_some());
}

#[test]
fn a_narrow_terminal_gets_blocks() {
    let report = Report { tables: Vec::new(), claims: Vec::new(), ..sample::rebuild() };
    insta::assert_snapshot!(render(&report, NARROW), @"
    With 64 servers and 4 streams each, redundancy is back in 1
    h 34 min.

    unknown     12 of 300 replicates ran out of spare space;
                their rebuild time counts as missing

          0:00  server-03 fails
         2.5 s  detected
          1:00  marked out
       1:34:00  all copies back (1:33:00 to 1:35:00)

    limit       the disks: 88 % of the time
    try         `recovery.streams = 8`: 1 h 12 min instead of 1
                h 34 min
    also        the network is never the limit
    assumed     disks of 180 MB/s   --disk-write
    leaves out  scrubs
    note        disk.fail_rate is a choice, not a measurement:
                see docs/devices.md

    10 points, 30 replicates each
    servers  streams  rebuild_span [h]  bytes_moved [TiB]
          8        1        26.65 ±0.6       43.65 ±0.044
          8        4       14.65 ±0.46       43.63 ±0.044
         16        1       12.29 ±0.29       43.72 ±0.044
         16        4       6.752 ±0.16       43.54 ±0.044
         24        1       7.915 ±0.17       43.63 ±0.044
         24        4      4.532 ±0.091       43.64 ±0.044
         32        1       6.097 ±0.21       43.72 ±0.044
         32        4       3.295 ±0.12       43.68 ±0.044
         64        1       2.964 ±0.11       43.66 ±0.044
         64        4      1.634 ±0.039       43.71 ±0.044

    servers  streams  loss_probability
          8        1             0.002
          8        4             0.002
         16        1                 –
         16        4                 –
         24        1                 –
         24        4                 –
         32        1                 –
         32        4                 –
         64        1                 –
         64        4                 –
    –  loss_probability: no object lost all its copies in any
       replicate

    seed 7, 184,203,551 events, executor conservative, digest
    b7e4a19c05d2f3386a4e90b1c7f52d08, scenario
    9f2c4e51d07ab8366b1b54dca2c0f5f27dd18b5c9f0b6a3ce1f4a8b77e02
    d913, towtank 0.1.0 (results 1)
    ");
}

#[test]
fn long_tables_say_where_the_rest_is() {
    let text = render(&sample::rebuild(), Style::default());
    assert!(text.contains("… and 20 more rows in disks.csv\n"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [60, 80, 100, 160] {
        for report in [sample::rebuild(), sample::queue()] {
            let text = render(&report, Style { colour: false, width });
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{} > {width}: {line}", line.chars().count());
            }
        }
    }
}

#[test]
fn colour_only_when_asked_and_control_characters_never() {
    let plain = render(&sample::rebuild(), Style::default());
    let colour = render(&sample::rebuild(), Style { colour: true, ..Style::default() });
    assert!(!plain.contains('\u{1b}'));
    let mut bare = String::new();
    for (at, part) in colour.split("\u{1b}[").enumerate() {
        bare.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(bare, plain, "colour changes nothing else");
    let hostile = Report { title: "a\u{1b}[2Jb\rc".to_owned(), ..Report::default() };
    assert!(render(&hostile, Style::default()).starts_with("a\u{fffd}[2Jb c\n"));
}

/// A former fault: the claims of a run that was stopped were judged by the part that was done.
#[test]
fn claims_of_a_part_are_not_judged() {
    let mut report = Report { partial: true, ..sample::rebuild() };
    report.claims = report.claims.into_iter().map(crate::Claim::not_judged).collect();
    for (point, n) in report.points.iter_mut().zip([30, 7].into_iter().cycle()) {
        let cut = |measure: &Measure| Measure::new(measure.value().unwrap_or(0.0), measure.unit(), n);
        point.summary.values_mut().for_each(|measure| *measure = cut(measure));
    }
    let text = render(&report, Style::default());
    assert!(text.contains("10 points, 7 to 30 of 30 replicates each"), "{text}");
    assert!(text.contains("Claims: 5 of 5 not judged\n"), "{text}");
    assert_eq!(text.matches("\nnot judged").count(), 5, "{text}");
    report.claims[0] = sample::rebuild().claims.remove(0);
    let verdict = report.claims[0].verdict;
    let holds = usize::from(verdict == Verdict::Holds);
    assert!(tally(&report.claims).starts_with(&format!("4 of 5 not judged, {holds} hold")));
}

#[test]
fn a_partial_report_says_so_first() {
    let mut summary = Ordered::new();
    summary.insert("wait".to_owned(), Measure::new(0.0, "s", 1));
    let report = Report { study: "queue".to_owned(), partial: true, summary, ..Report::default() };
    insta::assert_snapshot!(render(&report, Style::default()), @"
    queue
    unknown     stopped early: the results cover only what was committed

    Summary over a part of 1 replicate
          mean  95 % interval
    wait   0 s

    seed 0, towtank 0.1.0 (results 1)
    ");
    let many = Report { replicates: 100, ..report.clone() };
    assert!(render(&many, Style::default()).contains("Summary over 1 of 100 replicates"));
    let stopped = Report { warnings: vec![Warning::unknown("the run was stopped")], ..report };
    let text = render(&stopped, Style::default());
    assert_eq!(text.matches("stopped").count(), 1, "one warning is enough: {text}");
}

/// What of the lines that must stay a screen has not; `None` if it has all and is no longer than a screen.
fn dropped(screen: &str) -> Option<String> {
    let has = |label: &str| screen.lines().any(|line| line.starts_with(label));
    let missing = ["moves", "risk", "clients"].into_iter().find(|label| !has(label));
    let long = (screen.lines().count() > SCREEN_LINES).then(|| "it is too long".to_owned());
    missing.map(|label| format!("no {label}")).or(long)
}

/// Many warnings, a long course and long lines: what moves, what is at risk and what clients notice stay.
#[test]
fn risk_and_clients_stay_on_a_screen_full_of_warnings() {
    let long = "a long sentence that takes several lines of a terminal of usual width, and goes on and on "
        .repeat(4);
    for (warnings, words) in [(0, "short"), (3, &long[..]), (30, "short"), (30, &long[..])] {
        let mut report = sample::queue();
        report.warnings = (0..warnings).map(|at| Warning::danger(format!("{at}: {words}"))).collect();
        report.answer.push(Label::Limit, words);
        for label in [Label::Moves, Label::Risk, Label::Clients] {
            report.answer.push(label, words);
        }
        report.answer.course = (0..20).map(|at| Step::at(f64::from(at), words)).collect();
        let screen = brief(&report, Style::default(), Rest::OF_COMMAND);
        assert_eq!(dropped(&screen), None, "{warnings} warnings:\n{screen}");
        // The check can fail.
        let without: Vec<&str> = screen.lines().filter(|line| !line.starts_with("risk")).collect();
        assert!(dropped(&without.join("\n")).is_some());
    }
}

/// A probability of 2 in 100,000,000,000 was shown as `1.969e-9 %`.
#[test]
fn a_tiny_probability_is_shown_as_one_in_so_many() {
    let mut report = sample::queue();
    report.summary.insert("loss_probability".to_owned(), Measure::new(1.969e-11, "fraction", 1));
    let text = render(&report, Style::default());
    assert!(text.contains("1 in 50,000,000,000") && !text.contains("e-9 %"), "{text}");
    assert_eq!(human::odds(0.000_41), "1 in 2,400");
    // Its interval, and the column of a sweep.
    let share = |share: f64| Measure::new(share, "fraction", 3).with_interval(0.9 * share, 1.1 * share);
    report.summary.insert("loss_probability".to_owned(), share(1.969e-11));
    let text = render(&report, Style::default());
    assert!(text.contains("1 in 46,000,000,000 to 1 in 56,000,000,000"), "{text}");
    let point = |at: f64| PointSummary {
        settings: [("size".to_owned(), at.into())].into_iter().collect(),
        label: format!("size={at}"),
        summary: [("loss_probability".to_owned(), share(at * 1e-9))].into_iter().collect(),
        digest: None,
        partial: false,
    };
    let report = Report { points: vec![point(0.3), point(100_000.0)], ..Report::default() };
    let text = render(&report, Style::default());
    assert!(text.contains("1 in 3,300,000,000") && text.contains("0.01 %") && !text.contains("e-"), "{text}");
}

/// A former fault: with `--verbose` points stood as `KEY = VALUE` where the screen has words.
#[test]
fn points_of_tables_are_in_words() {
    let mut table =
        Table::new("rebuilds", "Rebuilds", vec![Column::text("point"), Column::number("time", "s")]);
    for (label, time) in
        [("population.size = 1MiB, stale = 5%", 1.5), ("population.size = 4MiB, stale = 20%", 2.5)]
    {
        table.push(vec![label.into(), Cell::from(time)]);
    }
    let text = render(&Report { tables: vec![table.clone()], ..Report::default() }, Style::default());
    assert!(text.contains("Size  Stale") && text.contains("4MiB  20 %"), "{text}");
    // Planted: labels that are no settings stay as they are; files for programs keep the keys.
    let mut other = table.clone();
    other.push(vec!["as given".into(), Cell::from(3.5)]);
    let text = render(&Report { tables: vec![other], ..Report::default() }, Style::default());
    assert!(text.contains("population.size = 4MiB"), "{text}");
    assert!(crate::csv::render(&table).contains("population.size = 4MiB"));
}

/// A plan of which only the first commands are shown is none.
#[test]
fn a_table_of_commands_is_shown_whole() {
    let mut table = Table::new("commands", "Commands", vec![Column::text("command")]);
    (0..100).for_each(|at| table.push(vec![format!("ceph osd pg-upmap-items 1.{at:x} 3 4").into()]));
    let report = Report { tables: vec![table], ..sample::queue() };
    let text = render(&report, Style::default());
    assert_eq!(text.matches("pg-upmap-items").count(), 100, "{text}");
}
