//! The study from scenario text to presentation: the published cells, one digest, refusals, audits that can
//! fail.

mod claims;
mod orderings;
mod reads;

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use towtank_kernel::Executor;
use towtank_report::Verdict;
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;

use super::*;
use towtank_study::{PointResult, Prepared, StopAsked, Study};

fn check(text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let text = format!("study = \"put\"\n{text}");
    let outline = Document::parse(&Source::file("put.toml", &text))?.outline()?;
    Put.check(outline.points()[0].draft())
}

fn prepare(text: &str) -> Box<dyn Prepared> {
    check(text).unwrap_or_else(|problems| panic!("{:?}", problems.iter().collect::<Vec<_>>()))
}

fn run_as(prepared: &dyn Prepared, replicate: u32, executor: Executor, workers: u32) -> Outcome {
    let context =
        RunContext { executor, workers, ..RunContext::alone(Seed(1).replicate(replicate), replicate) };
    prepared.run(&context).unwrap_or_else(|error| panic!("{executor}, {workers} workers: {error}"))
}

fn run(text: &str) -> Outcome {
    run_as(&*prepare(text), 0, Executor::Sequential, 1)
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    outcome.measures[measure].value().unwrap_or_else(|| panic!("{measure} is missing"))
}

fn presented(prepared: &dyn Prepared, outcomes: &[Outcome]) -> Presentation {
    let scenario = prepared.resolved();
    Put.present(&[PointResult { settings: &[], scenario: &scenario, outcomes }])
}

const ALL: &str = "protocol = \"uch-ccp,replicast-m,replicast-h,uch-aimd,serial\"\n";
/// Small enough to run on all executors.
const SMALL: &str = "gateways = 12\nservers = 18\nduration = \"2ms\"\nwarm_up = \"1ms\"\n";

#[test]
fn executor_and_worker_count_never_show() {
    let mixed = format!("{ALL}{SMALL}read_share = \"50%\"\nin_flight = 2");
    let surge = "protocol = \"uch-ccp,replicast-m,replicast-h,uch-aimd\"\nfidelity = \"surge\"\ngateways = 12\nservers = 18\nduration = \"1ms\"\nchunk = \"16KiB\"";
    let racks = format!(
        "{ALL}{SMALL}read_share = \"30%\"\nnetwork = {{ racks = 3, uplink = \"20Gbit/s\", layout = \"blocks\" }}"
    );
    let fast = format!("{mixed}\ndisk_read = \"900MiB/s\"\npipelined = true");
    let both = "protocol = \"replicast-m,replicast-h\"\n";
    let limited = format!(
        "{both}{SMALL}in_flight = 3\nread_share = \"20%\"\nknown_share = \"40%\"\npipelined = true\ncapacity = \"3MiB\"\n\
         network = {{ request_rate = \"4000/s\" }}"
    );
    for text in [format!("{ALL}{SMALL}"), mixed, fast, limited, racks, surge.to_owned()] {
        let prepared = prepare(&text);
        let want = run_as(&*prepared, 0, Executor::Sequential, 1);
        assert!(want.events > 1_000, "{}", want.events);
        for executor in [Executor::Conservative, Executor::Optimistic] {
            for workers in [1, 2, 3] {
                let got = run_as(&*prepared, 0, executor, workers);
                assert_eq!(got.digest, want.digest, "{executor}, {workers} workers");
                assert_eq!(got, want, "{executor}, {workers} workers");
            }
        }
        assert_eq!(run_as(&*prepared, 0, Executor::Check, 1), want, "rollback check");
    }
}

/// A put of a lone gateway waits for nobody, so its time is the sum of its parts.
#[test]
fn a_lone_put_takes_what_its_parts_take() {
    let lone = |protocol: &str| {
        let text =
            format!("protocol = \"{protocol}\"\nfidelity = \"surge\"\ngateways = 1\nduration = \"100ms\"");
        value(&run(&text), "put_latency_mean_us")
    };
    // Request and bid take 3,424 ns each and the window opens 2,424 ns later; data 117,673 + 1,000; disk
    // 312,500; ack 3,424.
    let common = f64::from((2 * 3_424 + 2_424 + 117_673 + 1_000 + 312_500 + 3_424) / 1_000);
    assert_eq!(lone("replicast-m"), common);
    // Three times request and answer (2,160) with the data between them; the tail of the last frame overlaps
    // the next request.
    let frames = 14 * 7_272;
    let each = 2_160 + frames;
    let last = 5_072 * 8 * 1_000 / 9_900;
    let unicast = f64::from((3 * each + last + 1_000 + 312_500 + 1_080) / 1_000);
    assert!((lone("uch-ccp") - unicast).abs() <= 1.0, "{} and {unicast}", lone("uch-ccp"));
}

/// Servers that hold a chunk do not bid, so a put of a known chunk is over when they have said so: the
/// request waits 2,424 ns for the cancellations of the put before and takes 3,424, and the ninth answer of
/// the group comes nine messages of 2,424 and a trip later.
#[test]
fn a_known_chunk_is_not_stored_again() {
    for protocol in ["replicast-m", "replicast-h"] {
        let text =
            format!("protocol = \"{protocol}\"\ngateways = 1\nknown_share = \"100%\"\nduration = \"20ms\"");
        let outcome = run(&text);
        assert_eq!(
            value(&outcome, "put_latency_mean_us"),
            f64::from(2_424 + 3_424 + 9 * 2_424 + 1_000) / 1_000.0
        );
        assert_eq!(value(&outcome, "disk_utilisation"), 0.0, "{protocol}");
        assert_eq!(value(&outcome, "replicas_per_second"), 0.0, "{protocol}");
        // Three of the nine servers hold each chunk, give or take the put in progress at either end.
        let (puts, declined) = (value(&outcome, "puts_measured"), value(&outcome, "requests_declined"));
        assert!((declined - 3.0 * puts).abs() <= 6.0, "{protocol}: {declined} of {puts} puts");
    }
    let half = run(&format!("{SMALL}known_share = \"50%\""));
    let (puts, replicas) = (value(&half, "chunks_per_second"), value(&half, "replicas_per_second"));
    assert!((0.35..0.65).contains(&(replicas / (3.0 * puts))), "{puts} {replicas}");
}

/// Two groups of nine servers with room for eight chunks each: 144 replicas are 48 chunks.
#[test]
fn full_servers_do_not_bid_and_no_more_is_stored_than_fits() {
    for protocol in ["replicast-m", "replicast-h"] {
        let text = format!(
            "protocol = \"{protocol}\"\ngateways = 4\nservers = 18\ncapacity = \"1MiB\"\nwarm_up = \"0s\"\nduration = \"30ms\""
        );
        let outcome = run(&text);
        let (puts, replicas) =
            (value(&outcome, "puts_measured"), value(&outcome, "replicas_per_second") * 0.03);
        assert!(puts > 40.0 && puts <= 48.0, "{protocol}: {puts}");
        assert!(replicas.round() <= 144.0, "{protocol}: {replicas}");
        assert!(value(&outcome, "puts_failed") > 0.0 && value(&outcome, "requests_declined") > 0.0);
    }
}

/// A gateway that may ask every 500 us stores 2,000 chunks per second, although it could store more.
#[test]
fn requests_keep_to_their_rate() {
    let of = |rate: &str| {
        let text = format!("gateways = 4\nin_flight = 2\nwarm_up = \"10ms\"\nduration = \"100ms\"\n{rate}");
        value(&run(&text), "chunks_per_second")
    };
    let (free, limited) = (of(""), of("network = { request_rate = \"2000/s\" }"));
    assert!(free > 12_000.0, "{free}");
    assert!((limited / 8_000.0 - 1.0).abs() < 0.01, "{limited}");
    let wide = of("network = { request_rate = \"1000000/s\" }");
    assert!((wide / free - 1.0).abs() < 0.02, "{wide} and {free}");
}

/// A lone gateway sends the next chunk while the disks write the one before: a put then costs the gateway
/// request, bids, lead and transfer, and no longer the disk.
#[test]
fn a_pipelined_gateway_does_not_wait_for_disks() {
    let of = |protocol: &str, pipelined: bool| {
        let text = format!(
            "protocol = \"{protocol}\"\ngateways = 1\nservers = 36\npipelined = {pipelined}\nduration = \"100ms\""
        );
        value(&run(&text), "chunks_per_second")
    };
    for protocol in ["replicast-m", "replicast-h", "uch-ccp"] {
        let (waits, pipelined) = (of(protocol, false), of(protocol, true));
        assert!(pipelined > 1.4 * waits, "{protocol}: {pipelined} and {waits}");
    }
    // The link carries no more than a chunk every 117.685 us.
    assert!(of("replicast-m", true) < 1e9 / 117_685.0, "{}", of("replicast-m", true));
}

/// A get of a lone gateway waits for nobody, so its time is the sum of its parts.
#[test]
fn a_lone_get_takes_what_its_parts_take() {
    let lone = |protocol: &str| {
        let text =
            format!("protocol = \"{protocol}\"\ngateways = 1\nread_share = \"100%\"\nduration = \"100ms\"");
        value(&run(&text), "get_latency_mean_us")
    };
    // The request takes 3,424 ns; the answer is expected nine messages, two and two trips later (28,664);
    // then the chunk is read (312,500) and sent (117,685 and 1,000). The unused part of the fixed lead is
    // spent waiting.
    assert_eq!(lone("replicast-m"), f64::from(3_424 + 28_664 + 312_500 + 117_685 + 1_000) / 1_000.0);
    // The request 1,080; the read; 14 frames of 7,272 and a last one of 4,098; a trip.
    assert_eq!(lone("uch-ccp"), f64::from(1_080 + 312_500 + 14 * 7_272 + 4_098 + 1_000) / 1_000.0);
}

/// Reads of disks with another rate for them: the same sums with 1,000 MiB/s, 125,000 ns, for the read alone.
#[test]
fn reads_are_as_fast_as_the_disk_reads() {
    let disk = "gateways = 1\ndisk_read = \"1000MiB/s\"\nduration = \"100ms\"";
    let mean = |protocol: &str, share: &str, measure: &str| {
        value(&run(&format!("protocol = \"{protocol}\"\nread_share = \"{share}\"\n{disk}")), measure)
    };
    let negotiated = f64::from(3_424 + 28_664 + 125_000 + 117_685 + 1_000) / 1_000.0;
    assert_eq!(mean("replicast-m", "100%", "get_latency_mean_us"), negotiated);
    let unicast = f64::from(1_080 + 125_000 + 14 * 7_272 + 4_098 + 1_000) / 1_000.0;
    assert_eq!(mean("uch-ccp", "100%", "get_latency_mean_us"), unicast);
    // Writes are as slow as before.
    assert!(mean("replicast-m", "1%", "put_latency_mean_us") > 440.0);
    let busy = |disk: &str| {
        let text = format!("gateways = 30\nservers = 18\nin_flight = 4\nread_share = \"60%\"\n{disk}");
        value(&run(&text), "gets_per_second")
    };
    let (slow, fast) = (busy(""), busy("disk_read = \"1GiB/s\""));
    assert!(fast > 1.1 * slow, "{fast} and {slow}");
}

/// A fault that was mended: bids expected their answers a trip too early, so over long links every chosen
/// server declined, for ever.
#[test]
fn gets_from_afar_are_not_declined_for_ever() {
    for trip in ["10us", "50us"] {
        let outcome =
            run(&format!("{SMALL}read_share = \"100%\"\nin_flight = 2\nnetwork = {{ trip = \"{trip}\" }}"));
        let (gets, declined) = (value(&outcome, "gets_measured"), value(&outcome, "gets_declined"));
        assert!(gets > 20.0 && declined < 0.2 * gets, "{trip}: {gets} and {declined}");
    }
}

#[test]
fn reads_are_answered_and_compete_with_writes() {
    for protocol in ["replicast-m", "replicast-h", "uch-ccp", "uch-aimd", "serial"] {
        let of = |share: &str| run(&format!("protocol = \"{protocol}\"\n{SMALL}read_share = \"{share}\""));
        let (none, half, all) = (of("0%"), of("50%"), of("100%"));
        let missing = none.measures["get_latency_mean_us"].reason().unwrap_or_default().to_owned();
        assert!(missing.contains("`read_share` is 0%"), "{missing}");
        assert_eq!(value(&all, "chunks_per_second"), 0.0, "{protocol}");
        assert!(value(&half, "gets_per_second") > 0.0, "{protocol}");
        assert!(value(&half, "chunks_per_second") < value(&none, "chunks_per_second"), "{protocol}");
        // Each chunk is written three times but read once.
        assert!(value(&all, "gets_per_second") > 1.5 * value(&none, "chunks_per_second"), "{protocol}");
        assert_eq!(value(&all, "gets_failed") + value(&all, "gets_retried"), 0.0, "{protocol}");
    }
}

/// Uplinks that are never full change only the order of draws; full ones carry what they can, and a multicast
/// only once.
#[test]
fn a_core_that_blocks_holds_puts_back() {
    let text = |protocol: &str, racks: &str| {
        format!(
            "protocol = \"{protocol}\"\ngateways = 30\nservers = 36\ndisk = \"2000MiB/s\"\nduration = \"20ms\"\n{racks}"
        )
    };
    let fast = "network = { racks = 3, uplink = \"10Tbit/s\" }";
    let slow = "network = { racks = 3, uplink = \"10Gbit/s\" }";
    let mut rates = Vec::new();
    for protocol in ["replicast-m", "replicast-h", "uch-ccp", "serial"] {
        let of = |racks: &str| run(&text(protocol, racks));
        let (none, fast, slow) = (of(""), of(fast), of(slow));
        let rate = |outcome: &Outcome| value(outcome, "chunks_per_second");
        assert!(
            (rate(&fast) / rate(&none) - 1.0).abs() < 0.04,
            "{protocol}: {} {}",
            rate(&fast),
            rate(&none)
        );
        assert!(rate(&slow) < 0.75 * rate(&none), "{protocol}: {} {}", rate(&slow), rate(&none));
        let full = value(&slow, "uplink_utilisation");
        assert!((0.5..=1.0).contains(&full), "{protocol}: {full}");
        rates.push(rate(&slow));
    }
    // Three copies of a chunk leave a rack, two thirds of them for another one; of a multicast, only one.
    assert!(rates[0] > 1.3 * rates[2], "{rates:?}");
    // Three uplinks of 1.25 GB/s, of which 1 % is overhead: two of the three copies of a chunk cross, give or
    // take 1 %.
    let bound = 3.0 * 1.25e9 * 0.99 / (2.0 * f64::from(128 << 10));
    assert!(rates[2] < 1.03 * bound && rates[2] > 0.9 * bound, "{rates:?} {bound}");
}

#[test]
fn every_get_is_answered_when_servers_fail() {
    for protocol in ["replicast-m", "replicast-h", "uch-ccp"] {
        let text = format!(
            "protocol = \"{protocol}\"\n{SMALL}read_share = \"50%\"\n\
             faults = {{ failed_servers = 3, ack_timeout = \"3ms\" }}\nduration = \"20ms\""
        )
        .replacen("duration = \"2ms\"\n", "", 1);
        let outcome = run(&text);
        assert_eq!(
            value(&outcome, "gets_failed"),
            0.0,
            "{protocol}: three failed servers hold no chunk alone"
        );
        assert!(value(&outcome, "gets_measured") > 50.0, "{protocol}: {}", value(&outcome, "gets_measured"));
    }
}

#[test]
fn nothing_is_lost_when_servers_fail() {
    for protocol in ["replicast-m", "replicast-h", "uch-ccp"] {
        let text = format!(
            "protocol = \"{protocol}\"\n{SMALL}faults = {{ failed_servers = 3, ack_timeout = \"3ms\" }}\nduration = \"20ms\""
        )
        .replacen("duration = \"2ms\"\n", "", 1);
        let outcome = run(&text);
        assert!(value(&outcome, "puts_retried") > 0.0, "{protocol}");
        assert_eq!(value(&outcome, "puts_failed"), 0.0, "{protocol}");
        assert!(value(&outcome, "puts_measured") > 100.0, "{protocol}: {}", value(&outcome, "puts_measured"));
    }
}

#[test]
fn more_in_flight_open_loops_and_other_sizes_run() {
    let closed = value(&run(SMALL), "chunks_per_second");
    let more = value(&run(&format!("{SMALL}in_flight = 4")), "chunks_per_second");
    assert!(more > closed, "{more} and {closed}");
    let open = run("gateways = 30\nwarm_up = \"5ms\"\nduration = \"50ms\"\narrival_rate = \"20000/s\"");
    assert!((value(&open, "chunks_per_second") / 20_000.0 - 1.0).abs() < 0.1, "{:?}", open.measures);
    let mixed = format!("{ALL}{SMALL}other_chunks = [{{ chunk = \"16KiB\", share = \"50%\" }}]");
    let mixed = run(&mixed);
    assert!(value(&mixed, "replicast_m_chunks_per_second") > 1.2 * closed, "{:?}", mixed.measures);
}

#[test]
fn a_slow_disk_gets_less_to_do_where_servers_bid() {
    let slow = |protocol: &str| {
        let text =
            format!("protocol = \"{protocol}\"\nfaults = {{ slow_servers = 10, slow_disk = \"100MiB/s\" }}");
        value(&run(&text), "chunks_per_second")
    };
    let (bids, random) = (slow("replicast-m"), slow("uch-ccp"));
    assert!(bids > 1.5 * random, "{bids} and {random}");
}

#[test]
fn every_refusal_says_what_to_do() {
    let cases = [
        ("protocol = \"replicast-x\"", "there is no protocol called `replicast-x`", "replicast-"),
        ("protocol = \"serial,serial\"", "`protocol` names serial twice", "once"),
        ("protocol = \"serial\"\nfidelity = \"surge\"", "SURGE has no serial variant", "model"),
        ("fidelity = \"surge\"\nin_flight = 2", "`in_flight` is beyond what `surge` fidelity", "model"),
        ("replicas = 10", "`replicas` is 10, but a group has 9 servers", "group"),
        ("servers = 5", "`group` is 9, but there are only 5 servers", "servers"),
        ("duration = \"0s\"", "`duration` is 0s", "10ms"),
        ("network = { trip = \"0s\" }", "`network.trip` is 0s", "1us"),
        ("bids = { extension_m = \"90%\" }", "`bids.extension_m` is 90%", "140%"),
        ("arrival_rate = \"0/s\"", "`arrival_rate` is 0/s", "closed loop"),
        ("gets = \"30%\"", "unknown key `gets`", ""),
        ("network = { racks = 4 }", "`network.uplink` is not set", "40Gbit/s"),
        ("network = { racks = 0 }", "`network.racks` is 0", "from 1"),
        ("network = { racks = 91, uplink = \"1GB/s\" }", "but there are 90 servers", "at least"),
        (
            "servers = 95\nnetwork = { racks = 91, uplink = \"1GB/s\" }",
            "but there are 90 servers in complete groups of 9",
            "at least",
        ),
        (
            "servers = 95\nfaults = { failed_servers = 91 }",
            "there are only 90 servers in complete groups of 9",
            "at most 90",
        ),
        ("network = { uplink = \"40Gbit/s\" }", "`network.racks` is 1", "2 or more"),
        (
            "fidelity = \"surge\"\nnetwork = { racks = 2, uplink = \"1GB/s\" }",
            "`network.racks` is beyond what",
            "model",
        ),
        ("protocol = \"uch-ccp\"\nknown_share = \"5%\"", "but uch-ccp does not negotiate", "replicast-m"),
        ("known_share = \"105%\"", "`known_share` is 105%", "all chunks are new"),
        ("capacity = \"64KiB\"", "`capacity` is 64KiB, but a chunk has 128KiB", "several chunks"),
        ("network = { request_rate = \"0/s\" }", "nothing would ever be put", "no limit"),
        ("fidelity = \"surge\"\npipelined = true", "`pipelined` is beyond what `surge`", "model"),
        (
            "network = { request_rate = \"5000/s\" }\nfaults = { failed_servers = 1 }",
            "`faults.bid_timeout` is 100us, but",
            "ask again",
        ),
        ("disk_read = \"1GB/s\"", "nothing is read: `read_share` is 0%", "leave `disk_read` out"),
        ("read_share = \"130%\"", "`read_share` is 130%", "reads only"),
        ("fidelity = \"surge\"\nread_share = \"1%\"", "`read_share` is beyond what `surge`", "model"),
        (
            "faults = { failed_servers = 1, bid_timeout = \"20us\" }",
            "`faults.bid_timeout` is 20us, but",
            "ask again",
        ),
        (
            "in_flight = 16\nfaults = { failed_servers = 1 }",
            "`faults.bid_timeout` is 100us, but",
            "ask again",
        ),
        (
            "faults = { failed_servers = 1, ack_timeout = \"300us\" }",
            "`faults.ack_timeout` is 300us, but",
            "network.link",
        ),
    ];
    for (text, message, hint) in cases {
        let Err(problems) = check(text) else { panic!("{text} was accepted") };
        let problem = problems.iter().next().unwrap();
        assert!(problem.message().contains(message), "{text}: {}", problem.message());
        assert!(problem.next_step().unwrap_or_default().contains(hint), "{text}: {:?}", problem.next_step());
        assert!(problem.place().is_some(), "{text}");
    }
}

/// A fault that was mended: data counted as carried on arrival at an uplink, so that one was busy for 122 %
/// of the time.
#[test]
fn an_uplink_is_never_busier_than_time() {
    for (protocol, uplink) in
        [("uch-aimd", "3Gbit/s"), ("uch-ccp", "1Gbit/s"), ("replicast-m", "1Gbit/s"), ("serial", "500Mbit/s")]
    {
        let outcome = run(&format!(
            "protocol = \"{protocol}\"\ngateways = 4\nservers = 27\nreplicas = 2\nin_flight = 3\nwarm_up = \"59us\"\nduration = \"940us\"\n\
             network = {{ racks = 2, uplink = \"{uplink}\" }}"
        ));
        let busy = value(&outcome, "uplink_utilisation");
        assert!((0.3..=1.0).contains(&busy), "{protocol}: {busy}");
    }
}

/// A fault that was mended: writes that disks had yet to do counted as done when a run was stopped.
#[test]
fn a_stopped_run_is_not_busier_than_time() {
    for protocol in ["uch-ccp", "replicast-m", "serial"] {
        for racks in ["", "network = { racks = 2, uplink = \"1Gbit/s\" }\n"] {
            let prepared = prepare(&format!(
                "protocol = \"{protocol}\"\ngateways = 30\nservers = 27\nin_flight = 8\nwarm_up = \"1us\"\nstart_spread = \"1us\"\n\
                 duration = \"10s\"\ndisk = \"20MiB/s\"\n{racks}"
            ));
            let stop = AtomicBool::new(true);
            let context = RunContext { stop: StopAsked::by(&stop), ..RunContext::alone(Seed(1), 1) };
            let outcome = prepared.run(&context).unwrap();
            assert!(outcome.partial);
            for measure in ["disk_utilisation", "uplink_utilisation"] {
                let busy = outcome.measures[measure].value().unwrap_or(0.5);
                assert!((0.0..=1.0).contains(&busy), "{protocol}: {measure} is {busy}");
            }
        }
    }
}

/// A fault that was mended: gateways requested bids again 30,000 times before the first message was through,
/// and took 1 GB/s of memory until none was left.
#[test]
fn a_link_too_slow_for_its_timeouts_is_refused() {
    let text = "gateways = 8\nservers = 9\nduration = \"500us\"\nfaults = { failed_servers = 6 }\nnetwork = { link = \"1KiB/s\" }";
    let Err(problems) = check(text) else { panic!("it was accepted") };
    let all: Vec<&str> = problems.iter().map(|problem| problem.message()).collect();
    assert!(all.iter().any(|message| message.contains("`faults.bid_timeout` is 100us")), "{all:?}");
    assert!(check(&text.replace("failed_servers = 6", "failed_servers = 0")).is_ok());
}

/// A scenario that passes that check can still send more requests than the port can carry: the run then fails
/// with an error that names the keys, before it exhausts the machine's memory.
#[test]
fn a_port_at_which_ever_more_waits_ends_the_run() {
    let text = "gateways = 200\nservers = 9\nin_flight = 4\nduration = \"400ms\"\nwarm_up = \"0s\"\nstart_spread = \"1us\"\n\
                faults = { failed_servers = 3, fail_at = \"0s\" }";
    let context = RunContext::alone(Seed(1), 1);
    let error = prepare(text).run(&context).expect_err("more is asked than comes through").to_string();
    assert!(error.contains("for a link") && error.contains("`faults.bid_timeout`"), "{error}");
}

#[test]
fn the_resolved_form_reads_back_to_itself() {
    for text in [SMALL.to_owned(), format!("{ALL}other_chunks = [{{ chunk = \"4KiB\", share = \"10%\" }}]")] {
        let resolved = prepare(&text).resolved();
        let toml = toml::to_string(&resolved).unwrap();
        assert_eq!(prepare(&toml).resolved(), resolved);
    }
}

#[test]
fn what_is_shown_is_there() {
    let prepared = prepare(&format!("{ALL}gateways = 12\nservers = 18\nwarm_up = \"10ms\""));
    let outcome = run_as(&*prepared, 0, Executor::Sequential, 1);
    let promised: Vec<&str> = Put.measures().iter().map(|measure| measure.name).collect();
    assert!(outcome.measures.keys().all(|name| promised.contains(&name.as_str())));
    let shown = presented(&*prepared, &[outcome]);
    let ids: Vec<&str> = shown.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "throughput",
            "utilisation",
            "latency",
            "latencies",
            "sorted_latency",
            "latency_over_time",
            "windows_replicast_m",
            "windows_replicast_h"
        ]
    );
    assert!(
        shown.answer.prose().ends_with(": one run of each cannot tell them apart, `--replicates 5` may."),
        "{}",
        shown.answer.prose()
    );
    assert_eq!(shown.tables[0].rows().len(), 5);
}

#[test]
fn shipped_scenarios_are_legal() {
    assert!(crate::shipped::check_all(&Put) >= 14);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every run ends in an audit: bytes and chunks are conserved, transfers stay in their windows, accepted
    /// windows never overlap, and no two nodes send to a gateway at once. It holds for any mix of puts and
    /// gets, any links, and any failed servers.
    #[test]
    fn any_cluster_keeps_its_promises(
        protocol in prop::sample::select(vec!["replicast-m", "replicast-h", "uch-ccp", "uch-aimd", "serial"]),
        (gateways, groups, group) in (1_u32..12, 1_u32..4, 3_u32..10),
        replicas in 1_u32..4,
        chunk_kib in prop::sample::select(vec![1_u32, 16, 70, 128]),
        (in_flight, trip_us) in (1_u32..4, 1_u32..30),
        failed in 0_u32..3,
        other in any::<bool>(),
        reads in prop::sample::select(vec![0_u32, 30, 100]),
        (known, room, pipelined) in (prop::sample::select(vec![0_u32, 50]), any::<bool>(), any::<bool>()),
        rate in prop::sample::select(vec!["", ", request_rate = \"20000/s\""]),
        racks in prop::sample::select(vec!["", "", ", racks = 2, uplink = \"3Gbit/s\"", ", racks = 3, uplink = \"30Gbit/s\", layout = \"blocks\""]),
    ) {
        let bids = protocol.starts_with("replicast");
        let known = if bids { format!("known_share = \"{known}%\"\n") } else { String::new() };
        let room = if bids && room { "capacity = \"2MiB\"\n" } else { "" };
        let rate = if bids { rate } else { "" };
        let other = if other { "other_chunks = [{ chunk = \"9000B\", share = \"40%\" }]\n" } else { "" };
        let text = format!(
            "protocol = \"{protocol}\"\ngateways = {gateways}\nservers = {}\ngroup = {group}\nreplicas = {replicas}\n\
             chunk = \"{chunk_kib}KiB\"\nin_flight = {in_flight}\nduration = \"4ms\"\nwarm_up = \"1ms\"\nread_share = \"{reads}%\"\n{other}\
             {known}{room}pipelined = {pipelined}\n\
             network = {{ trip = \"{trip_us}us\"{racks}{rate} }}\n\
             faults = {{ failed_servers = {failed}, ack_timeout = \"3ms\", bid_timeout = \"400us\" }}",
            groups * group
        );
        let outcome = run(&text);
        prop_assert_eq!(outcome.measures["violations"].value(), Some(0.0));
    }
}

fn presented_alone(text: &str) -> Presentation {
    let prepared = prepare(text);
    let outcome = run_as(&*prepared, 0, Executor::Sequential, 1);
    presented(&*prepared, &[outcome])
}

/// A former bug: the disks of servers in no complete group were left out, so the same load looked heavier.
#[test]
fn servers_that_store_nothing_count_as_idle() {
    let nine = run("gateways = 9\nservers = 9\nduration = \"5ms\"");
    let more = run("gateways = 9\nservers = 17\nduration = \"5ms\"");
    let (nine_busy, more_busy) = (value(&nine, "disk_utilisation"), value(&more, "disk_utilisation"));
    assert_eq!(value(&nine, "chunks_per_second"), value(&more, "chunks_per_second"));
    assert!((more_busy - nine_busy * 9.0 / 17.0).abs() < 1e-12, "{more_busy}, {nine_busy} with nine");
    insta::assert_snapshot!(more.warnings[0].text, @"replicast-m: 8 of 17 servers belong to no complete group of 9 and store nothing; `disk_utilisation` counts their disks as idle");
}

/// A former bug: a run in which no put was completed had no answer at all.
#[test]
fn a_run_without_a_completed_put_says_so() {
    let presentation = presented_alone("disk = \"1kB/s\"\ngateways = 2\nservers = 9\nduration = \"10ms\"");
    insta::assert_snapshot!(presentation.answer.prose(), @"At risk: replicast-m: no put was completed in the measured 10 ms, so that its latency is not known: set `duration` to several times 6.554 min, which a put takes on idle nodes, or use smaller chunks or faster disks. replicast-m: no put was completed in the measured 10 ms, so that its latency is not known: set `duration` to several times 6.554 min, which a put takes on idle nodes, or use smaller chunks or faster disks.");
    assert_eq!(presentation.answer.verdict.unwrap().status(), towtank_report::Status::AtRisk);
    let outcome = run("disk = \"1kB/s\"\ngateways = 2\nservers = 9\nduration = \"10ms\"");
    assert_eq!(outcome.measures["rounds_per_put"].reason(), Some("no put ended in the measured span"));
    let reads = presented_alone(
        "disk = \"1kB/s\"\ngateways = 2\nservers = 9\nduration = \"10ms\"\nread_share = \"100%\"",
    );
    assert!(
        reads.answer.prose().contains(": no get was completed in the measured "),
        "{}",
        reads.answer.prose()
    );
}

/// Chunks that arrive faster than they are stored wait longer and longer; the answer says so first.
#[test]
fn a_rate_that_cannot_be_served_is_reported() {
    let at = |rate: &str| {
        presented_alone(&format!(
            "gateways = 18\nservers = 18\nduration = \"20ms\"\narrival_rate = \"{rate}\""
        ))
    };
    let overloaded = at("100000/s");
    insta::assert_snapshot!(overloaded.answer.prose(), @"At risk: replicast-m cannot serve the arrival rate: 18,800 chunks/s of 100,000 chunks/s, 18.8 %. 2,515 chunks wait when the run ends, and the longer the run, the more: latencies depend on `duration`. replicast-m: 18,800 chunks/s, disks 97.75 % busy, a put takes 16.62 ms on average.");
    assert_eq!(overloaded.answer.verdict.unwrap().status(), towtank_report::Status::AtRisk);
    let served = at("10000/s");
    assert!(!served.answer.prose().contains("cannot serve"), "{}", served.answer.prose());
    assert_eq!(served.answer.verdict, None);
}

/// A former fault: of a run that was stopped, the span that was asked for counted as measured, so that its
/// latencies were said to be cut off, and a shorter `duration` was advised than was given.
#[test]
fn a_stopped_run_is_judged_by_the_span_that_ran() {
    let prepared =
        prepare("gateways = 9\nservers = 9\nin_flight = 32\nwarm_up = \"100ms\"\nduration = \"800ms\"");
    let stop = AtomicBool::new(false);
    let progress = |progress: towtank_study::Progress| {
        if progress.fraction > 0.6 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let context =
        RunContext { stop: StopAsked::by(&stop), progress: &progress, ..RunContext::alone(Seed(1), 1) };
    let outcome = prepared.run(&context).unwrap();
    assert!(outcome.partial);
    let answer = presented(&*prepared, &[outcome]).answer.prose();
    assert!(!answer.contains("too short"), "{answer}");
}

/// With many operations at once, slow ones must have the time to end: by Little's law.
#[test]
fn runs_that_are_too_short_for_their_latencies_say_so() {
    let small = "gateways = 9\nservers = 9\nin_flight = 32\n";
    let cut = presented_alone(&format!("{small}duration = \"10ms\"\nwarm_up = \"10ms\""));
    assert!(
        cut.answer.prose().starts_with("At risk: replicast-m: the run is too short for latencies"),
        "{}",
        cut.answer.prose()
    );
    assert_eq!(cut.answer.verdict.unwrap().status(), towtank_report::Status::AtRisk);
    for protocol in ["replicast-m", "replicast-h", "uch-ccp"] {
        for keys in
            ["in_flight = 32", "in_flight = 3\nread_share = \"40%\"", "chunk = \"1MiB\"\nin_flight = 8"]
        {
            let text = format!("protocol = \"{protocol}\"\ngateways = 9\nservers = 9\n{keys}");
            let whole = presented_alone(&text);
            assert!(!whole.answer.prose().contains("too short"), "{keys}: {}", whole.answer.prose());
        }
    }
}
