//! Clusters of Ceph in every bad state, and `towtank whatif` about them, judged from outside: a drawn cluster
//! keeps its own record of which device holds what ([`cluster`]), an oracle counts on it from the definition
//! ([`oracle`]), and laws compare ([`laws`]). The exports are those that a user would give ([`exports`]).
//! Laws that are broken today are listed in [`known`]; any other violation fails the test.
//!
//! A wide cluster has more than that: what is in [`wide`].
//!
//! `STATES_LIST=1 STATES_OUT=DIR SOAK_CASES=300 SOAK_SEED=1 cargo test -p towtank --test soak bad_state --
//! --nocapture` prints how many clusters were in each state and how often each law is broken, and writes the
//! exports and the command of the smallest example of each below DIR. `STATES_EACH=WORDS` prints each
//! violation of laws with these words.

mod cluster;
mod exports;
mod known;
mod laws;
mod oracle;
mod planted;
mod wide;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use towtank::{Document, Options, Registry};

use cluster::{Cluster, Draw, Shown, USUAL_FLAGS};
use known::{KNOWN, KNOWN_WIDE, Known};
use laws::{Broken, Said};

/// What is asked of a cluster.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
    /// What remains to be done, without a change.
    Now,
    /// The same, moves alone.
    Moves,
    /// The same while `norebalance` is set.
    Held,
    /// These fail at once: names of the map, and all their devices.
    Failed { names: Vec<String>, devices: Vec<i32> },
}

impl Asked {
    fn failed(&self) -> &[i32] {
        match self {
            Asked::Failed { devices, .. } => devices,
            Asked::Now | Asked::Moves | Asked::Held => &[],
        }
    }
}

/// A question, and whether it is asked with the report alone.
#[derive(Clone, Debug)]
struct Question {
    asked: Asked,
    alone: bool,
}

const WHOLE: [(&str, &str); 4] = [
    ("crush_map", "crush"),
    ("osd_dump", "osd_dump.json"),
    ("pg_dump", "pg_dump.json"),
    ("osd_df", "osd_df.json"),
];

const ALONE: [(&str, &str); 1] = [("report", "report.json")];

impl Question {
    fn exports(&self) -> &'static [(&'static str, &'static str)] {
        if self.alone { &ALONE } else { &WHOLE }
    }

    fn scenario(&self) -> String {
        let mut text = "study = \"whatif\"\n".to_owned();
        self.exports().iter().for_each(|(key, file)| text += &format!("{key} = \"{file}\"\n"));
        match &self.asked {
            Asked::Now => {}
            Asked::Moves => text += "moves_only = true\n",
            Asked::Held => text += "set_flag = [\"norebalance\"]\n",
            Asked::Failed { names, .. } => text += &format!("fail = {names:?}\n"),
        }
        text
    }

    /// The command that asks the same in the folder of the exports.
    fn command(&self) -> String {
        let mut command = "towtank whatif".to_owned();
        for (key, file) in self.exports() {
            command += &format!(" --{} {file}", key.replace('_', "-"));
        }
        match &self.asked {
            Asked::Now => {}
            Asked::Moves => command += " --moves-only",
            Asked::Held => command += " --set-flag norebalance",
            Asked::Failed { names, .. } => {
                names.iter().for_each(|name| command += &format!(" --fail {name}"))
            }
        }
        command
    }

    fn ask(&self, folder: &Path) -> Result<Said, String> {
        let document = Document::named("states", &self.scenario()).expect("it is TOML").beside(folder);
        let scenario = document.check(&Registry::builtin()).map_err(|problems| format!("{problems:?}"))?;
        let run = || towtank::run(&scenario, &Options::default(), &());
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        let ran = ran.map_err(|_| "it panicked".to_owned())?.map_err(|error| error.to_string())?;
        Ok(Said::of(&ran.report.ok_or("no report")?))
    }
}

/// The questions about a cluster: now, with each form of its exports, and with what fails.
fn questions(cluster: &Cluster, seed: u64) -> Vec<Question> {
    let mut draw = crate::draws(seed ^ 0xfa11);
    let up: Vec<i32> = (0..cluster.devices.len() as i32).filter(|osd| cluster.is_up(*osd)).collect();
    let mut asked = vec![Asked::Now, Asked::Moves];
    let osd = |osd: i32| Asked::Failed { names: vec![format!("osd.{osd}")], devices: vec![osd] };
    if !up.is_empty() {
        let mut pick = || up[draw(up.len() as u64) as usize];
        let (first, second) = (pick(), pick());
        asked.push(osd(first));
        if first != second {
            asked.push(Asked::Failed {
                names: vec![format!("osd.{first}"), format!("osd.{second}")],
                devices: vec![first, second],
            });
        }
        let down: Vec<i32> = (0..cluster.devices.len() as i32)
            .filter(|osd| !cluster.is_up(*osd) && !cluster.devices[*osd as usize].destroyed)
            .collect();
        // A device that is down may be named, as if it had just failed.
        let down = down.first().filter(|_| seed.is_multiple_of(3)).map(|down| osd(*down));
        asked.extend(down);
        let host = cluster.host_of(pick()).expect("each has a host");
        let devices = cluster.hosts[host].osds.clone();
        asked.push(Asked::Failed { names: vec![format!("host=h{host}")], devices });
    }
    if cluster.is_wide {
        asked.extend(wide_questions(cluster, &mut draw));
    }
    asked.into_iter().map(|asked| Question { asked, alone: false }).collect()
}

/// What holds only moves, and two devices of one group.
fn wide_questions(cluster: &Cluster, draw: Draw<'_>) -> Vec<Asked> {
    let stops = ["norecover", "nobackfill", "norebalance"];
    let mut asked = Vec::new();
    if !stops.iter().any(|flag| cluster.has_flag(flag)) {
        asked.push(Asked::Held);
    }
    let group = &cluster.groups[draw(cluster.groups.len() as u64) as usize];
    let mut devices = cluster.live(group);
    devices.sort_unstable();
    devices.dedup();
    if devices.len() > 1 {
        devices.swap_remove(draw(devices.len() as u64) as usize);
        devices.truncate(2);
        let names = devices.iter().map(|osd| format!("osd.{osd}")).collect();
        asked.push(Asked::Failed { names, devices });
    }
    asked
}

/// The laws that the answers about a cluster break, each with its question.
fn judged(cluster: &Cluster, seed: u64, folder: &Path) -> Vec<(Question, Broken)> {
    let mut all = Vec::new();
    for question in questions(cluster, seed) {
        let said = match question.ask(folder) {
            Ok(said) => said,
            Err(why) => {
                all.push((question, vec![("all: there is an answer", why)]));
                continue;
            }
        };
        let broken = match &question.asked {
            Asked::Now => laws::now(cluster, &said),
            Asked::Moves => laws::shown(cluster, &said),
            Asked::Held => laws::held(cluster, &said),
            Asked::Failed { devices, .. } => laws::failed(cluster, devices, &said),
        };
        // Of a wide cluster, more of them are judged instead.
        let asks = question.asked == Asked::Now
            || (!cluster.is_wide && matches!(question.asked, Asked::Failed { .. }));
        let compared = asks && cluster.groups.iter().all(|group| group.shown != Shown::Left);
        let alone = Question { alone: true, ..question.clone() };
        all.push((question, broken));
        if compared {
            let broken = match alone.ask(folder) {
                Ok(other) => {
                    let own = laws::alone(cluster, alone.asked.failed(), &other);
                    [laws::alike(cluster, &said, &other), own].concat()
                }
                Err(why) => vec![("report alone: it is not refused", why)],
            };
            all.push((alone, broken));
        }
    }
    all
}

fn write(cluster: &Cluster, seed: u64, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for (name, text) in exports::files(cluster, seed) {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// Where drawn exports are written.
fn folder(name: &str) -> PathBuf {
    let below =
        crate::env("STATES_OUT").map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    below.join(name)
}

/// The violations of one law.
#[derive(Debug)]
struct Violations {
    /// Clusters with one.
    clusters: u64,
    smallest: Example,
}

/// A violation, and the cluster that has it.
#[derive(Clone, Debug)]
struct Example {
    size: usize,
    seed: u64,
    question: Question,
    how: String,
}

/// Violations by law, and the number of clusters that were judged.
#[derive(Debug, Default)]
struct Found {
    laws: BTreeMap<&'static str, Violations>,
    clusters: u64,
    /// Clusters in each state.
    states: BTreeMap<&'static str, u64>,
    /// Answers.
    questions: u64,
}

impl Found {
    fn judge(&mut self, seed: u64, of: Drawn, place: &Path) {
        let cluster = of(seed);
        write(&cluster, seed, place);
        self.clusters += 1;
        self.questions += questions(&cluster, seed).len() as u64;
        let wide = planted::wide_states(&cluster);
        for (state, is_there) in planted::states(&cluster).into_iter().chain(wide) {
            *self.states.entry(state).or_default() += u64::from(is_there);
        }
        // A small cluster without flags and with a short course is easiest to look at.
        let size = cluster.groups.len() * (cluster.course.len() + 1)
            + cluster.devices.len()
            + 1_000 * (cluster.flags.len() - USUAL_FLAGS.len());
        let mut seen = BTreeSet::new();
        for (question, broken) in judged(&cluster, seed, place) {
            for (law, how) in broken {
                if crate::env("STATES_EACH").is_some_and(|words| law.contains(&words)) {
                    println!("seed {seed}, {}: {law}: {how}", question.command());
                }
                let example = Example { size, seed, question: question.clone(), how };
                let first = || Violations { clusters: 0, smallest: example.clone() };
                let found = self.laws.entry(law).or_insert_with(first);
                found.clusters += u64::from(seen.insert(law));
                if size < found.smallest.size {
                    found.smallest = example;
                }
            }
        }
    }

    /// Prints how often each law is broken, and writes an example of each.
    fn list(&self, of: Drawn) {
        println!("{} clusters, {} questions; clusters in each state:", self.clusters, self.questions);
        self.states.iter().for_each(|(state, clusters)| println!("{clusters:6} {state}"));
        for (law, Violations { clusters, smallest }) in &self.laws {
            let Example { seed, question, how, .. } = smallest;
            let words = law.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
            let place = folder(&words.collect::<Vec<_>>().join("-"));
            let cluster = of(*seed);
            write(&cluster, *seed, &place);
            let course = cluster.course.join("; ");
            let notes = format!("{}\n\n{law}: {how}\nseed {seed}: {course}\n", question.command());
            std::fs::write(place.join("command.txt"), notes).unwrap();
            println!(
                "{clusters:4} of {}  {law}\n      {}: seed {seed}: {how}",
                self.clusters,
                place.display()
            );
        }
    }

    /// The laws that are broken and not known to be, and those that are known to be and hold.
    fn news(&self, all: &[Known]) -> Vec<String> {
        let known = |law: &str| all.iter().any(|(own, _)| *own == law);
        let broken = self.laws.iter().filter(|(law, _)| !known(law));
        let broken = broken.map(|(law, found)| format!("{law}: {:?}", found.smallest));
        let holds = |law: &str| self.clusters >= ENOUGH && !self.laws.contains_key(law);
        let held = all.iter().filter(|(law, _)| holds(law));
        broken
            .chain(held.map(|(law, _)| format!("{law}: it holds, and is in the list of known faults")))
            .collect()
    }
}

/// Clusters among which each law of the list of known faults is broken: the rarest is in one of 3,000.
const ENOUGH: u64 = 20_000;

/// A cluster by its seed.
type Drawn = fn(u64) -> Cluster;

#[test]
fn answers_about_clusters_in_every_bad_state_are_true() {
    soak(Cluster::of, "states", (40, &KNOWN));
}

/// With two classes, weights, splits under way, whole mappings, and devices that come back.
#[test]
fn answers_about_wide_clusters_in_every_bad_state_are_true() {
    soak(Cluster::wide, "wide-states", (25, &KNOWN_WIDE));
}

/// A fault that was mended: a whole group with two shards on a device was not at risk with that device.
#[test]
fn two_shards_of_a_whole_group_on_a_device_are_critical() {
    let mut found = Found::default();
    found.judge(6_012, Cluster::wide, &folder("two-shards"));
    // Where no group lacks anything.
    found.judge(3_088, Cluster::wide, &folder("two-shards"));
    assert_eq!(found.news(&[]), Vec::<String>::new());
}

/// A fault that was mended: where the manager makes a step just when another change begins, nothing was
/// answered.
#[test]
fn a_step_may_come_with_another_change() {
    let mut found = Found::default();
    found.judge(50_885, Cluster::wide, &folder("step"));
    assert_eq!(found.news(&[]), Vec::<String>::new());
}

fn soak(of: Drawn, name: &str, (cases, known): (u64, &[Known])) {
    // The soak has one call for each study.
    if crate::env("SOAK_STUDY").is_some_and(|study| study != "whatif") {
        return;
    }
    let until = crate::number("SOAK_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let first = crate::number("SOAK_SEED").unwrap_or(1);
    let most = crate::number("SOAK_CASES").unwrap_or(if until.is_some() { u64::MAX } else { cases });
    let (mut found, place) = (Found::default(), folder(name));
    for seed in (first..).take(usize::try_from(most).unwrap_or(usize::MAX)) {
        if until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        found.judge(seed, of, &place);
    }
    if crate::env("STATES_LIST").is_some() {
        found.list(of);
    }
    let news = found.news(known);
    assert!(news.is_empty(), "{} clusters from seed {first} on:\n{}", found.clusters, news.join("\n"));
}

/// A law that is not in the list, and one of the list that holds.
#[test]
fn news_about_laws_are_noticed() {
    let question = Question { asked: Asked::Now, alone: false };
    let violations = || {
        let smallest = Example { size: 1, seed: 1, question: question.clone(), how: "as planted".to_owned() };
        Violations { clusters: 1, smallest }
    };
    let known: [Known; 1] = [("now: bytes to move", "planted")];
    let laws = [(known[0].0, violations())].into();
    let mut found = Found { laws, clusters: ENOUGH, ..Found::default() };
    assert_eq!(found.news(&known), Vec::<String>::new());
    found.laws.insert("now: short groups", violations());
    assert_eq!(found.news(&known).len(), 1);
    found.laws.remove(known[0].0);
    assert_eq!(found.news(&known).len(), 2);
    found.clusters = ENOUGH - 1;
    assert_eq!(found.news(&known).len(), 1);
}
