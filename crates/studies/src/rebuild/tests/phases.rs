//! The figure of the progress begins with nothing at zero, and has the phases of its replicate.

use serde_json::json;
use towtank_report::{Figure, Kind, Num};
use towtank_study::{PointResult, Study};

use super::*;

const FAILS: &str =
    "servers = 6\nobjects = 600\nfail = \"server\"\ndetection = \"20s\"\ndown_out = \"10min\"";

fn progress(outcome: &Outcome) -> Figure {
    let point = PointResult {
        settings: &[],
        scenario: &Rebuild::resolved(&complete(FAILS)),
        outcomes: std::slice::from_ref(outcome),
    };
    let figures = Study::present(&Rebuild, &[point]).figures;
    figures.into_iter().find(|figure| figure.id == "progress").expect("it is drawn")
}

#[test]
fn progress_starts_at_zero_and_its_phases_end_with_it() {
    let mut outcome = outcome(FAILS, 1);
    let figure = progress(&outcome);
    let Kind::Line { series, .. } = &figure.kind else { panic!("it is a line") };
    let (first, last) = (series[0].points[0], series[0].points[series[0].points.len() - 1]);
    assert_eq!((first.x, first.y), (Num::from(0.0), Num::from(0.0)));
    let begun = series[0].points.iter().find(|point| point.y.get() > Some(0.0)).expect("it begins");
    assert!(begun.x.get() > Some(620.0), "nothing is rebuilt before devices are marked out");
    let named: Vec<(&str, Option<f64>)> =
        figure.bands.iter().map(|band| (band.name.as_str(), band.to.get())).collect();
    assert_eq!(named[..2], [("detection", Some(20.0)), ("wait until marked out", Some(620.0))]);
    let end = named[named.len() - 1].1.expect("it ends");
    assert!((end / last.x.get().expect("it ends") - 1.0).abs() < 1e-6, "{end}, {last:?}");
    // Planted: parts that do not add up are not drawn as if they followed each other.
    outcome.measure("down_out_s", 60.0, "s");
    assert!(progress(&outcome).bands.is_empty());
    // Planted: of two failures, the waits may overlap.
    outcome.measure("down_out_s", 600.0, "s");
    assert!(!progress(&outcome).bands.is_empty());
    outcome.series.get_mut("observed").expect("it has it")["failed"] = json!(["server 1", "server 2"]);
    assert!(progress(&outcome).bands.is_empty());
}
