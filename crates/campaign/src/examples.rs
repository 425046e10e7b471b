//! A small study for tests: its outcomes are a pure function of the point and the replicate.

use serde_json::json;
use towtank_report::{Outcome, SweepAxis, Warning};

use crate::{Header, KeyParts, Plan, PointKey, PointSpec};

/// A sweep over `servers`; no sweep if there is only one value.
pub(crate) fn plan(servers: &[u32], replicates: u32) -> Plan {
    plan_with_seed(servers, replicates, 7)
}

/// The same with another seed.
pub(crate) fn plan_with_seed(servers: &[u32], replicates: u32, seed: u64) -> Plan {
    let point = |&count: &u32| {
        let scenario = json!({ "study": "toy", "servers": count, "rate": "1GiB/s" });
        let parts = KeyParts {
            study: "toy",
            scenario_hash: &scenario.to_string(),
            input_hashes: &[],
            seed,
            results_version: 1,
        };
        let settings =
            if servers.len() > 1 { vec![("servers".to_owned(), json!(count))] } else { Vec::new() };
        PointSpec { settings, key: PointKey::new(&parts), scenario }
    };
    let axes = match servers {
        [_] => Vec::new(),
        _ => {
            vec![SweepAxis { key: "servers".to_owned(), values: servers.iter().map(|n| json!(n)).collect() }]
        }
    };
    let header = Header {
        study: "toy".to_owned(),
        title: "Toy".to_owned(),
        results_version: 1,
        seed,
        scenario: json!({ "study": "toy", "servers": servers, "rate": "1GiB/s" }),
        scenario_hash: format!("toy-{servers:?}"),
    };
    Plan::new(header, replicates, axes, servers.iter().map(point).collect()).unwrap()
}

/// The outcome of a run: values that need all their digits, some that are missing, and some warnings.
pub(crate) fn outcome(point: &PointSpec, replicate: u32) -> Outcome {
    let servers = point.scenario["servers"].as_f64().unwrap();
    let mut outcome = Outcome::default();
    let span = (1.0 + f64::from(replicate)) / (3.0 * servers);
    outcome.measure("span_s", span, "s");
    if (replicate + servers as u32).is_multiple_of(4) {
        outcome.missing("lost_bytes", "bytes", "no disk failed");
        outcome.warnings.push(Warning::note("no disk failed"));
    } else {
        outcome.measure("lost_bytes", 1e18 + span, "bytes");
    }
    outcome.series.insert("spans".to_owned(), json!([span, span.sqrt()]));
    outcome.digest = Some(format!("{:016x}", span.to_bits()));
    outcome.events = 1000 + u64::from(replicate);
    outcome
}
