//! Where closed forms are given, and where none is.

use crate::queue::tests::settled;

use super::*;

/// A gate before a desk, each with what is said of it.
fn theory(gate: &str, desk: &str, more: &str) -> Theory {
    let text = format!(
        "study = \"queue\"\nwarm_up = \"1s\"\nspan = \"1s\"\n{more}\n\
         stations.gate = {{ service_rate = \"2/s\", arrival_rate = \"1/s\", {gate} }}\n\
         stations.desk = {{ service_rate = \"3/s\", {desk} }}\n"
    );
    settled(&text).theory().unwrap()
}

const ON: &str = "routes = { desk = \"100%\" }";
const CLASSES: &str = "classes = [{ name = \"a\", share = \"50%\" }, { name = \"b\", share = \"50%\" }]";

/// Which of gate and desk have a mean wait.
fn known(gate: &str, desk: &str, more: &str) -> [bool; 2] {
    let theory = theory(&format!("{ON}, {gate}"), desk, more);
    [0, 1].map(|at| {
        // Stations are in the order of their names.
        theory.stations[1 - at].wait_mean.is_some()
    })
}

#[test]
fn a_wait_is_known_where_jobs_come_as_a_poisson_stream() {
    let constant = "service = \"constant\"";
    assert_eq!(known("", "", ""), [true, true]);
    // M/M/1 lets a Poisson stream out, so the last station may have any times.
    assert_eq!(known("", constant, ""), [true, true]);
    // M/D/1 does not.
    assert_eq!(known(constant, "", ""), [true, false]);
    // Several servers with general times, or jobs that come back to them.
    assert_eq!(known("", &format!("{constant}, servers = 2"), ""), [true, false]);
    assert_eq!(known("", &format!("{constant}, routes = {{ desk = \"10%\" }}"), ""), [true, false]);
    assert_eq!(known("", &format!("{constant}, routes = {{ gate = \"10%\" }}"), ""), [false, false]);
    // With exponential times they may.
    assert_eq!(known("", "servers = 2, routes = { gate = \"10%\" }", ""), [true, true]);
    // An infinite mean is no closed form.
    assert_eq!(known("", "service = { pareto = { shape = 1.9 } }", ""), [true, false]);
    assert_eq!(known("", "service = { pareto = { shape = 2.1 } }", ""), [true, true]);
}

#[test]
fn waits_of_classes_are_known_where_classes_come_independently() {
    let of_classes = |gate: &str, desk: &str| {
        let theory = theory(&format!("{ON}, {gate}"), desk, CLASSES);
        [theory.wait_mean().is_some(), theory.wait_mean_of(0).is_some(), theory.wait_mean_of(1).is_some()]
    };
    let priority = "order = \"priority\"";
    let preemptive = "order = \"preemptive\"";
    let slow = "classes = { b = { service_rate = \"5/s\" } }";
    assert_eq!(of_classes("", ""), [true; 3]);
    assert_eq!(of_classes("", priority), [true; 3]);
    assert_eq!(of_classes("", preemptive), [true; 3]);
    // After a station that orders them, the number of all is still known, and those of the classes are not.
    assert_eq!(of_classes(priority, ""), [true, false, false]);
    assert_eq!(of_classes(priority, priority), [true, false, false]);
    assert_eq!(of_classes("", &format!("{priority}, {slow}")), [true; 3]);
    assert_eq!(of_classes("", slow), [true; 3]);
    assert_eq!(of_classes(slow, ""), [false; 3]);
    assert_eq!(of_classes("", &format!("{slow}, servers = 2")), [false; 3]);
    assert_eq!(of_classes("", &format!("{priority}, servers = 3")), [true; 3]);
    assert_eq!(of_classes("", &format!("{preemptive}, servers = 3")), [true; 3]);
    assert_eq!(of_classes("", &format!("{priority}, routes = {{ gate = \"10%\" }}")), [true, false, false]);
}

/// What the report says is not known, its rows do not say.
#[test]
fn what_is_not_known_has_no_value() {
    let theory = theory(&format!("{ON}, service = \"constant\""), "", "");
    assert_eq!(
        [theory.number_mean(), theory.wait_mean(), theory.sojourn_mean(), theory.wait_share()],
        [None; 4]
    );
    assert_eq!([theory.wait_quantile(0.5), theory.sojourn_quantile(0.5)], [None; 2]);
    assert!((theory.utilisation() - 5.0 / 12.0).abs() < 1e-12);
}
