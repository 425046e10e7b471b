//! Tests of the order of the papers: each claim and figure has one place.

use towtank_report::Axis;

use super::*;
use crate::reproduce::sample::claim;

fn bars(id: &str, categories: &[&str]) -> Figure {
    let numbers: Vec<Num> = (0..categories.len()).map(|at| Num::from(at as f64)).collect();
    let series =
        BarSeries { name: "stored".to_owned(), values: numbers.clone(), low: numbers, high: Vec::new() };
    Figure::new(
        id,
        "Chunks stored per second",
        "",
        Kind::Bar {
            x: "protocol".to_owned(),
            y: Axis::linear("chunks", "1/s"),
            categories: categories.iter().map(|name| (*name).to_owned()).collect(),
            series: vec![series],
            stacked: false,
            references: Vec::new(),
        },
    )
}

#[test]
fn claims_and_figures_are_in_the_order_of_the_papers() {
    // In the order of the runs, which is another one; one claim is of no paper.
    let claims = [
        claim("queue-mm1/wait_mean", "Erlang 1917"),
        claim("mine/one", "a paper of mine"),
        claim("put-figures-12-13/gain", "Aizman and Bestler, on figures 12 and 13"),
        claim("put-table2-16k/rate", "Aizman and Bestler, table 2"),
        claim("rebuild-64/objects_faster_64", "MSST 2016"),
        claim("rebuild-64/active_peers_higher_rate_64", "MSST 2016"),
    ];
    let categories = ["uch-ccp, chunk = 128KiB, disk = 400MiB/s", "uch-ccp, chunk = 1MiB, disk = 400MiB/s"];
    let figures = [
        ("put-figures-12-13".to_owned(), bars("throughput", &categories)),
        ("put-figures-12-13".to_owned(), bars("utilisation", &categories)),
    ];
    let bound = bind(&claims, &figures);
    let names: Vec<&str> = bound.claims.iter().map(|claim| claim.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "rebuild-64/active_peers_higher_rate_64",
            "rebuild-64/objects_faster_64",
            "put-table2-16k/rate",
            "put-figures-12-13/gain",
            "queue-mm1/wait_mean",
            "mine/one",
        ]
    );
    let shorts: Vec<&str> = bound.chapters.iter().map(|chapter| chapter.short.as_str()).collect();
    assert_eq!(shorts, ["Data placement", "Replicast", "Queueing theory", OTHER]);
    let titles: Vec<&str> = bound.figures.iter().map(|figure| figure.title.as_str()).collect();
    assert_eq!(
        titles,
        ["Figure 12: throughput of 30 gateways, 128 KiB", "Figure 13: throughput of 30 gateways, 1 MiB"]
    );
    let Kind::Bar { categories, series, .. } = &bound.figures[1].kind else { panic!("it has bars") };
    assert_eq!((&categories[..], &*series[0].name), (&["disk = 400MiB/s".to_owned()][..], "uch-ccp"));
    assert_eq!((series[0].values.len(), series[0].low.len(), series[0].high.len()), (1, 1, 0));
    assert_eq!(series[0].values[0].get(), Some(1.0), "the bar of 1 MiB");
    let tally = tally(&bound).expect("there are claims");
    let Kind::Bar { series, .. } = &tally.kind else { panic!("it has bars") };
    let holding: Vec<Option<f64>> = series[0].values.iter().map(|value| value.get()).collect();
    assert_eq!(holding, [Some(2.0), Some(2.0), Some(1.0), Some(1.0)]);
}

/// Charts of messages need no run, but a paper of which nothing was run has no chapter.
#[test]
fn message_charts_are_under_their_numbers_beside_what_was_run() {
    let bound = bind(&[claim("put-table2-16k/rate", "Aizman and Bestler, table 2")], &[]);
    let parts = &bound.chapters[0].parts;
    let titles: Vec<&str> = parts.iter().map(|part| part.title.as_str()).collect();
    let [second, sixth] = ["Figure 2: reservations", "Figure 6: unicast with a captive congestion point"];
    assert_eq!(titles, [second, sixth, "Table 2: disks of 400 MiB/s"]);
    assert_eq!((&*parts[0].tables[0], &*parts[1].tables[0]), ("figure-2", "figure-6"));
    let rows: Vec<(&str, usize)> =
        bound.tables.iter().map(|table| (table.id(), table.rows().len())).collect();
    assert_eq!(rows, [("figure-2", 11), ("figure-6", 10)]);
    let other = bind(&[claim("queue-mm1/wait_mean", "Erlang 1917")], &[]);
    assert!(other.tables.is_empty() && other.chapters.len() == 1, "{:?}", other.chapters);
}

#[test]
fn some_lines_of_a_figure_are_kept_under_their_own_names() {
    let line = |name: &str| towtank_report::LineSeries {
        name: name.to_owned(),
        points: Vec::new(),
        draw: towtank_report::Draw::Line,
    };
    let names = ["scan, ranges = 16, objects = 5", "merkle, ranges = 16, objects = 5", "merkle, ranges = 32"];
    let mut kind = Kind::Line {
        x: Axis::linear("stale", "%"),
        y: Axis::linear("time", "s"),
        series: names.map(line).to_vec(),
        references: Vec::new(),
    };
    keep(&mut kind, "ranges = 16");
    let Kind::Line { series, .. } = &kind else { panic!("it has lines") };
    let names: Vec<&str> = series.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["scan, objects = 5", "merkle, objects = 5"]);
}

/// Bars that are not in groups of one setting each stay as they are.
#[test]
fn protocols_are_drawn_side_by_side() {
    let categories = ["m, disk = slow", "h, disk = slow", "m, disk = fast", "h, disk = fast"];
    let mut grouped = bars("throughput", &categories).kind;
    side_by_side(&mut grouped);
    let Kind::Bar { categories, series, .. } = &grouped else { panic!("it has bars") };
    assert_eq!(categories, &["disk = slow", "disk = fast"]);
    let values = |of: &[Num]| of.iter().map(|value| value.get()).collect::<Vec<_>>();
    assert_eq!((&*series[0].name, values(&series[0].values)), ("m", vec![Some(0.0), Some(2.0)]));
    assert_eq!((&*series[1].name, values(&series[1].low)), ("h", vec![Some(1.0), Some(3.0)]));
    for categories in [&["m", "h"][..], &["m, disk = slow", "h, disk = slow", "m, disk = fast"]] {
        let before = bars("throughput", categories).kind;
        let mut after = before.clone();
        side_by_side(&mut after);
        assert_eq!(after, before);
    }
}

#[test]
fn figures_of_the_page_have_one_name_each_and_begin_with_their_number() {
    let mut ids: Vec<String> =
        drawn().map(|drawn| format!("{}-{}-{}", drawn.scenario, drawn.id, drawn.only)).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "two figures have one id");
    for paper in PAPERS {
        let figures = paper.sections.iter().flat_map(|section| section.figures);
        for drawn in figures {
            assert!(drawn.title.contains(": "), "`{}` does not say what it answers to", drawn.title);
        }
    }
}

#[test]
fn every_section_is_about_a_published_scenario() {
    let registry = crate::Registry::builtin();
    let published: Vec<&str> = crate::reproduce::published_names(&registry).collect();
    let there = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => published.iter().any(|name| name.starts_with(start)),
        None => published.contains(&pattern),
    };
    for paper in PAPERS {
        for section in paper.sections {
            let abouts = section.claims.iter().map(|about| about.scenario);
            for scenario in abouts.chain(section.figures.iter().map(|drawn| drawn.scenario)) {
                assert!(there(scenario), "`{}` names `{scenario}`, which is not published", section.title);
            }
        }
    }
}

#[test]
fn every_scenario_of_a_paper_says_which() {
    let registry = crate::Registry::builtin();
    let papers = registry.scenarios().iter().filter(|builtin| builtin.path.starts_with("papers/"));
    let without: Vec<&str> =
        papers.filter(|builtin| paper_of(builtin).is_none()).map(Builtin::name).collect();
    // It is beside the paper's: the paper keeps the number of groups.
    assert_eq!(without, ["rebuild-density"]);
    let of = |path| paper_of(&Builtin { path, text: "" }).map(|paper| paper.short);
    assert_eq!(of("papers/put-6x18.toml"), Some("Replicast"));
    assert_eq!(of("papers/rebuild-64.toml"), Some("Data placement"));
    // Planted: a scenario that no paper has, and one of our own with a name like those of a paper.
    assert_eq!(of("papers/tea.toml"), None);
    assert_eq!(of("put-racks.toml"), None);
}
