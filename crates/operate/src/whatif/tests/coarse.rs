//! Recoveries of very many objects, which are simulated with some of them: against the same recoveries with
//! all objects, over drawn clusters.

use std::fmt::Write as _;

use towtank_rebuild::ledger::{Backfill, Rules};
use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_rebuild::thinned::Thinned;
use towtank_streams::{Draws, Purpose, Uniform as _};

use super::*;
use crate::exports::samples::placed;
use crate::whatif::orders;
use towtank_recovery::estimate::{self, ERROR_MAX, GROUPS, Ran, differences, three};

/// One pool on hosts with equal disks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    pub(super) hosts: u64,
    pub(super) disks: u64,
    pub(super) class: &'static str,
    pub(super) groups: u64,
    /// Objects of 4 MiB in each group.
    pub(super) objects: u64,
    /// Data shards, with two more; three copies if there is one.
    pub(super) data: u64,
}

impl Cluster {
    fn map(self) -> String {
        let Cluster { hosts, disks, class, .. } = self;
        let mut map = String::new();
        (0..hosts * disks).for_each(|osd| map += &format!("device {osd} osd.{osd} class {class}\n"));
        map += "type 0 osd\ntype 1 host\ntype 11 root\n";
        let mut root = String::new();
        for host in 0..hosts {
            let _ = write!(map, "host h{host} {{\n\tid -{}\n\talg straw2\n\thash 0\n", 2 + host);
            for osd in host * disks..(host + 1) * disks {
                let _ = writeln!(map, "\titem osd.{osd} weight 1.0");
            }
            map += "}\n";
            let _ = writeln!(root, "\titem h{host} weight {disks}.0");
        }
        let _ = write!(map, "root default {{\n\tid -1\n\talg straw2\n\thash 0\n{root}}}\n");
        let (kind, mode) = if self.data > 1 { ("erasure", "indep") } else { ("replicated", "firstn") };
        let _ = write!(
            map,
            "rule one {{\n\tid 0\n\ttype {kind}\n\tmin_size 1\n\tmax_size 20\n\tstep take default\n\
             \tstep chooseleaf {mode} 0 type host\n\tstep emit\n}}\n"
        );
        map
    }

    pub(super) fn files(self) -> Folder {
        let Cluster { hosts, disks, groups, objects, data, .. } = self;
        let osd = |osd: u64| format!(r#"{{"osd":{osd},"up":1,"in":1,"weight":1.0}}"#);
        let osds: Vec<String> = (0..hosts * disks).map(osd).collect();
        let dump = format!(
            r#"{{"pools":[{{"pool":1,"pool_name":"data",{},"crush_rule":0,"flags":1,"pg_num":{groups},"pg_placement_num":{groups}}}],"osds":[{}]{}}}"#,
            match data {
                1 => r#""type":1,"size":3,"min_size":2"#.to_owned(),
                _ => format!(
                    r#""type":3,"size":{},"min_size":{},"erasure_code_profile":"own""#,
                    data + 2,
                    data + 1
                ),
            },
            osds.join(","),
            match data {
                1 => String::new(),
                _ => format!(r#","erasure_code_profiles":{{"own":{{"k":"{data}","m":"2"}}}}"#),
            }
        );
        let group = |seed: u64| {
            format!(
                r#"{{"pgid":"1.{seed:x}","state":"active+clean","up":[],"acting":[],"acting_primary":-1,"stat_sum":{{"num_bytes":{},"num_objects":{objects}}}}}"#,
                objects << 22
            )
        };
        let stats: Vec<String> = (0..groups).map(group).collect();
        let file = |name: &str, text: String| (name.to_owned(), text.into_bytes());
        let pgs = format!("[{}]", stats.join(","));
        placed(Folder([file("map", self.map()), file("osds", dump), file("pgs", pgs)].into()))
    }
}

/// A cluster of which a host fails or is emptied, with the keys of a queue: each in turn. About `most`
/// objects in a group.
fn drawn(turn: u32, most: u64) -> (Cluster, String) {
    let mut draws = Draws::new(Seed(23), turn, 0);
    let mut draw = |bound: u64| draws.of(Purpose(0)).below(bound);
    let (hosts, disks) = (6 + draw(15), 2 + draw(7));
    // 520 to 700 groups have a copy on each host.
    let groups = (520 + draw(180)) * hosts / 3;
    let class = ["hdd", "ssd"][usize::from(draw(4) == 0)];
    let objects = most / 2 + draw(most / 2);
    let cluster = Cluster { hosts, disks, class, groups, objects, data: 1 };
    let queue = match turn % 3 {
        0 => format!("recovery_sleep = \"{}ms\"\nqueue = \"wpq\"", 1 + draw(100)),
        1 => format!("recovery_sleep = \"0s\"\nqueue = \"wpq\"\nmax_backfills = {}", 1 + draw(4)),
        _ => format!("queue = \"mclock\"\nceph_release = {}", 16 + draw(4)),
    };
    let devices = || (disks..2 * disks).map(|osd| format!("\"osd.{osd}\"")).collect::<Vec<_>>().join(", ");
    let change = match draw(3) {
        0 => "fail = \"host=h1\"".to_owned(),
        1 => "drain = \"host=h1\"".to_owned(),
        _ => format!("mark_out = [{}]", devices()),
    };
    let exports = "crush_map = \"map\"\nosd_dump = \"osds\"\npg_dump = \"pgs\"";
    (cluster, format!("{exports}\n{change}\n{queue}"))
}

pub(super) fn ready(cluster: Cluster, text: &str) -> case::Ready {
    let source = Source::file("asked.toml", format!("study = \"whatif\"\n{text}"));
    let document = Document::parse(&source).unwrap().with_files(Arc::new(cluster.files()));
    let outline = document.outline().unwrap();
    let draft = outline.points()[0].draft();
    case::Ready::check(draft.read().unwrap(), draft).unwrap()
}

/// Counts that are the same with all objects and with some of them.
fn counts(found: &Recovered) -> impl PartialEq + std::fmt::Debug {
    let disks: Vec<_> = found.disks.iter().map(|disk| (disk.1, disk.2)).collect();
    let by_spare = found.progress_by_spare.clone().map(|row| row.iter().map(|(_, bytes)| bytes).sum::<u64>());
    let fixed = (found.jobs, found.bytes, found.unfinished, found.stuck, found.below_min_size);
    (fixed, disks, by_spare, found.targets.clone(), found.fill.clone())
}

/// For drawn recoveries, how much three estimates differ, and how much the finest differs from the recovery
/// with all objects.
fn errors(turns: u32, most: u64) -> Vec<[f64; 2]> {
    let error = |turn: u32| {
        let (cluster, text) = drawn(turn, most);
        let ready = ready(cluster, &text);
        let context = RunContext::alone(Seed(u64::from(turn)), 0);
        let recovery = Recovery { quiet: false, ..ready.real.recovery(&ready.staged, &context) };
        let three = three(&recovery).expect("groups are large");
        let run = |thinned: &Thinned| thinned.whole(&recovery, thinned.of(&recovery).run(&context).unwrap());
        let exact = recovery.run(&context).unwrap();
        let found = three.each_ref().map(run);
        found.iter().for_each(|found| assert_eq!(counts(&exact), counts(found), "{text}"));
        let both = [differences(&found.each_ref()), exact.difference(&found[0])];
        let parts = three.each_ref().map(Thinned::one_in);
        let asked = text.split_once("\"pgs\"\n").unwrap().1;
        println!("1 in {parts:?}: {:.4} differ, {:.4} off in {cluster:?} {asked:?}", both[0], both[1]);
        both
    };
    // With sleeps, any difference leads to another order: the next test is about these.
    (0..).filter(|turn| turn % 3 != 0).take(turns as usize).map(error).collect()
}

pub(super) fn quantiles(mut errors: Vec<f64>) -> [f64; 3] {
    errors.sort_by(f64::total_cmp);
    [errors[errors.len() / 2], errors[errors.len() * 95 / 100], errors[errors.len() - 1]]
}

/// Counts are exact, and times of an estimate that is accepted are at most as far off as is accepted.
/// `COARSE=60` in the environment draws more, and `COARSE_OBJECTS=5000` larger groups; docs/whatif.md has
/// that result.
#[test]
fn an_accepted_estimate_is_like_the_recovery_with_all_objects() {
    let number = |name: &str| std::env::var(name).ok().and_then(|count| count.parse::<u32>().ok());
    let found = errors(number("COARSE").unwrap_or(5), u64::from(number("COARSE_OBJECTS").unwrap_or(900)));
    let off = |accepted: bool| {
        let is = |[stated, _]: &&[f64; 2]| (*stated <= ERROR_MAX) == accepted;
        found.iter().filter(is).map(|[_, off]| *off).collect::<Vec<f64>>()
    };
    let (accepted, refused) = (off(true), off(false));
    println!("{} accepted: {:.4?}; {} refused", accepted.len(), quantiles(accepted.clone()), refused.len());
    assert!(!accepted.is_empty(), "{found:?}");
    assert!(quantiles(accepted)[0] <= ERROR_MAX, "{found:?}");
}

/// For drawn recoveries under WPQ, in which the order of groups is chance and a different order follows from
/// anything: the median time over orders with some of the objects, and the range of orders, beside those with
/// all of them. `COARSE=60` draws more.
#[test]
fn the_median_of_orders_does_not_depend_on_the_objects_left_out() {
    let count = std::env::var("COARSE").ok().and_then(|count| count.parse::<u32>().ok()).unwrap_or(1);
    let mut off = Vec::new();
    for turn in (0..count).map(|turn| 3 * turn) {
        let (cluster, text) = drawn(turn, 200);
        let ready = ready(cluster, &text);
        let context = RunContext::alone(Seed(u64::from(turn)), 0);
        let recovery = Recovery { quiet: false, ..ready.real.recovery(&ready.staged, &context) };
        let times = |thinned: Option<&Thinned>| {
            let of = |number: u32| {
                let one = orders::with_ties(&recovery, Seed(7).part(number));
                let found = match thinned {
                    Some(thinned) => thinned.whole(&one, thinned.of(&one).run(&context).unwrap()),
                    None => one.run(&context).unwrap(),
                };
                found.last().since(found.first_transfer).as_secs_f64()
            };
            let mut times: Vec<f64> = (0..orders::DRAWN as u32).map(of).collect();
            times.sort_by(f64::total_cmp);
            times
        };
        let (all, some) = (times(None), times(Some(&Thinned::by(&recovery, 5))));
        let middle = orders::DRAWN / 2;
        let error = some[middle] / all[middle] - 1.0;
        let half = |times: &[f64]| (times[orders::DRAWN - 2] - times[1]) / 2.0 / times[middle];
        println!("{turn}: median {error:.4} off; half a range {:.3} and {:.3}", half(&all), half(&some));
        off.push(error.abs());
    }
    println!("{:.4?}", quantiles(off.clone()));
    assert!(quantiles(off.clone())[0] <= ERROR_MAX, "{off:?}");
}

const EXPORTS: &str = "crush_map = \"map\"\nosd_dump = \"osds\"\npg_dump = \"pgs\"\nspeed_spread = \"0%\"\nfail = \"host=h1\"\n";

/// A recovery that is large enough, with the keys of a scenario.
fn large(keys: &str) -> (Cluster, String) {
    let cluster = Cluster { hosts: 7, disks: 2, class: "hdd", groups: 1_493, objects: 455, data: 1 };
    (cluster, format!("{EXPORTS}queue = \"mclock\"\nceph_release = 16\n{keys}"))
}

pub(super) const LIMITS: estimate::Limits =
    estimate::Limits { exact_objects: 100_000, error_max: ERROR_MAX, groups_least: GROUPS };

/// A wrong estimate is noticed, and all objects are simulated: here its first backfills take days to begin.
#[test]
fn a_wrong_estimate_is_refused() {
    let (cluster, text) = large("");
    let ready = ready(cluster, &text);
    let context = RunContext::alone(Seed(3), 0);
    let whole = ready.real.recovery(&ready.staged, &context);
    let run = |longer: u64| {
        let begin = whole.rules.backfill.begin.saturating_mul(longer);
        let rules = Rules { backfill: Backfill { begin, ..whole.rules.backfill }, ..whole.rules };
        let wrong = Recovery { rules, ..whole.clone() };
        let [fine, other, rough] = three(&whole).expect("groups are large");
        let rough = Thinned::by(&wrong, rough.one_in());
        estimate::checked(&whole, [fine, other, rough], LIMITS, &context).unwrap()
    };
    let note = |ran: &Ran| ran.note.as_ref().expect("there is a note").text.clone();
    let sound = run(1);
    assert!(note(&sound).contains("so the recovery was simulated with one in"), "{}", note(&sound));
    assert!(sound.estimate.is_some());
    let refused = run(1_000_000);
    assert!(note(&refused).contains("all objects were simulated, because estimates"), "{}", note(&refused));
    assert!(refused.estimate.is_none());
    let exact = whole.run(&context).unwrap();
    assert_eq!(refused.recovered.digests, exact.digests);
    assert_eq!(refused.recovered.last_write, exact.last_write);
    assert_ne!(sound.recovered.digests, exact.digests);
}

/// Where the order of reservations decides the time, estimates differ, and the answer is that of a run with
/// all objects.
#[test]
fn a_time_that_depends_on_the_order_is_not_estimated() {
    let cluster = Cluster { hosts: 6, disks: 2, class: "hdd", groups: 1_040, objects: 410, data: 1 };
    let seen = |keys: &str| outcome(&Whatif, cluster.files(), &format!("{EXPORTS}queue = \"wpq\"\n{keys}"));
    let (exact, refused) = (seen("exact = true"), seen("exact_objects = 100000"));
    assert_eq!((&exact.measures, &exact.digest), (&refused.measures, &refused.digest));
    let warnings = |seen: &Outcome| Warning::texts(seen.warnings.clone()).join("; ");
    assert!(warnings(&refused).contains("the time depends on the order in which groups are copied"));
    assert!(!warnings(&exact).contains("the time depends on the order"));
}

/// The answer says that a recovery was estimated, how, and how to have it exact; all that it counts is what
/// is counted with all objects.
#[test]
fn an_estimated_recovery_is_reported() {
    let seen = |keys: &str| {
        let (cluster, text) = large(keys);
        outcome(&Whatif, cluster.files(), &text)
    };
    let (usual, estimated) = (seen(""), seen("exact_objects = 100000"));
    let exact = seen("exact = true\nexact_objects = 100000");
    assert_eq!((&usual.measures, &usual.digest), (&exact.measures, &exact.digest));
    let note = |seen: &Outcome| {
        let texts = Warning::texts(seen.warnings.clone());
        texts.into_iter().find(|text| text.contains("exact_objects"))
    };
    assert_eq!((note(&usual), note(&exact)), (None, None));
    insta::assert_snapshot!(note(&estimated).expect("there is a note"), @"297,570 objects are more than `exact_objects` (100,000), so the recovery was simulated with one in 2: objects, groups and bytes that move are exact; times, rates, counts over time and what NICs send are estimates: with one in 2, in 3 and in 5 times differ by at most 1.443 %, and 12 % is added to the range; exact = true (`--exact`) simulates all objects");
    assert_ne!(usual.digest, estimated.digest);
    let times =
        ["time_to_", "transfer_s", "aggregate_rate", "ideal_rate", "bound_rate", "rate_per", "data_loss"];
    // Shares of the time, and the ratio of two estimates.
    let shares =
        ["ideal_share", "disk_busy", "card_busy", "reserving_share", "sleeping_share", "written_max"];
    let clean = usual.measures["time_to_clean_s"].value().expect("it ends");
    for (name, measure) in &usual.measures {
        let other = &estimated.measures[name];
        match (measure.value(), other.value()) {
            // The range has what estimates may be off, so that the exact time is within.
            (Some(_), Some(low)) if name == "time_to_clean_low_s" => assert!(low <= clean, "{low} {clean}"),
            (Some(_), Some(high)) if name == "time_to_clean_high_s" => {
                assert!(high >= clean, "{high} {clean}")
            }
            (Some(whole), Some(part)) if times.iter().any(|time| name.starts_with(time)) => {
                assert!((part - whole).abs() <= ERROR_MAX * whole, "{name}: {part} of {whole}");
            }
            (Some(whole), Some(part)) if shares.iter().any(|share| name.starts_with(share)) => {
                assert!((part - whole).abs() <= 2.0 * ERROR_MAX * whole + 1e-6, "{name}: {part} of {whole}");
            }
            // A rank correlation is no estimate that is bounded.
            _ if name == "peers_rate_correlation" => {}
            _ => assert_eq!(measure, other, "{name}"),
        }
    }
    assert!(is_settled(&estimated, true) && broken_with(&estimated, true).is_empty());
}
