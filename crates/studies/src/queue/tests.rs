//! The study from scenario text to presentation: right answers, one digest, useful refusals, a checker that
//! can fail.

mod damaged;
mod general;

use std::sync::atomic::{AtomicBool, Ordering};

use towtank_kernel::{Executor, Simulator};
use towtank_report::{Outcome, Verdict};
use towtank_scenario::{Document, Setting, Source};
use towtank_streams::Seed;

use super::observed::ROWS;
use super::*;
use crate::travel::{Travelling, counted};
use towtank_study::{PointResult, Prepared, StopAsked, Study};

const MM1: &str = r#"
study = "queue"
warm_up = "1000s"
span = "20000s"

[stations.counter]
service_rate = "1/s"
arrival_rate = "0.7/s"
"#;

const NETWORK: &str = r#"
study = "queue"
travel = "50ms"
warm_up = "400s"
span = "3000s"

[stations.door]
service_rate = "2/s"
arrival_rate = "1/s"
routes = { desk = "60%", archive = "10%" }

[stations.desk]
servers = 3
service_rate = "0.5/s"
arrival_rate = "0.2/s"
routes = { archive = "50%" }

[stations.archive]
servers = 2
service_rate = "1/s"
routes = { desk = "30%" }
"#;

/// Without travel, all entities are joined by links without delay.
const TIGHT: &str = r#"
study = "queue"
warm_up = "10s"
span = "500s"
stations.a = { service_rate = "2/s", arrival_rate = "1/s", routes = { b = "50%" } }
stations.b = { service_rate = "1/s", routes = { a = "25%" }, servers = 2 }
"#;

fn check(text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let outline = Document::parse(&Source::file("queue.toml", text))?.outline()?;
    Queue.check(outline.points()[0].draft())
}

/// A scenario with all defaults filled in.
pub fn settled(text: &str) -> Settled {
    let outline = Document::parse(&Source::file("queue.toml", text)).unwrap().outline().unwrap();
    let draft = outline.points()[0].draft();
    draft.read::<Scenario>().unwrap().settle(draft).unwrap().0
}

fn prepare(text: &str) -> Box<dyn Prepared> {
    check(text).unwrap_or_else(|problems| panic!("{:?}", problems.iter().collect::<Vec<_>>()))
}

fn run_as(prepared: &dyn Prepared, replicate: u32, executor: Executor, workers: u32) -> Outcome {
    let context =
        RunContext { executor, workers, ..RunContext::alone(Seed(5).replicate(replicate), replicate) };
    prepared.run(&context).unwrap_or_else(|error| panic!("{executor}, {workers} workers: {error}"))
}

fn replicates(prepared: &dyn Prepared, count: u32) -> Vec<Outcome> {
    (0..count).map(|replicate| run_as(prepared, replicate, Executor::Sequential, 1)).collect()
}

fn presented(prepared: &dyn Prepared, outcomes: &[Outcome]) -> Presentation {
    let scenario = prepared.resolved();
    Queue.present(&[PointResult { settings: &[], scenario: &scenario, outcomes }])
}

/// Runs and presents a sweep: each value of the key, with the text that has it.
fn swept(key: &str, points: &[(&str, String)], count: u32) -> Presentation {
    let run = |(value, text): &(&str, String)| {
        let prepared = prepare(text);
        let settings = vec![(key.to_owned(), serde_json::json!(value))];
        (settings, prepared.resolved(), replicates(&*prepared, count))
    };
    let points: Vec<_> = points.iter().map(run).collect();
    let results: Vec<PointResult<'_>> = points
        .iter()
        .map(|(settings, scenario, outcomes)| PointResult { settings, scenario, outcomes })
        .collect();
    Queue.present(&results)
}

#[test]
fn executor_and_worker_count_never_show() {
    let texts = [NETWORK.replace("3000s", "500s"), TIGHT.to_owned()];
    for text in texts.into_iter().chain([general::MIXED.to_owned(), general::MIXED.replace("50ms", "0s")]) {
        let prepared = prepare(&text);
        let want = run_as(&*prepared, 0, Executor::Sequential, 1);
        assert!(want.events > 1_000, "{}", want.events);
        for executor in [Executor::Conservative, Executor::Optimistic] {
            for workers in [1, 2, 3, 8] {
                assert_eq!(run_as(&*prepared, 0, executor, workers), want, "{executor}, {workers} workers");
            }
        }
        assert_eq!(run_as(&*prepared, 0, Executor::Check, 1), want, "rollback check");
    }
}

#[test]
fn replicates_draw_different_numbers() {
    let prepared = prepare(TIGHT);
    let digest = |replicate| run_as(&*prepared, replicate, Executor::Sequential, 1).digest;
    assert_eq!(digest(0), digest(0));
    assert_ne!(digest(0), digest(1));
}

#[test]
fn one_queue_agrees_with_its_closed_form() {
    let prepared = prepare(MM1);
    let outcomes = replicates(&*prepared, 20);
    for outcome in &outcomes {
        let names: Vec<&str> = outcome.measures.keys().map(String::as_str).collect();
        let promised: Vec<&str> = ROWS.iter().map(|measure| measure.name).collect();
        assert_eq!(names, promised);
    }
    let presentation = presented(&*prepared, &outcomes);
    assert_eq!(presentation.warnings, []);
    let missed: Vec<_> = presentation.claims.iter().filter(|claim| claim.verdict != Verdict::Holds).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    insta::assert_snapshot!(presentation.answer.prose(), @"A job waits 2.342 s on average (95 % interval 2.269 to 2.418 s), where theory says 2.333 s. Limit: its servers are busy 69.99 % of the time.");
    let alone = presented(&*prepared, &outcomes[..1]).answer.prose();
    assert!(
        alone.contains(" s on average in this one replicate, where theory says 2.333 s. Limit: "),
        "{alone}"
    );
    let ids: Vec<&str> = presentation.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["queue_length", "responses", "busy", "numbers_counter", "replicates"]);
}

#[test]
fn a_network_agrees_with_jackson() {
    let prepared = prepare(NETWORK);
    let presentation = presented(&*prepared, &replicates(&*prepared, 20));
    let missed: Vec<_> = presentation.claims.iter().filter(|claim| claim.verdict != Verdict::Holds).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    insta::assert_snapshot!(presentation.answer.prose(), @"A job takes 3.759 s on average (95 % interval 3.651 to 3.871 s), where theory says 3.711 s. Limit: the busiest station is desk, at 65.72 %.");
    assert_eq!(presentation.claims.len(), 8, "all means, but no quantile of a whole network");
    let stations = presentation.tables[1].rows();
    assert_eq!(stations.len(), 3 * 5);
}

#[test]
fn a_sweep_is_drawn_over_utilisation() {
    let points = ["0.3/s", "0.6/s"].map(|rate| (rate, MM1.replace("0.7/s", rate)));
    let presentation = swept("stations.counter.arrival_rate", &points, 3);
    let ids: Vec<&str> = presentation.figures.iter().map(|figure| figure.id.as_str()).collect();
    insta::assert_snapshot!(presentation.answer.prose(), @"The mean wait of a visit lies between 407.7 ms with arrival rate 0.3/s and 1,457 ms with arrival rate 0.6/s.");
    assert_eq!(ids, ["wait_mean_by_utilisation", "number_mean_by_utilisation"]);
    assert_eq!(presentation.tables[0].rows().len(), 2 * ROWS.len());
    let names: Vec<&str> = presentation.claims.iter().map(|claim| claim.name.as_str()).collect();
    assert!(names.contains(&"number_mean_0") && names.contains(&"number_mean_1"), "{names:?}");
    assert!(presentation.claims[0].statement.ends_with("with arrival_rate = 0.3/s"));
}

#[test]
fn what_is_left_out_suits_the_load() {
    let resolved = |rate: &str| {
        let text = format!(
            "study = \"queue\"\nstations.counter = {{ service_rate = \"1/s\", arrival_rate = \"{rate}\" }}"
        );
        let resolved = prepare(&text).resolved();
        (resolved["warm_up"].clone(), resolved["span"].clone())
    };
    // Relaxation times of 11.7 s, 380 s, and 4·10⁶ s; the last would take more arrivals than the default
    // allows.
    assert_eq!(resolved("0.5/s"), ("4min".into(), "200min".into()));
    assert_eq!(resolved("0.9/s"), ("7600s".into(), "380000s".into()));
    assert_eq!(resolved("0.999/s"), ("80000000s".into(), "85000min".into()));
}

#[test]
fn the_resolved_form_reads_back_to_itself() {
    let texts = [MM1, NETWORK, TIGHT, general::MIXED].map(str::to_owned);
    for text in texts.into_iter().chain(general::with_closed_forms()) {
        let resolved = prepare(&text).resolved();
        let toml = format!("study = \"queue\"\n{}", toml::to_string(&resolved).unwrap());
        assert_eq!(prepare(&toml).resolved(), resolved);
    }
}

#[test]
fn flags_ask_about_one_station() {
    let mut document = Document::of_study("queue", Vec::new());
    for (name, value) in [("arrival-rate", "1.5/s"), ("service-rate", "1/s"), ("servers", "2")] {
        let flag = FLAGS.iter().find(|flag| flag.name == name).unwrap();
        let key = flag.key.parse().unwrap();
        document.set(Setting::of_flag(&format!("--{name}"), &key, value).unwrap()).unwrap();
    }
    let outline = document.outline().unwrap();
    let prepared = Queue.check(outline.points()[0].draft()).unwrap();
    assert_eq!(prepared.resolved()["stations"]["counter"]["servers"], 2);
}

/// Stations, or more, with the first problem of a scenario with them, and its next step. `STATION` stands for
/// two rates.
#[test]
fn every_refusal_says_what_to_do() {
    for (text, message, hint) in [
        ("", "`stations` is missing", "add `stations"),
        ("[stations]", "there is no station", "add a table such as [stations.counter]"),
        (
            "stations.a = { service_rate = '1/s' }",
            "no jobs come from outside",
            "give at least one station an `arrival_rate`",
        ),
        (
            "stations.a = { service_rate = '0/s', arrival_rate = '1/s' }",
            "`stations.a.service_rate` is 0/s, but it must be above zero",
            "such as \"100/s\"",
        ),
        ("stations.A-b = { STATION }", "`A-b` is not a valid station name", "use lower-case letters"),
        (
            "stations.a = { service_rate = '1/s', arrival_rate = '2.5/s' }",
            "2.5 jobs/s reach `a`, but its server finishes at most 1 jobs/s",
            "set `stations.a.servers` to at least 3",
        ),
        (
            "stations.desk = { STATION, routes = { dsk = '10%' } }",
            "`stations.desk.routes` names `dsk`, but there is no such station",
            "did you mean `desk`?",
        ),
        (
            "stations.a = { STATION, routes = { b = '60%', a = '60%' } }\nstations.b = { STATION }",
            "the shares of `stations.a.routes` add up to 120%, but at most 100% can go on",
            "lower one of them",
        ),
        (
            "stations.a = { STATION, routes = { a = '100%' } }",
            "a job that has come to `a` can never leave",
            "lower a share in `routes`",
        ),
        (
            "stations.a = { STATION }\nstations.b = { service_rate = '1/s' }",
            "no job ever reaches `b`",
            "give it an `arrival_rate`",
        ),
        (
            "stations.a = { service_rate = '1000000000/s', arrival_rate = '1/s' }",
            "`stations.a.service_rate` is 1000000000/s, but times are whole nanoseconds, and random ones follow their rate only \
             up to 10000000/s",
            "divide all rates by the same number",
        ),
        (
            "stations.a = { service_rate = '10M/s', arrival_rate = '10.1M/s', servers = 3 }",
            "`stations.a.arrival_rate` is 10100000/s, but times are whole nanoseconds, and random ones follow their rate only \
             up to 10000000/s",
            "divide all rates by the same number",
        ),
        (
            "travel = '584y'\nwarm_up = '1y'\nspan = '1y'\nstations.a = { STATION }",
            "a run with `travel` of 584y exceeds the maximum simulated time, 584 years",
            "shorten it",
        ),
        (
            "span = '0s'\nstations.a = { STATION }",
            "`span` is 0s, but something must be measured",
            "leave it out",
        ),
        (
            "warm_up = '500y'\nspan = '500y'\nstations.a = { STATION }",
            "`warm_up` of 500y and `span` of 500y exceed the maximum simulated time, 584 years",
            "shorten one of them",
        ),
    ] {
        let text = text.replace("STATION", "service_rate = '1/s', arrival_rate = '0.5/s'");
        refused(&format!("study = \"queue\"\n{text}\n"), message, hint);
    }
}

/// A scenario has a first problem with this message, a next step, and a place.
fn refused(text: &str, message: &str, hint: &str) {
    let Err(problems) = check(text) else { panic!("it was taken:\n{text}") };
    let problem = problems.iter().next().unwrap();
    assert!(problem.message().contains(message), "{}\n{text}", problem.message());
    let next = problem.next_step().unwrap_or_default();
    assert!(next.contains(hint), "{next}\n{text}");
    assert!(problem.place().is_some(), "{text}");
}

/// A former bug: this named a `warm_up` and a `span` that nobody had set.
#[test]
fn a_default_that_is_too_long_names_the_load() {
    let text = "study = \"queue\"\nstations.a = { service_rate = \"1/s\", arrival_rate = \"0.999999/s\" }";
    let Err(problems) = check(text) else { panic!("it was taken") };
    let problem = problems.iter().next().unwrap();
    insta::assert_snapshot!(problem.message(), @"the load of `a` is within 0.0001 % of its capacity, so the default `warm_up` is 925,925,463 d; a run of that length exceeds the maximum simulated time, 584 years");
    insta::assert_snapshot!(problem.next_step().unwrap_or_default(), @"lower `stations.a.arrival_rate`, add servers, or set a shorter `warm_up`");
}

/// A former bug: a default beyond all simulated time was cut to 18446744073.709551615 s, the run began, and
/// failed after centuries; and warnings named that time as long enough.
#[test]
fn no_time_is_cut_to_what_can_be_simulated() {
    let slow = "study = \"queue\"\nwarm_up = \"0s\"\n\
        stations.a = { service_rate = \"0.000000002/s\", arrival_rate = \"0.000000001/s\" }\n";
    let Err(problems) = check(slow) else { panic!("it was taken") };
    let problem = problems.iter().next().unwrap();
    insta::assert_snapshot!(problem.message(), @"`a` takes 5,787 d for a job on average, so the default `span` is 67,458,647 d; a run of that length exceeds the maximum simulated time, 584 years");
    insta::assert_snapshot!(problem.next_step().unwrap_or_default(), @"set a shorter `span`, or multiply all rates by the same number");
    let short = prepare(&slow.replace("warm_up", "span = \"1y\"\nwarm_up"));
    let presentation = presented(&*short, &replicates(&*short, 1));
    let warnings: Vec<&str> = presentation.warnings.iter().map(|warning| warning.text.as_str()).collect();
    assert!(warnings.iter().all(|text| !text.contains("18446744073")), "{warnings:?}");
    assert!(
        warnings[0].ends_with("5 of them are more than the 584 years that can be simulated"),
        "{warnings:?}"
    );
    // Gaps and services that end after all simulated time: the run ends before.
    let longest = prepare(&slow.replace("warm_up", "span = \"584y\"\nwarm_up"));
    assert!((1..40).all(|replicate| run_as(&*longest, replicate, Executor::Sequential, 1).events < 500));
}

/// A former bug: the spans of replicates were added up to at most 584 years, so that ten of 100 years had 1.7
/// times their rate of arrivals in the table of stations.
#[test]
fn rates_of_long_replicates_are_over_all_their_time() {
    let text = "study = \"queue\"\nwarm_up = \"1y\"\nspan = \"100y\"\n\
        stations.a = { service_rate = \"0.00001/s\", arrival_rate = \"0.000005/s\" }\n";
    let prepared = prepare(text);
    let presentation = presented(&*prepared, &replicates(&*prepared, 10));
    let rows = presentation.tables[1].rows();
    let rate = serde_json::to_value(&rows[0][3]).unwrap().as_f64().unwrap();
    assert!((rate / 5e-6 - 1.0).abs() < 0.02, "{rate}");
}

/// A former bug: spans were cut to whole nanoseconds, half of one on average: of services of 100 ns 0.5 % was
/// missing.
#[test]
fn short_spans_keep_their_mean() {
    let text = "study = \"queue\"\nwarm_up = \"10us\"\nspan = \"50ms\"\n\
        stations.a = { service_rate = \"10M/s\", arrival_rate = \"5M/s\" }\n";
    let prepared = prepare(text);
    let seen = |name: &str, outcomes: &[Outcome]| {
        let values: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.measures[name].value()).collect();
        towtank_metrics::mean_interval_95(&values).unwrap()
    };
    let outcomes = replicates(&*prepared, 10);
    let served = seen("sojourn_mean", &outcomes).mean - seen("wait_mean", &outcomes).mean;
    assert!((served * 1e9 - 100.0).abs() < 0.3, "a service takes {} ns", served * 1e9);
    let rate = seen("throughput", &outcomes).mean;
    assert!((rate / 5e6 - 1.0).abs() < 0.0015, "{rate}");
}

#[test]
fn short_runs_are_warned_of() {
    let text = MM1.replace("1000s", "10s").replace("20000s", "1000s");
    let prepared = prepare(&text);
    let presentation = presented(&*prepared, &replicates(&*prepared, 2));
    let begin =
        ["`warm_up` is 10s, only 0.3 relaxation times", "`span` is 1000s, only 26.7 relaxation times"];
    assert_eq!(presentation.warnings.len(), 2, "{:?}", presentation.warnings);
    for (warning, begin) in presentation.warnings.iter().zip(begin) {
        assert!(warning.text.starts_with(begin), "{}", warning.text);
    }
}

/// A former bug: of ten replicates none saw a wait, as theory expects, and the interval of no width missed
/// it.
#[test]
fn waits_too_rare_to_judge_are_not_judged() {
    let text = MM1
        .replace("0.7/s", "0.3/s")
        .replace("1/s", "3.3/s")
        .replace("[stations.counter]", "[stations.counter]\nservers = 5");
    let prepared = prepare(&text.replace("20000s", "300s"));
    let presentation = presented(&*prepared, &replicates(&*prepared, 10));
    insta::assert_snapshot!(presentation.answer.prose(), @"None of 928 jobs waited, where theory says that one in 21,000,000 waits, and the mean is 2.97 ns. Also: the run cannot tell whether that is right: it takes 420,000,000 jobs or more, by a longer `span` or more replicates. Also: the servers are busy 1.85 % of the time.");
    for claim in &presentation.claims {
        let of_waits = ["waiting_mean", "wait_share", "wait_mean"].contains(&claim.name.as_str());
        assert_eq!(claim.verdict == Verdict::CannotTell, of_waits, "{claim:?}");
        assert_ne!(claim.verdict, Verdict::Misses, "{claim:?}");
    }
    let note = presentation.claims.iter().find(|claim| claim.name == "wait_mean").unwrap().note.clone();
    insta::assert_snapshot!(note.unwrap_or_default(), @"0 of 928 visits waited, and theory expects 4.466e-5: too few to judge by; it takes 420,000,000 visits or more, by a longer `span` or more replicates");
}

/// A former bug: an interval of -21 to 40 s was said to confirm 9 s.
#[test]
fn intervals_too_wide_to_judge_by_confirm_nothing() {
    let text = MM1.replace("0.7/s", "0.9/s").replace("1000s", "10s").replace("20000s", "500s");
    let prepared = prepare(&text);
    let outcomes = replicates(&*prepared, 16);
    let mut too_wide = 0;
    for pair in outcomes.chunks(2) {
        for claim in presented(&*prepared, pair).claims {
            let noted = claim.note.as_ref().is_some_and(|note| note.contains("too wide to judge by"));
            too_wide += usize::from(noted && claim.verdict == Verdict::CannotTell);
            let theory = claim.published.value.get().unwrap();
            let near = |end: Option<f64>| end.is_some_and(|end| (end - theory).abs() <= 0.5 * theory);
            let narrow = near(claim.ours.low.get()) && near(claim.ours.high.get());
            assert!(claim.verdict != Verdict::Holds || narrow, "{claim:?}");
        }
    }
    assert!(too_wide > 0, "no interval was too wide");
}

#[test]
fn a_stopped_run_says_so() {
    // The kernel checks the flag at intervals, so the warm-up must be longer than such an interval.
    let prepared = prepare(&MM1.replace("1000s", "10000000s"));
    let stop = AtomicBool::new(true);
    let context = RunContext { stop: StopAsked::by(&stop), ..RunContext::alone(Seed(5), 0) };
    let outcome = prepared.run(&context).unwrap();
    assert!(outcome.partial && stop.load(Ordering::Relaxed));
    let reason = outcome.measures["number_mean"].reason().unwrap();
    assert_eq!(reason, "the run was stopped before its warm-up was over");
    let presentation = presented(&*prepared, &[outcome]);
    assert!(presentation.claims.is_empty() && presentation.answer.prose().is_empty());
}

#[test]
fn shipped_scenarios_are_legal() {
    assert!(crate::shipped::check_all(&Queue) >= 5);
}

/// The claims that `towtank reproduce queue-mm1` shows.
#[test]
fn the_claims_of_mm1_hold() {
    let text = include_str!("../../../../scenarios/queue-mm1.toml");
    let outline = Document::parse(&Source::file("queue-mm1.toml", text)).unwrap().outline().unwrap();
    let (seed, count) = (Seed(outline.header().seed), outline.header().replicates);
    let prepared = prepare(text);
    let run = |replicate| prepared.run(&RunContext::alone(seed.replicate(replicate), replicate)).unwrap();
    let outcomes: Vec<Outcome> = (0..count).map(run).collect();
    let claims = presented(&*prepared, &outcomes).claims;
    let missed: Vec<_> = claims.iter().filter(|claim| claim.verdict != Verdict::Holds).collect();
    assert!(claims.len() == 11 && missed.is_empty(), "{missed:#?}");
}

/// `docs/writing-a-study.md` quotes pieces of this study. Each must still occur in it, word for word; `// …`
/// stands for a gap, and differences in line width are ignored, since the formatter sets it.
#[test]
fn the_guide_quotes_what_is_written() {
    let sources = [
        include_str!("../queue.rs"),
        include_str!("scenario.rs"),
        include_str!("stations.rs"),
        include_str!("model.rs"),
        include_str!("model/audit.rs"),
        include_str!("observed.rs"),
        include_str!("classes.rs"),
        include_str!("present.rs"),
    ];
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let sources = sources.map(squeeze);
    let guide = include_str!("../../../../docs/writing-a-study.md");
    let blocks: Vec<&str> =
        guide.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 8, "{} blocks", blocks.len());
    for piece in blocks.iter().flat_map(|block| block.split("// …")) {
        let wanted = squeeze(piece);
        assert!(sources.iter().any(|source| source.contains(&wanted)), "no longer in the study:\n{piece}");
    }
}

/// The model of a network, whose messages between workers are serialised ([`crate::travel`]).
#[test]
fn queues_travel() {
    let document = Document::parse(&Source::file("travel.toml", NETWORK)).unwrap();
    let outline = document.outline().unwrap();
    let draft = outline.points()[0].draft();
    let ready = <Queue as Question>::check(draft.read().unwrap(), draft).unwrap();
    let network = Network::new(&ready.scenario, SimTime::ZERO).unwrap();
    let context = RunContext::alone(Seed(3), 1);
    counted(NETWORK, || {
        Travelling(context).run_model(&network, context.seed, Some(ready.scenario.end())).unwrap();
    });
}
