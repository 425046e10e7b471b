//! A campaign that was stopped at any moment, and went on later, gives the report of one that was never
//! stopped, byte for byte, in every study.
//!
//! A moment is a look: each time that a run asks whether the user wants to stop is counted, and the request
//! comes at the n-th, where n is drawn from all looks of a run that is not stopped. `cargo test` draws a few
//! moments of each study; `SOAK_MOMENTS=1000 cargo test --release -p towtank --test library interrupted`
//! draws that many in all, and SOAK_SEED draws others.

use std::cell::RefCell;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use towtank::{Delegated, Document, Observer, Options, Registry, Runner, Scenario, Trouble, Which, run};
use towtank_campaign::Stop;
use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_study::{
    Flag, MeasureSpec, PointResult, Prepared, Presentation, RunContext, StopAsked, Study, StudyError,
};
use towtank_testkit::draws;

/// A live cluster of four devices and 259 objects, of which one was lost.
const LIVE: &str = "crush_map = \"lost.crush_dump.json.gz\"\nosd_dump = \"lost.osd_dump.json.gz\"\npg_dump = \"lost.pg_dump.json.gz\"\n";

/// Reports of a recovery under way, from the folder of these exports.
const UNDERWAY: &str = "../../../../../docs/examples/underway";

/// A scenario of each study, of two replicates. Those of `rebuild` and `whatif` try changes in the first one.
const SCENARIOS: [(&str, &str); 14] = [
    (
        "queue",
        "warm_up = \"10s\"\nspan = \"500s\"\n[stations.counter]\nservice_rate = \"10/s\"\narrival_rate = \"5/s\"\n",
    ),
    ("place", "algorithm = \"crush-straw2\"\nservers = 12\nkeys = 3000\n"),
    ("preview", "LIVE\nmark_out = \"osd.3\"\n"),
    ("rebuild", "servers = 8\nper_server = \"1GiB\"\n"),
    ("whatif", "LIVE\nfail = \"osd.2\"\n"),
    (
        "rebuild",
        "preset = \"ceph\"\nservers = 6\nper_server = \"1GiB\"\ngroups = 40\nclient_load = \"50/s\"\n",
    ),
    ("whatif", "LIVE\nmark_out = \"osd.1\"\n"),
    ("whatif", "LIVE\nfail = \"osd.2\"\nqueue = \"mclock\"\n"),
    ("balance", "LIVE\nmax_moves = 5\n"),
    ("eta", "report = [\"UNDERWAY/1.report.json.gz\", \"UNDERWAY/3.report.json.gz\"]\n"),
    (
        "backfill",
        "discovery = \"scan,bitmap\"\nobjects_per_group = 200\nstale = \"10%\"\nranges = 64\nobject_size = \"1MiB\"\n",
    ),
    (
        "pfs",
        "files = 3\nclients = 4\nfile_size = \"1MiB\"\nscheduler = \"sfq:2\"\ncache.direct = true\n[applications.a]\n[applications.b]\n",
    ),
    (
        "put",
        "protocol = \"uch-ccp,replicast-m\"\ngateways = 12\nservers = 18\nduration = \"2ms\"\nwarm_up = \"1ms\"\nin_flight = 2\n",
    ),
    (
        "capacity-sim",
        "servers = 4\ndepth = 2\nwarm_up = \"200us\"\nduration = \"1ms\"\ntrip = \"20us\"\nmix = \"4KiB:50%:r100,256KiB:50%:r50\"\n",
    ),
];

/// Moments of each scenario that `cargo test` draws.
const FEW: u64 = 3;

thread_local! {
    /// The moment at which the run on this thread is stopped.
    static MOMENT: RefCell<Option<Arc<Moment>>> = const { RefCell::new(None) };
}

/// The n-th look of a campaign at whether the user wants to stop, or the end of a replicate before it is
/// stored.
#[derive(Default)]
struct Moment {
    looks: AtomicU64,
    /// The look before which the stop is requested; 0 for none.
    at: u64,
    /// The replicate at whose end it is requested, counted from 1; 0 for none.
    after: u32,
    stop: Stop,
}

impl Moment {
    /// Sets the moment of the next run on this thread.
    fn set(at: u64, after: u32) -> Arc<Moment> {
        let moment = Arc::new(Moment { at, after, ..Moment::default() });
        MOMENT.set(Some(Arc::clone(&moment)));
        moment
    }

    fn now() -> Arc<Moment> {
        MOMENT.with_borrow(Clone::clone).expect("a moment is set before each run")
    }

    fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }
}

impl Observer for Moment {
    fn stop(&self) -> &Stop {
        &self.stop
    }

    fn ended(&self, which: Which, _: u64) {
        if self.after == which.replicate + 1 {
            self.stop.raise();
        }
    }
}

fn look() {
    let moment = Moment::now();
    if moment.looks.fetch_add(1, Ordering::Relaxed) + 1 == moment.at {
        moment.stop.raise();
    }
}

/// A study whose looks are counted. With `ruled` unset nothing records what a run heard: the program as it
/// was.
struct Watched {
    study: &'static dyn Study,
    ruled: bool,
}

impl Study for Watched {
    fn name(&self) -> &'static str {
        self.study.name()
    }

    fn title(&self) -> &'static str {
        self.study.title()
    }

    fn about(&self) -> &'static str {
        self.study.about()
    }

    fn results_version(&self) -> u32 {
        self.study.results_version()
    }

    fn flags(&self) -> &'static [Flag] {
        self.study.flags()
    }

    fn schema(&self) -> schemars::Schema {
        self.study.schema()
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        self.study.measures()
    }

    fn measures_of(&self, scenario: &serde_json::Value) -> Vec<MeasureSpec> {
        self.study.measures_of(scenario)
    }

    fn check(&self, draft: &Draft) -> Result<Box<dyn Prepared>, Problems> {
        Ok(Box::new(WatchedPoint { prepared: self.study.check(draft)?, ruled: self.ruled }))
    }

    fn present(&self, points: &[PointResult<'_>]) -> Presentation {
        self.study.present(points)
    }

    fn unreadable(&self, points: &[PointResult<'_>]) -> Option<String> {
        self.study.unreadable(points)
    }
}

struct WatchedPoint {
    prepared: Box<dyn Prepared>,
    ruled: bool,
}

impl Prepared for WatchedPoint {
    fn resolved(&self) -> serde_json::Value {
        self.prepared.resolved()
    }

    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError> {
        let moment = Moment::now();
        let stop = if self.ruled { context.stop } else { StopAsked::by(moment.stop.flag()) };
        self.prepared.run(&RunContext { stop: stop.looked_at(&look), ..*context })
    }
}

/// A study that leaves out what it does not come to, and does not say so.
struct Forgetful;

impl Study for Forgetful {
    fn name(&self) -> &'static str {
        "forgetful"
    }

    fn title(&self) -> &'static str {
        "how far a count comes that does not say where it was stopped"
    }

    fn about(&self) -> &'static str {
        "A study for this test."
    }

    fn results_version(&self) -> u32 {
        1
    }

    fn flags(&self) -> &'static [Flag] {
        &[]
    }

    fn schema(&self) -> schemars::Schema {
        schemars::json_schema!({ "type": "object" })
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &[MeasureSpec {
            name: "count",
            unit: "",
            about: "the count",
            title: "Count",
            interval: towtank_report::Interval::OfUnit,
            formerly: None,
        }]
    }

    fn check(&self, _: &Draft) -> Result<Box<dyn Prepared>, Problems> {
        Ok(Box::new(Forgetful))
    }

    fn present(&self, _: &[PointResult<'_>]) -> Presentation {
        Presentation::default()
    }
}

impl Prepared for Forgetful {
    fn resolved(&self) -> serde_json::Value {
        serde_json::json!({})
    }

    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError> {
        let count = (0..20).take_while(|_| !context.stopped()).count();
        let mut outcome = Outcome { events: 1, ..Outcome::default() };
        outcome.measure("count", count as f64, "");
        Ok(outcome)
    }
}

/// All studies, and the forgetful one.
fn studies() -> Vec<&'static dyn Study> {
    Registry::builtin().studies().iter().copied().chain([&Forgetful as &dyn Study]).collect()
}

fn registry(ruled: bool) -> Registry {
    let watched = |study| &*Box::leak(Box::new(Watched { study, ruled })) as &'static dyn Study;
    studies().into_iter().map(watched).fold(Registry::default(), |registry, study| {
        registry.with(study).expect("each study has a name of its own")
    })
}

fn unwatched() -> Registry {
    Registry::builtin().with(&Forgetful).expect("no other study is called so")
}

fn scenario(registry: &Registry, study: &str, text: &str) -> Scenario {
    let text = format!(
        "study = \"{study}\"\nreplicates = 2\n{}",
        text.replace("LIVE\n", LIVE).replace("UNDERWAY", UNDERWAY)
    );
    let exports = Path::new(env!("CARGO_MANIFEST_DIR")).join("../operate/src/whatif/golden");
    let document = Document::parse(&text).unwrap_or_else(|problems| panic!("{text}: {problems}"));
    document.beside(exports).check(registry).unwrap_or_else(|problems| panic!("{text}: {problems}"))
}

/// One run at a time, on this thread.
fn one_by_one(out: Option<&Path>) -> Options {
    Options { jobs: Some(NonZeroUsize::MIN), out: out.map(Path::to_owned), ..Options::default() }
}

/// A directory that does not exist yet.
fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interrupted").join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("the directory of an earlier run can be removed");
    }
    path
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`")))
}

/// A scenario with the report that it gives without an interruption, and the number of looks of that run.
struct Case {
    name: String,
    watched: Scenario,
    plain: Scenario,
    whole: String,
    looks: u64,
}

impl Case {
    fn new((study, text): (&str, &str), ruled: bool) -> Case {
        let (watched, plain) = (scenario(&registry(ruled), study, text), scenario(&unwatched(), study, text));
        let moment = Moment::set(0, 0);
        let ran = run(&watched, &one_by_one(None), &*moment).unwrap_or_else(|trouble| panic!("{trouble}"));
        let (whole, looks) = (ran.report.expect("nobody stops it").to_json(), moment.looks());
        assert!(looks > 0, "{study} asks {looks} times whether it is to stop\n{text}");
        Case { name: format!("{study}\n{text}"), watched, plain, whole, looks }
    }

    /// Runs it into a directory, stopped at each of these moments, and then to its end. Returns how often it
    /// was stopped.
    fn stopped_at(&self, moments: &[(u64, u32)], out: &Path) -> Result<usize, String> {
        let failure = |trouble: Trouble| format!("stopped at {moments:?}: {trouble}\n{}", self.name);
        let mut stopped = 0;
        for &(at, after) in moments {
            let moment = Moment::set(at, after);
            let ran = run(&self.watched, &one_by_one(Some(out)), &*moment).map_err(failure)?;
            stopped += usize::from(ran.interrupted);
        }
        let ran = run(&self.plain, &one_by_one(Some(out)), &()).map_err(failure)?;
        let written = fs::read_to_string(out.join("report.json")).expect("a report was written");
        if ran.interrupted || written != self.whole {
            return Err(format!(
                "stopped at {moments:?} of {} looks: another report\n{}",
                self.looks, self.name
            ));
        }
        fs::remove_dir_all(out).expect("it can be removed");
        Ok(stopped)
    }
}

/// Moments of one campaign: looks at which it is stopped, again and again, or the end of a replicate.
fn moments(looks: u64, draw: &mut dyn FnMut(u64) -> u64) -> Vec<(u64, u32)> {
    match draw(8) {
        0 => vec![(0, 1 + draw(2) as u32)],
        1 => (0..1 + draw(3)).map(|_| (1 + draw(looks), 0)).collect(),
        _ => vec![(1 + draw(looks), 0)],
    }
}

/// Stops a scenario of each study at so many drawn moments. Returns how often it was stopped.
fn at_drawn_moments(scenario: (&str, &str), number_of: u64, seed: u64) -> Result<usize, String> {
    let case = Case::new(scenario, true);
    let mut draw = draws(seed);
    let out = fresh(&format!("{}-{seed}", scenario.0));
    (0..number_of).map(|_| case.stopped_at(&moments(case.looks, &mut draw), &out)).sum()
}

/// A former fault: where trials and estimates beside the main run of `whatif` or `rebuild` were cut short,
/// the replicate was kept as finished.
#[test]
fn what_was_stopped_at_any_moment_goes_on_to_the_same_report() {
    let all = SCENARIOS.iter().chain([&("forgetful", "")]);
    let each = number("SOAK_MOMENTS").map_or(FEW, |all| all.div_ceil(SCENARIOS.len() as u64 + 1));
    let seed = number("SOAK_SEED").unwrap_or(1);
    let (mut stopped, mut drawn) = (0, 0);
    for (scenario, seed) in all.zip(seed * 1_000..) {
        stopped += at_drawn_moments(*scenario, each, seed).unwrap_or_else(|what| panic!("{what}"));
        drawn += each;
    }
    eprintln!("{drawn} campaigns were stopped {stopped} times");
    assert!(stopped as u64 > drawn / 2, "of {drawn} campaigns {stopped} were stopped");
}

/// The planted violation: with nothing that records what a run has heard, the property does not hold.
#[test]
fn a_run_that_nobody_records_is_kept_as_finished_and_noticed() {
    for scenario in
        [("whatif", "LIVE\nmark_out = \"osd.1\"\n"), ("rebuild", "servers = 8\nper_server = \"1GiB\"\n")]
    {
        let case = Case::new(scenario, false);
        let out = fresh(&format!("unruled-{}", scenario.0));
        let looks = (1..=case.looks).step_by((case.looks / 12).max(1) as usize);
        let wrong = looks.filter(|at| case.stopped_at(&[(*at, 0)], &out).is_err()).count();
        assert!(wrong > 0, "{}: no moment of {} is noticed", scenario.0, case.looks);
    }
}

/// The point that a study makes does not say that it was stopped; the one that `check` hands out does.
#[test]
fn a_study_that_forgets_to_say_so_is_partial_all_the_same() {
    let stop = Stop::new();
    stop.raise();
    let context =
        RunContext { stop: StopAsked::by(stop.flag()), ..RunContext::alone(towtank_streams::Seed(1), 0) };
    let own = Forgetful.run(&context).expect("it runs");
    assert!(!own.partial && own.measures["count"].value() == Some(0.0));
    let case = Case::new(("forgetful", ""), true);
    let moment = Moment::set(5, 0);
    let ran = run(&case.watched, &one_by_one(None), &*moment).expect("it runs");
    assert!(ran.interrupted && ran.done.runs == 0);
}

/// A run elsewhere that was stopped on the way is refused by the campaign, or is whole.
#[test]
fn a_task_that_was_stopped_elsewhere_is_not_taken() {
    let case = Case::new(("whatif", "LIVE\nmark_out = \"osd.1\"\n"), true);
    let runner = Runner::new(scenario(&registry(true), "whatif", "LIVE\nmark_out = \"osd.1\"\n"));
    let runner = runner.unwrap_or_else(|trouble| panic!("{trouble}"));
    let again = scenario(&unwatched(), "whatif", "LIVE\nmark_out = \"osd.1\"\n");
    let mut campaign = Delegated::open(again, &one_by_one(None), &()).expect("it needs no directory");
    let mut refused = 0;
    for task in campaign.open_tasks() {
        for at in (1..case.looks).step_by((case.looks / 6).max(1) as usize) {
            let bytes = runner.run(task, &*Moment::set(at, 0)).unwrap_or_else(|trouble| panic!("{trouble}"));
            refused += usize::from(campaign.accept(task, &bytes).is_err());
        }
        let bytes = runner.run(task, &*Moment::set(0, 0)).unwrap_or_else(|trouble| panic!("{trouble}"));
        campaign.accept(task, &bytes).unwrap_or_else(|trouble| panic!("{trouble}"));
    }
    let report = campaign.report().expect("it keeps the laws").expect("all runs are there");
    assert_eq!(report.to_json(), case.whole);
    assert!(refused > 3, "{refused} were refused");
}
