//! Properties of any report: whatever it contains, JSON, CSV, HTML and text are complete and well-formed.

use proptest::prelude::*;
use serde_json::json;

use crate::{
    Answer, Axis, BoxStats, Cell, Claim, ClaimDraft, Column, CurvePoint, Draw, Figure, Kind, Label,
    LineSeries, Measure, Num, Ordered, Outcome, PointSummary, Reading, Reference, Report, Standing, Status,
    Step, SweepAxis, Table, Tolerance, csv, html, text,
};

/// Text as files may contain it: quotes, line breaks, formulas, tags, control characters, escapes.
fn words() -> impl Strategy<Value = String> {
    let awkward = proptest::sample::select(vec![
        "",
        "'",
        "\"",
        ",",
        "\n",
        "\r\n",
        "=1+1",
        "-5",
        "@x",
        "\t",
        " ",
        "</script>",
        "<!--",
        "\\u003c",
        "\\",
        "&amp;",
        "\u{2028}",
        "\u{0}",
        "\u{1b}[31m",
        "__TOWTANK_REPORT__",
        "__TOWTANK_TITLE__",
        "é☃𝄞",
    ]);
    prop_oneof![
        "[a-z][a-z0-9_]{0,12}",
        proptest::collection::vec(prop_oneof![awkward.prop_map(str::to_owned), "\\PC{0,4}"], 0..4)
            .prop_map(|parts| parts.concat()),
    ]
}

/// Any double: NaN, the infinities, subnormals and minus zero occur often.
fn doubles() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<u64>().prop_map(f64::from_bits),
        proptest::sample::select(vec![
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::MIN_POSITIVE,
            5e-324,
            1e21,
            1e-7
        ]),
        (-1000_i32..1000).prop_map(|n| f64::from(n) / 8.0),
    ]
}

fn measures() -> impl Strategy<Value = Measure> {
    (
        doubles(),
        proptest::sample::select(vec!["", "s", "bytes/s", "%"]),
        doubles(),
        doubles(),
        0_u32..40,
        words(),
    )
        .prop_map(|(value, unit, low, high, n, reason)| match n {
            0 => Measure::missing(unit, 0, reason),
            _ => Measure::new(value, unit, n).with_interval(low, high),
        })
}

fn summaries() -> impl Strategy<Value = Ordered<Measure>> {
    proptest::collection::vec((words(), measures()), 0..4).prop_map(|pairs| pairs.into_iter().collect())
}

fn cells(number: bool) -> BoxedStrategy<Cell> {
    let missing = prop_oneof![Just(Cell::Empty), words().prop_map(Cell::missing)];
    if number {
        let numbers = prop_oneof![
            doubles().prop_map(Cell::from),
            any::<u64>().prop_map(Cell::from),
            any::<i64>().prop_map(Cell::from)
        ];
        prop_oneof![4 => numbers, 1 => missing].boxed()
    } else {
        prop_oneof![4 => words().prop_map(Cell::from), 1 => missing].boxed()
    }
}

fn tables() -> impl Strategy<Value = Table> {
    let columns = proptest::collection::vec((words(), any::<bool>(), words()), 1..5);
    columns.prop_flat_map(|columns| {
        let row: Vec<_> = columns.iter().map(|(_, number, _)| cells(*number)).collect();
        (Just(columns), proptest::collection::vec(row, 0..5), words()).prop_map(|(columns, rows, about)| {
            let columns = columns
                .into_iter()
                .map(
                    |(name, number, unit)| {
                        if number { Column::number(name, unit) } else { Column::text(name) }
                    },
                )
                .collect();
            let mut table = Table::new("any", about.clone(), columns).about(about);
            rows.into_iter().for_each(|row| table.push(row));
            table
        })
    })
}

fn figures() -> impl Strategy<Value = Figure> {
    (words(), proptest::collection::vec((doubles(), doubles(), doubles()), 0..5)).prop_map(
        |(title, numbers)| {
            let points: Vec<CurvePoint> = numbers
                .iter()
                .map(|(x, y, low)| CurvePoint { low: (*low).into(), ..CurvePoint::new(*x, *y) })
                .collect();
            let mut kind = Kind::Line {
                x: Axis::log(title.clone(), "s"),
                y: Axis::linear(title.clone(), ""),
                series: vec![LineSeries { name: title.clone(), points, draw: Draw::Step }],
                references: numbers
                    .iter()
                    .map(|n| Reference::Horizontal { name: title.clone(), at: n.0.into() })
                    .collect(),
            };
            if numbers.len() == 3 {
                let n = |at: usize| Num::from(numbers[at].0);
                let label = title.clone();
                let stats = BoxStats {
                    label,
                    low: n(0),
                    q1: n(1),
                    median: n(2),
                    q3: n(0),
                    high: n(1),
                    mean: n(2),
                    outliers: vec![n(0)],
                    n: 3,
                };
                kind = Kind::Box {
                    x: title.clone(),
                    y: Axis::linear("", ""),
                    boxes: vec![stats],
                    references: Vec::new(),
                };
            }
            Figure::new("any", title, "", kind)
        },
    )
}

fn claims() -> impl Strategy<Value = Claim> {
    (words(), doubles(), doubles(), doubles(), any::<bool>(), 0..7).prop_map(
        |(words, a, b, c, fitted, tolerance)| {
            let tolerance = match tolerance {
                0 => Tolerance::Relative { fraction: c },
                1 => Tolerance::Absolute { amount: c },
                2 => Tolerance::Range { low: a, high: c },
                3 => Tolerance::Interval,
                4 => Tolerance::AtLeast,
                5 => Tolerance::AtMost,
                _ => Tolerance::Above,
            };
            let ours = Reading::with_range(b, a, c);
            let claim = ClaimDraft {
                name: words.clone(),
                source: words.clone(),
                statement: words.clone(),
                unit: "s".to_owned(),
                published: Reading::of(a),
                ours,
                tolerance,
                fitted,
                note: Some(words.clone()),
            }
            .judge();
            if fitted { claim.loosened(words) } else { claim }
        },
    )
}

fn points() -> impl Strategy<Value = PointSummary> {
    (words(), summaries(), prop_oneof![any::<i32>().prop_map(|n| json!(n)), words().prop_map(|w| json!(w))])
        .prop_map(|(label, summary, value)| PointSummary {
            settings: [("key".to_owned(), value)].into_iter().collect(),
            label,
            summary,
            digest: None,
            partial: false,
        })
}

prop_compose! {
    fn answers()(
        finding in words(),
        reason in proptest::option::of("[a-z ]{1,60}[a-z]"),
        status in prop_oneof![Just(Status::Safe), Just(Status::AtRisk), Just(Status::Unknown), Just(Status::NotSafe)],
        times in proptest::collection::vec((0.0..1e6_f64, words()), 0..20),
        lines in proptest::collection::vec((0..Label::ALL.len(), words()), 0..12),
    ) -> Answer {
        let mut answer = Answer::of(finding).with_verdict(reason.map(|reason| Standing::new(status, reason)));
        answer.course = times.into_iter().map(|(at, what)| Step::at(at, what)).collect();
        lines.into_iter().for_each(|(label, text)| answer.push(Label::ALL[label], text));
        answer
    }
}

prop_compose! {
    fn any_report()(
        answer in answers(),
        title in words(),
        seed in any::<u64>(),
        summary in summaries(),
        points in proptest::collection::vec(points(), 0..4),
        tables in proptest::collection::vec(tables(), 0..3),
        figures in proptest::collection::vec(figures(), 0..3),
        claims in proptest::collection::vec(claims(), 0..3),
        warnings in proptest::collection::vec(words().prop_map(crate::Warning::unknown), 0..3),
    ) -> Report {
        let sweep = vec![SweepAxis { key: title.clone(), values: vec![json!(title)] }];
        Report {
            answer, scenario: json!({ title.clone(): title }), study: title.clone(), title, seed, sweep,
            summary, points, tables, figures, claims, warnings, ..Report::default()
        }
    }
}

/// A field of the file: its text, and whether it was quoted.
type Field = (String, bool);

/// A slow and simple RFC 4180 reader.
fn read_csv(text: &str) -> Vec<Vec<Field>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), (String::new(), false));
    let mut chars = text.chars().peekable();
    let mut inside = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if inside && chars.peek() == Some(&'"') => field.0.push(chars.next().unwrap()),
            '"' if inside => inside = false,
            '"' if field.0.is_empty() => (inside, field.1) = (true, true),
            ',' if !inside => row.push(std::mem::take(&mut field)),
            '\n' if !inside => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            _ => field.0.push(c),
        }
    }
    assert!(!inside && row.is_empty() && field.0.is_empty(), "the file ends with a whole line");
    rows
}

/// Checks a field against the cell that it was written from.
fn check_field((text, quoted): &Field, cell: &Cell, alone: bool) {
    match cell {
        Cell::Empty | Cell::Missing { .. } => {
            assert!(text.is_empty() && (!quoted || alone), "{text:?} for {cell:?}")
        }
        Cell::Number(number) if number.is_f64() => {
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.as_f64().unwrap().to_bits());
        }
        Cell::Number(number) => assert_eq!(*text, number.to_string()),
        Cell::Flag(flag) => assert_eq!(*text, flag.to_string()),
        Cell::Text(want) => {
            assert_eq!(text.strip_prefix('\'').unwrap_or(text), want);
            assert!(
                !text.starts_with(['=', '+', '-', '@', '\t', '\r']),
                "{text:?} is a formula to a spreadsheet"
            );
            assert!(!text.is_empty() || *quoted, "an empty text differs from no value");
        }
    }
}

/// Checks that the JSON parses, since its grammar does not allow NaN as a number.
fn check_json(report: &Report) {
    let text = report.to_json();
    assert!(text.ends_with("}\n"));
    let read = Report::from_json(&text).unwrap();
    assert_eq!(read.to_json(), text, "reading and writing changes nothing");
}

#[test]
fn headers_name_the_unit_once() {
    let header = |name: &str, unit: &str| csv::header(&Column::number(name, unit));
    assert_eq!(header("rate", "bytes/s"), "rate_bytes_per_s");
    assert_eq!(header("busy", "%"), "busy_percent");
    assert_eq!(header("wait_s", "s"), "wait_s");
    assert_eq!(header("objects_looked_at", "objects"), "objects_looked_at");
    assert_eq!(header("spans", "s"), "spans_s");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_report_is_json_that_reads_back(report in any_report()) {
        check_json(&report);
    }

    #[test]
    fn any_table_reads_back_from_csv(table in tables()) {
        let rows = read_csv(&csv::render(&table));
        prop_assert_eq!(rows.len(), table.rows().len() + 1);
        for (fields, cells) in rows[1..].iter().zip(table.rows()) {
            prop_assert_eq!(fields.len(), cells.len());
            for (field, cell) in fields.iter().zip(cells) {
                check_field(field, cell, cells.len() == 1);
            }
        }
    }

    #[test]
    fn every_csv_file_is_a_rectangle_with_its_own_name_and_headers(report in any_report()) {
        let files = csv::files(&report);
        for (at, file) in files.iter().enumerate() {
            prop_assert!(files[..at].iter().all(|other| other.name != file.name));
            let rows = read_csv(&file.text);
            prop_assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{}", file.text);
            let heads = &rows[0];
            prop_assert!(heads.iter().enumerate().all(|(at, head)| !heads[..at].contains(head)), "{heads:?}");
        }
    }

    #[test]
    fn any_page_gives_its_report_back(report in any_report()) {
        let page = html::render(&report);
        let (_, rest) = page.split_once("id=\"report\">").unwrap();
        let data = rest.split_once("</script").unwrap().0;
        prop_assert_eq!(Report::from_json(data).unwrap().to_json(), report.to_json());
    }

    #[test]
    fn any_report_prints_without_control_characters(report in any_report(), width in 40_usize..140) {
        let shown = text::render(&report, text::Style { colour: false, width });
        prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
    }

    /// Verdict and finding are never cut, whatever the answer, the tables and the width.
    #[test]
    fn any_screen_begins_with_its_answer_and_fits(report in any_report(), width in 40_usize..140) {
        let style = text::Style { colour: false, width };
        let shown = text::brief(&report, style, text::Rest::OF_COMMAND);
        prop_assert_eq!(text::broken(&report, &shown, style), None, "{}", shown);
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        if let Some(verdict) = &report.answer.verdict {
            prop_assert!(squeezed(&shown).contains(&squeezed(&verdict.word().to_uppercase())), "{shown}");
            let is_said = verdict.status() == Status::Safe || squeezed(&shown).contains(&squeezed(verdict.reason()));
            prop_assert!(is_said, "{shown}");
        }
    }

    #[test]
    fn any_outcome_reads_back(value in doubles(), name in words(), table in tables(), claim in claims()) {
        let mut outcome = Outcome { tables: vec![table], claims: vec![claim], events: 7, ..Outcome::default() };
        outcome.measure(name.clone(), value, "s");
        outcome.missing(format!("{name}2"), "s", name);
        let json = serde_json::to_string(&outcome).unwrap();
        let read: Outcome = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }
}

#[test]
fn a_report_of_another_layout_is_refused_by_name() {
    let other = Report::default().to_json().replace(crate::SCHEMA, "towtank-report/99");
    let error = Report::from_json(&other).unwrap_err().to_string();
    insta::assert_snapshot!(error, @"the report is of layout `towtank-report/99`, but this version reads `towtank-report/2`; use the version that wrote it, or run its scenario again");
    assert!(
        Report::from_json("{}").unwrap_err().to_string().starts_with("not a report: missing field `schema`")
    );
}

#[test]
fn the_fields_of_a_report_stand_in_their_order() {
    let json = Report::default().to_json();
    let keys: Vec<&str> =
        json.lines().filter_map(|line| line.strip_prefix("  \"")?.split('"').next()).collect();
    assert_eq!(
        keys.join(" "),
        "schema towtank results_version study title answer scenario scenario_hash seed replicates executor digest \
         events partial sweep summary glossary points tables figures claims warnings"
    );
}

#[test]
fn a_report_of_an_earlier_version_has_no_headline() {
    let json = Report::default().to_json();
    for field in ["headline", "verdict", "main_figure", "titles"] {
        assert!(!json.contains(&format!("\"{field}\"")), "{field}");
    }
    let report = crate::sample::queue();
    let json = report.to_json();
    assert!(json.contains("\"answer\": {\n    \"verdict\": \"at_risk\",\n    \"reason\": "), "{json}");
    assert_eq!(Report::from_json(&json).unwrap(), report);
}
