//! Schedulers at clients and at proxies, PARDA's windows and dmClock's feedback: their effect on shares and
//! latencies, and the audit's findings when one of them loses a job.

use crate::cluster::{application, disk, spec};
use towtank_devices::drives::Noise;
use towtank_iosched::{FlowSpec, Flows, PardaSpec, Rule};
use towtank_kernel::{Executor, Outcome, RunOptions, run};
use towtank_pfs::{
    Application, Component, Counts, Entity, Parda, Pfs, Phase, RuleCommand, Spec, Stands, Striping,
    TimedRule, Work,
};
use towtank_testkit::Finished;
use towtank_units::{SimSpan, SimTime};

const KIB: u64 = 1 << 10;

/// Applications that write past the cache, each with this many clients and flows, to disks of 1 ms per
/// request.
fn writing(clients: &[u32], flows: u16) -> Spec {
    let one = |clients: &u32| Application {
        phases: vec![Phase::Write],
        request_bytes: 64 * KIB,
        flows,
        ..application(*clients, 400)
    };
    let mut spec = spec(clients.iter().map(one).collect());
    spec.cache = None;
    spec.client.layouts_are_kept = true;
    (spec.client.request, spec.client.job) = (SimSpan::ZERO, SimSpan::ZERO);
    (spec.server.before, spec.server.after) = (SimSpan::ZERO, SimSpan::ZERO);
    spec.network.card = None;
    spec.disk = disk(1 << 40, 1 << 40, SimSpan::from_ms(1), Noise::None);
    spec.scheduler.descriptions = vec!["fifo".parse().expect("it is one")];
    spec
}

fn scheduler(spec: &mut Spec, text: &str, weights: &[u32], stands: Stands) {
    spec.scheduler.descriptions = vec![text.parse().expect("it is one")];
    spec.scheduler.flows = Flows::weighted(weights);
    spec.scheduler.stands = stands;
}

fn until(spec: &Spec, ms: u64) -> Outcome<Pfs<'_>> {
    let end = Some(SimTime::ZERO.saturating_add(SimSpan::from_ms(ms)));
    let options = RunOptions { executor: Executor::Sequential, end, ..RunOptions::default() };
    run(&Pfs::new(spec), options).expect("its laws hold")
}

/// Completed jobs of each application.
fn done(spec: &Spec, ms: u64) -> Vec<u64> {
    let counts: Counts = until(spec, ms).merged_statistics();
    let of = |application: u16| -> u64 {
        let served = counts.served.range((application, 0)..=(application, u32::MAX));
        served.map(|(_, bytes)| bytes / (64 * KIB)).sum()
    };
    (0..spec.work.applications().len() as u16).map(of).collect()
}

/// The second application's files lie on server 0 alone, the first one's on two servers.
fn one_on_both(weights: &[u32]) -> Spec {
    let mut spec = writing(&[8, 8], 2);
    spec.servers = 2;
    spec.striping = Striping::new(2, vec![Component { end: None, count: 1, stripe: 1 << 30 }]);
    for file in 8 * 400..16 * 400 {
        let own = towtank_pfs::Stripe { server: 0, bytes: 1 << 30 };
        spec.striping = spec.striping.with_file(file, vec![own]);
    }
    spec.scheduler.flows = Flows::weighted(weights);
    spec
}

/// A token bucket at each client: two clients of 20 jobs per second each, whatever the servers could do.
#[test]
fn a_client_holds_itself_back() {
    let mut spec = writing(&[2], 4);
    scheduler(&mut spec, "token-bucket", &[1], Stands::Clients);
    let (rate, burst) = (20 * 64 * KIB, 64 * KIB);
    spec.scheduler.flows = Flows::new(vec![FlowSpec { rate, burst, ..FlowSpec::default() }]);
    // One job each at once, and 20 per second.
    assert_eq!(done(&spec, 2_010), [2 * 41]);
    spec.scheduler.stands = Stands::Servers;
    // The same bucket at each of four servers limits all clients of the application together.
    let at_servers = done(&spec, 2_010)[0];
    assert!((100..=4 * 41).contains(&at_servers), "{at_servers}");
}

/// Shares over all servers: one proxy knows the service of a flow at both servers, a scheduler at each does
/// not.
#[test]
fn a_proxy_shares_all_servers_together() {
    let share = |stands: Stands| {
        let mut spec = one_on_both(&[1, 1]);
        scheduler(&mut spec, "sfq:4", &[1, 1], stands);
        let done = done(&spec, 2_000);
        done[1] as f64 / (done[0] + done[1]) as f64
    };
    // By itself each scheduler halves server 0, and the first application has server 1 alone, where it does
    // not always have work.
    let (servers, proxy) = (share(Stands::Servers), share(Stands::Proxies(1)));
    assert!((0.25..0.37).contains(&servers), "{servers}");
    assert!(proxy > servers + 0.1, "{proxy} with a proxy, {servers} without");
    // One proxy per server knows no more than a scheduler there.
    let each = share(Stands::Proxies(2));
    assert!((each - servers).abs() < 0.03, "{each} with a proxy each, {servers} at servers");
}

/// With dmClock's feedback server 0 knows what the first application gets at server 1, and gives the second
/// one more than the half that its weight earns there.
#[test]
fn feedback_shares_all_servers_together() {
    let share = |feedback: bool| {
        let mut spec = one_on_both(&[1, 1]);
        scheduler(&mut spec, "mclock:2", &[1, 1], Stands::Servers);
        spec.client.feedback = feedback;
        let done = done(&spec, 2_000);
        done[1] as f64 / (done[0] + done[1]) as f64
    };
    let (without, with) = (share(false), share(true));
    assert!((0.25..0.37).contains(&without), "{without}");
    assert!(with > without + 0.05, "{with} with feedback, {without} without");
}

/// PARDA's windows follow the shares and keep the latency near its threshold; without windows the latency is
/// the time of all requests at once.
#[test]
fn windows_keep_latency_and_shares() {
    let windows = |shares: Option<[u64; 2]>| {
        let mut spec = writing(&[4, 4], 64);
        let host = |share_thousandths: u64| PardaSpec {
            threshold: SimSpan::from_ms(20),
            gain_percent: 20,
            smoothing_percent: 30,
            share_thousandths,
            window_max: 64,
        };
        let parda =
            |shares: [u64; 2]| Parda { hosts: shares.map(host).to_vec(), interval: SimSpan::from_ms(50) };
        spec.client.parda = shares.map(parda);
        let outcome = until(&spec, 6_000);
        let window = |entity: &Entity| match entity {
            Entity::Client(client) => client.gate.as_ref().map(|gate| gate.left - gate.done),
            _ => None,
        };
        let out: Vec<u64> = outcome.entities.iter().filter_map(window).collect();
        // Windows begin at 64 and need a while to settle.
        let later = done(&spec, 6_000).into_iter().zip(done(&spec, 3_000)).map(|(all, before)| all - before);
        (later.collect::<Vec<u64>>(), out)
    };
    let (even, out) = windows(Some([1_000, 1_000]));
    // Four disks of 1 ms: at 20 ms 80 jobs are outstanding; windows allow a few more.
    let all: u64 = out.iter().sum();
    assert!((70..130).contains(&all), "{out:?}");
    assert!((even[1] as f64 / even[0] as f64 - 1.0).abs() < 0.1, "{even:?}");
    let (uneven, out) = windows(Some([1_000, 3_000]));
    assert!((2.2..3.5).contains(&(uneven[1] as f64 / uneven[0] as f64)), "{uneven:?}, {out:?}");
    assert!(windows(None).1.is_empty(), "without windows nobody is held back");
}

/// DTA in front of four servers, with a deadline for one application: it completes sooner than without.
#[test]
fn dta_stands_before_all_servers() {
    let mean = |text: &str| {
        let mut spec = writing(&[2, 12], 2);
        scheduler(&mut spec, text, &[1, 1], Stands::Proxies(1));
        let due = |ms: u64| FlowSpec { delay: SimSpan::from_ms(ms), ..FlowSpec::default() };
        spec.scheduler.flows = Flows::new(vec![due(2), due(10_000)]);
        let counts: Counts = until(&spec, 1_000).merged_statistics();
        counts.done[&(0, 0)].latencies.mean().expect("some were done") / 1e6
    };
    let (dta, fifo) = (mean("dta:1"), mean("fifo:4"));
    assert!(dta < 0.6 * fifo, "{dta} ms with deadlines, {fifo} ms without");
}

/// A rule that starts at 1 s, is changed at 2 s and stops at 3 s: 40, 10, 20 and again 40 jobs per second at
/// each of four servers; the measurement begins with the second phase.
#[test]
fn rules_start_change_and_stop_in_a_run() {
    let mut spec = writing(&[8], 16);
    let work = spec.work.applications()[0].clone();
    spec.work = Work::new(vec![Application { phases: vec![Phase::Rest, Phase::Write], ..work }]);
    scheduler(&mut spec, "tbf:depth=1", &[1], Stands::Servers);
    spec.scheduler.flows = Flows::new(vec![FlowSpec { rate: 40, burst: 1, ..FlowSpec::default() }]);
    let rule = |rate: u64| Rule {
        name: "night".to_owned(),
        flows: Some([towtank_iosched::FlowId(0)].into()),
        rate,
        depth: 1,
        ..Rule::default()
    };
    let at = SimSpan::from_secs;
    spec.scheduler.rules = vec![
        TimedRule { at: at(1), command: RuleCommand::Start { rank: 0, rule: rule(10) } },
        TimedRule {
            at: at(2),
            command: RuleCommand::Change { name: "night".to_owned(), rate: 20, rank: None },
        },
        TimedRule { at: at(3), command: RuleCommand::Stop { name: "night".to_owned() } },
    ];
    let by_second: Vec<u64> = (1..=4).map(|second| done(&spec, 1_000 * second)[0]).collect();
    let seconds: Vec<u64> =
        (0..4).map(|at| by_second[at] - at.checked_sub(1).map_or(0, |before| by_second[before])).collect();
    for (found, rate) in seconds.iter().zip([40, 10, 20, 40]) {
        assert!(found.abs_diff(4 * rate) <= 8, "{seconds:?}, {rate} a second at each server expected");
    }
    // A server that misses a command, or carries one out twice, is noticed.
    let model = Pfs::new(&spec);
    let finished = Finished::of(until(&spec, 2_500));
    for (change, word) in [(-1_i32, "started and 0 stopped"), (2, "more commands")] {
        let complaint = finished.complaint(&model, "a command is lost", |state| {
            let server = state.entities.iter_mut().find_map(|one| match one {
                Entity::Server(server) => Some(server),
                _ => None,
            });
            let ruled = &mut server.expect("there is one").ruled;
            assert_eq!(ruled.done, 2);
            ruled.done = if change < 0 { 0 } else { 4 };
        });
        assert!(complaint.contains(word), "{complaint}");
    }
}

/// A job that is lost or duplicated at a client's or a proxy's scheduler is noticed.
#[test]
fn damage_is_noticed() {
    let mut spec = writing(&[3], 4);
    scheduler(&mut spec, "fifo:1", &[1], Stands::Clients);
    let model = Pfs::new(&spec);
    let finished = Finished::of(until(&spec, 50));
    let client = |entities: &mut Vec<Entity>, change: fn(&mut towtank_pfs::Gate)| {
        let Entity::Client(client) = &mut entities[0] else { panic!("entity 0 is a client") };
        change(client.gate.as_mut().expect("it has one"));
    };
    let complaint = finished.complaint(&model, "a job is forgotten", |state| {
        client(&mut state.entities, |gate| gate.came -= 1);
    });
    assert!(complaint.contains("arrived at a gate"), "{complaint}");
    let complaint = finished.complaint(&model, "a job is let go twice", |state| {
        client(&mut state.entities, |gate| gate.left += 1);
    });
    assert!(complaint.contains("arrived at a gate"), "{complaint}");
    let complaint = finished.complaint(&model, "a slot is emptied", |state| {
        client(&mut state.entities, |gate| gate.slots[0] = None);
    });
    assert!(complaint.contains("arrived at a gate"), "{complaint}");
    scheduler(&mut spec, "fifo:1", &[1], Stands::Proxies(1));
    let model = Pfs::new(&spec);
    let finished = Finished::of(until(&spec, 50));
    let complaint = finished.complaint(&model, "a proxy does not hear of a job", |state| {
        let proxy = state.entities.iter_mut().find_map(|one| match one {
            Entity::Proxy(gate) => Some(gate),
            _ => None,
        });
        let gate = proxy.expect("there is one");
        (gate.done, gate.came, gate.left) = (gate.done - 1, gate.came - 1, gate.left - 1);
    });
    assert!(complaint.contains("proxies know"), "{complaint}");
}
