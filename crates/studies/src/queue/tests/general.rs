//! General service times and priorities: simulation against closed forms, executors against each other,
//! refusals.

use towtank_report::Claim;

use super::*;

/// A counter that is busy 70 % of the time.
fn counter(more: &str) -> String {
    format!(
        "study = \"queue\"\nwarm_up = \"500s\"\nspan = \"6000s\"\n{more}\n\
         [stations.counter]\narrival_rate = \"0.7/s\"\n"
    )
}

const CLASSES: &str =
    "classes = [{ name = \"gold\", share = \"30%\" }, { name = \"rest\", share = \"70%\" }]";

/// Single stations with closed forms of their mean waits.
pub fn with_closed_forms() -> Vec<String> {
    let rate = "service_rate = \"1/s\"\n";
    let shapes = [
        "service = \"constant\"",
        "service = { erlang = { phases = 4 } }",
        "service = { hyperexponential = { scv = 4 } }",
        "service = { lognormal = { cv = 1.5 } }",
        "service = { pareto = { shape = 5 } }",
    ];
    let alone = shapes.map(|shape| counter("") + rate + shape);
    let measured = "service = { empirical = { spans = [\"500ms\", \"1s\", \"3s\"], weights = [4, 5, 1] } }";
    let branches = "service = { branches = [{ share = \"80%\", rate = \"2/s\" }, { share = \"20%\", rate = \"0.5/s\" }] }";
    let own = "classes = { rest = { service_rate = \"1.2/s\", service = { erlang = { phases = 2 } } } }";
    let mut all = alone.to_vec();
    all.extend([measured, branches].map(|shape| counter("") + shape));
    all.push(counter(CLASSES) + rate + own);
    for order in ["order = \"priority\"\n", "order = \"preemptive\"\n"] {
        all.push(counter(CLASSES) + rate + order);
        all.push(counter(CLASSES) + rate + order + own);
        all.push(counter(CLASSES) + rate + order + "service = \"constant\"");
        all.push(counter(CLASSES) + "service_rate = \"0.4/s\"\nservers = 3\n" + order);
    }
    all
}

fn claims(text: &str, count: u32) -> Vec<Claim> {
    let prepared = prepare(text);
    presented(&*prepared, &replicates(&*prepared, count)).claims
}

/// How far the closed form lies from the mean, in half widths of the 95 % interval.
fn off(claim: &Claim) -> f64 {
    let [ours, low, published] =
        [claim.ours.value, claim.ours.low, claim.published.value].map(|one| one.get());
    let (ours, published) = (ours.unwrap(), published.unwrap());
    (ours - published).abs() / (ours - low.unwrap())
}

#[test]
fn single_stations_agree_with_their_closed_forms() {
    for text in with_closed_forms() {
        let claims = claims(&text, 16);
        let claim = |name: &str| claims.iter().find(|claim| claim.name == name);
        let classes = text.contains("gold");
        let named = ["wait_mean", "number_mean", "utilisation", "sojourn_mean"].into_iter();
        let of_classes = ["wait_mean[gold]", "wait_mean[rest]", "sojourn_mean[rest]"];
        let named = named.chain(of_classes.into_iter().filter(|_| classes));
        for name in named {
            let claim = claim(name).unwrap_or_else(|| panic!("{name} is not claimed of\n{text}"));
            assert!(off(claim) < 2.0, "{name} is {} half widths off\n{text}", off(claim));
        }
    }
}

/// The comparison above can fail: a rate that is 5 % off, and priorities the other way round.
#[test]
fn a_wrong_rate_or_order_is_noticed() {
    let text = counter(CLASSES) + "service_rate = \"1/s\"\norder = \"priority\"\n";
    let slower = text.replace("service_rate = \"1/s\"", "service_rate = \"0.95/s\"");
    let (right, wrong) = (claims(&text, 16), claims(&slower, 16));
    let of = |claims: &[Claim], name: &str| claims.iter().find(|claim| claim.name == name).unwrap().clone();
    for name in ["wait_mean", "utilisation", "wait_mean[gold]"] {
        let mixed = Claim { published: of(&right, name).published, ..of(&wrong, name) };
        assert!(off(&mixed) > 2.0, "{name}: {} half widths", off(&mixed));
    }
    let swapped =
        Claim { published: of(&right, "wait_mean[rest]").published, ..of(&right, "wait_mean[gold]") };
    assert!(off(&swapped) > 2.0);
}

/// A tandem: a station that interrupts, with a loop over one of exponential times, and one with general
/// times.
pub const MIXED: &str = r#"
study = "queue"
travel = "50ms"
warm_up = "100s"
span = "500s"
classes = [{ name = "a", share = "25%" }, { name = "b", share = "25%" }, { name = "c", share = "50%" }]

[stations.door]
service_rate = "2/s"
arrival_rate = "1/s"
order = "preemptive"
routes = { desk = "60%", archive = "10%" }
classes = { c = { service_rate = "3/s", service = { lognormal = { cv = 2 } } } }

[stations.desk]
servers = 3
service_rate = "0.5/s"
arrival_rate = "0.2/s"
service = { erlang = { phases = 3 } }
order = "preemptive"
routes = { archive = "50%" }

[stations.archive]
servers = 2
service = { empirical = { spans = ["300ms", "2s"] } }
order = "priority"
routes = { desk = "30%" }
"#;

#[test]
fn what_has_no_closed_form_has_no_claim() {
    let prepared = prepare(MIXED);
    let presentation = presented(&*prepared, &replicates(&*prepared, 3));
    let names: Vec<&str> = presentation.claims.iter().map(|claim| claim.name.as_str()).collect();
    assert_eq!(names, ["utilisation", "throughput", "little_ratio"]);
    assert!(
        presentation.answer.prose().contains(", for which there is no closed form. Limit: "),
        "{}",
        presentation.answer.prose()
    );
    let two = counter("") + "servers = 2\nservice_rate = \"1/s\"\nservice = \"constant\"\n";
    assert_eq!(claims(&two, 3).len(), 3, "M/D/2");
}

/// A former fault: of three orders of service whose mean waits of all jobs are equal, one was called the
/// best. What differs is the wait of the classes.
#[test]
fn a_sweep_names_no_winner_among_equals() {
    let text = |order: &str| counter(CLASSES) + &format!("service_rate = \"1/s\"\norder = \"{order}\"\n");
    let points = ["priority", "fifo"].map(|order| (order, text(order)));
    let presentation = swept("stations.counter.order", &points, 5);
    let answer = presentation.answer.prose();
    let sentences: Vec<&str> = answer.split(". ").collect();
    assert!(sentences[0].ends_with(": tied, since their differences are within chance"), "{answer}");
    assert!(!sentences[0].contains("order "), "{answer}");
    assert!(
        answer.contains("That of gold lies between") && answer.contains("with order priority"),
        "{answer}"
    );
    assert!(presentation.claims.iter().any(|claim| claim.name == "wait_mean[gold]_0"));
}

/// Means without a variance are shown, but confirm nothing.
#[test]
fn heavy_tails_are_warned_of_and_not_judged() {
    let pareto = |shape: &str| {
        let text =
            counter("") + &format!("service_rate = \"1/s\"\nservice = {{ pareto = {{ shape = {shape} }} }}");
        let prepared = prepare(&text);
        presented(&*prepared, &replicates(&*prepared, 3))
    };
    let judged = |presentation: &Presentation| -> Vec<String> {
        let all = presentation.claims.iter().filter(|claim| claim.verdict != Verdict::CannotTell);
        all.map(|claim| claim.name.clone()).collect()
    };
    let heavy = pareto("2.5");
    let not_of_waits = ["utilisation", "throughput", "little_ratio"];
    assert!(judged(&heavy).iter().all(|name| not_of_waits.contains(&name.as_str())), "{:?}", judged(&heavy));
    assert!(heavy.warnings.iter().any(|warning| warning.text.contains("give waits an infinite variance")));
    let heavier = pareto("1.5");
    assert!(judged(&heavier).iter().all(|name| name == "little_ratio"), "{:?}", judged(&heavier));
    assert!(heavier.warnings.iter().any(|warning| warning.text.contains("the mean wait is infinite")));
    assert!(pareto("3.5").warnings.is_empty());
}

/// What is said of a station with a rate, of one without, and of classes.
#[test]
fn every_refusal_of_service_and_priorities_says_what_to_do() {
    for (more, message, hint) in [
        ("service = { hyperexponential = { scv = 0.5 } }", "it must be from 1 to 10000", "take `erlang`"),
        ("service = { lognormal = { cv = -1 } }", "it must be from 0 to 100", "standard deviation over mean"),
        ("service = { pareto = { shape = 1 } }", "above 1, where the mean is finite", "raise it"),
        (
            "service = { empirical = { spans = ['1s'] } }",
            "`stations.counter.service` gives the times themselves",
            "leave one of the two out",
        ),
        ("order = 'priority'", "there are not two classes of jobs", "[[classes]]"),
        ("classes.gold = { service_rate = '1/s' }", "there is no such class", "add tables [[classes]]"),
    ] {
        refused(&(counter("") + "service_rate = '1/s'\n" + more), message, hint);
    }
    for (service, message, hint) in [
        ("'exponential'", "`stations.counter.service_rate` is missing", "add `service_rate = \"100/s\"`"),
        ("{ empirical = { spans = [] } }", "has 0 times", "give the times"),
        ("{ empirical = { spans = ['0s', '1s'], weights = [1, 0] } }", "are 0s", "above zero"),
        (
            "{ empirical = { spans = ['1s'], weights = [1, 2] } }",
            "2 entries for 1 times",
            "leave `weights` out",
        ),
        ("{ empirical = { spans = ['1s'], weights = [0] } }", "one must be more", "count how often"),
        ("{ branches = [{ share = '50%', rate = '2/s' }] }", "add up to 50%", "add up to 100%"),
        ("{ branches = [{ share = '100%', rate = '0/s' }] }", "must be above zero", "100/s"),
        ("{ branches = [{ share = '100%', rate = '20M/s' }] }", "whole nanoseconds", "divide all rates"),
    ] {
        refused(&(counter("") + "service = " + service), message, hint);
    }
    for (classes, message, hint) in [
        ("{ name = 'a', share = '60%' }", "add up to 60%", "add up to 100%"),
        ("{ name = 'A', share = '100%' }", "not a valid class name", "lower-case"),
        ("{ name = 'a', share = '50%' }, { name = 'a', share = '50%' }", "two classes", "rename"),
        (
            "{ name = 'a', share = '0%' }, { name = 'b', share = '100%' }",
            "must have jobs",
            "leave the class out",
        ),
    ] {
        refused(&(counter(&format!("classes = [{classes}]")) + "service_rate = '1/s'\n"), message, hint);
    }
    let misspelt = counter(CLASSES) + "service_rate = '1/s'\nclasses.gild = { service_rate = '1/s' }";
    refused(&misspelt, "there is no such class", "did you mean `gold`?");
}

/// A span that is a whole number of nanoseconds is exact at any rate.
#[test]
fn constant_services_may_be_as_short_as_a_nanosecond() {
    let text = "study = \"queue\"\nstations.a = { service_rate = \"500M/s\", arrival_rate = \"1M/s\", service = \"constant\" }";
    assert!(check(text).is_ok());
    refused(&text.replace("500M", "300M"), "whole nanoseconds", "divide all rates");
}
