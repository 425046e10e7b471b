//! The keys of a scenario of capacity measurement, and their checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_capacity::Mix;
use towtank_negotiation::Protocol;
use towtank_scenario::{Draft, Problems, did_you_mean};
use towtank_units::{Bytes, Percent, Rate, SimSpan};

/// A simulated cluster with mixes of reads and writes, which are predicted from pure reads and writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// `disks`: reads from one server and writes to several, without a protocol. Or a protocol of
    /// `towtank put`: `replicast-m`, `replicast-h`, `uch-ccp`, `uch-aimd`, `serial`.
    #[serde(default = "disks")]
    pub system: String,
    /// Number of servers, with one disk each. Put protocols have as many gateways.
    #[serde(default = "eighteen")]
    #[schemars(range(min = 1, max = 10_000))]
    pub servers: u32,
    /// Number of copies of each write.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: u32,
    /// `disks`: how many copies are written when a write is acknowledged: `all`, as in Ceph, `majority`, as
    /// in Swift, or a number. The others are written afterwards.
    #[serde(default)]
    pub ack: Ack,
    /// Size of an operation.
    #[serde(default = "size")]
    pub size: Bytes,
    /// `disks`: a mix of sizes, such as `16KiB:90%:r100,1MiB:10%:r50`, which is run and estimated too, with
    /// its shares held as shares of operations, of operations in flight, and of capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    /// Number of operations in flight at any time per server.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 1_000))]
    pub depth: u32,
    /// Read and write bandwidth of a disk.
    #[serde(default = "disk")]
    pub disk: Rate,
    /// `disks`: disk time of a read in addition to the time of its bytes.
    #[serde(default = "overhead")]
    pub read_overhead: SimSpan,
    /// `disks`: disk time of a write in addition to the time of its bytes.
    #[serde(default = "overhead")]
    pub write_overhead: SimSpan,
    /// `disks`: hit ratio of the cache for reads.
    #[serde(default = "none")]
    pub cache_hits: Percent,
    /// `disks`: service time of a cache hit.
    #[serde(default = "cached")]
    pub cached: SimSpan,
    /// `disks`: share of servers whose disk is `fast_disk`.
    #[serde(default = "none")]
    pub fast_servers: Percent,
    /// `disks`: bandwidth of the fast disk.
    #[serde(default = "fast_disk")]
    pub fast_disk: Rate,
    /// Bandwidth of each server's link, in each direction.
    #[serde(default = "link")]
    pub link: Rate,
    /// One-way latency from node to node.
    #[serde(default = "trip")]
    pub trip: SimSpan,
    /// Warm-up of each run, which is discarded. Left out: five times what an operation of the mix takes with
    /// `depth` in flight, and at least 50ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<SimSpan>,
    /// Measured span of each run, for each mix. Left out: ten times what an operation of the mix takes with
    /// `depth` in flight, and at least 200ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<SimSpan>,
    /// `disks`: admission control while the mix changes.
    #[serde(default)]
    pub control: Control,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Ack {
    /// By a rule.
    Rule(AckRule),
    /// When this many copies are written.
    Copies(u32),
}

/// A rule of acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckRule {
    /// When all copies are written.
    All,
    /// When more than half of the copies are written.
    Majority,
}

impl Default for Ack {
    fn default() -> Ack {
        Ack::Rule(AckRule::All)
    }
}

impl Ack {
    /// The copies that are written when a write is acknowledged.
    #[must_use]
    pub(crate) fn copies(self, replicas: u32) -> u32 {
        match self {
            Ack::Rule(AckRule::All) => replicas,
            Ack::Rule(AckRule::Majority) => replicas / 2 + 1,
            Ack::Copies(copies) => copies,
        }
    }
}

/// A load above the capacity of the cluster, whose mix changes, and a target of utilisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    /// Target utilisation of the disks.
    pub target: Percent,
    /// Shares of reads, one per phase.
    #[schemars(length(min = 1, max = 64))]
    pub reads: Vec<Percent>,
    /// Length of a phase.
    pub phase: SimSpan,
    /// Interval at which the utilisation of the disks is measured.
    pub window: SimSpan,
    /// Offered load, as a share of the predicted capacity for the phase's mix.
    pub offered: Percent,
}

impl Default for Control {
    fn default() -> Control {
        Control {
            target: percent(70),
            reads: [90, 10, 50, 100, 30, 0].into_iter().map(percent).collect(),
            phase: SimSpan::from_ms(100),
            window: SimSpan::from_ms(10),
            offered: percent(150),
        }
    }
}

fn disks() -> String {
    "disks".to_owned()
}

fn eighteen() -> u32 {
    18
}

fn three() -> u32 {
    3
}

fn eight() -> u32 {
    8
}

fn size() -> Bytes {
    Bytes::from_kib(64)
}

fn disk() -> Rate {
    rate(400 << 20)
}

fn fast_disk() -> Rate {
    rate(2000 << 20)
}

fn link() -> Rate {
    rate(1_250_000_000)
}

fn overhead() -> SimSpan {
    SimSpan::from_us(30)
}

fn cached() -> SimSpan {
    SimSpan::from_us(5)
}

fn trip() -> SimSpan {
    SimSpan::from_us(10)
}

fn none() -> Percent {
    Percent::ZERO
}

fn rate(bytes_per_second: u64) -> Rate {
    Rate::from_bytes_per_second(bytes_per_second).expect("defaults are above zero")
}

fn percent(count: u64) -> Percent {
    Percent::from_percent(count).expect("defaults are small")
}

/// The maximum number of windows in one run: a choice. Each window is kept for each server.
const WINDOWS_MAX: u64 = 100_000;
/// The largest operation: a choice.
const SIZE_MAX: Bytes = Bytes::from_mib(64);

/// The least warm-up and the least measured span, unless the scenario sets them.
pub(super) const WARM_UP: SimSpan = SimSpan::from_ms(50);
const MEASURED: SimSpan = SimSpan::from_ms(200);

/// The spans of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spans {
    /// What is discarded.
    pub warm_up: SimSpan,
    /// In which clients of a protocol start.
    pub start_spread: SimSpan,
    /// What is measured.
    pub measured: SimSpan,
    /// Whether the scenario sets less than a few times what an operation takes.
    pub too_short: bool,
}

impl Scenario {
    /// The spans of a run of operations of one size, of which this share are reads. With many operations in
    /// flight, each waits for those before it: by Little's law, it takes the time that all of them take a
    /// server. The first of them start at once, so rates are too high until these have ended.
    #[must_use]
    pub(crate) fn spans(&self, size: Bytes, reads: f64) -> Spans {
        let served = |rate: Rate| rate.span_for(size).as_secs_f64();
        let disk = served(self.disk);
        let copies = f64::from(self.replicas);
        let (read, write) =
            (self.read_overhead.as_secs_f64() + disk, (self.write_overhead.as_secs_f64() + disk) * copies);
        let link = served(self.link);
        let busy = (reads * read + (1.0 - reads) * write).max(link * (reads + (1.0 - reads) * copies));
        let each = |times: f64| {
            SimSpan::from_ns((times * busy * f64::from(self.depth) * 1e9).min(u64::MAX as f64) as u64)
        };
        let warm_up = self.warm_up.unwrap_or(each(5.0).max(WARM_UP));
        let measured = self.duration.unwrap_or(each(10.0).max(MEASURED));
        let too_short = warm_up < each(2.0) || measured < each(5.0);
        Spans { warm_up, start_spread: warm_up.min(WARM_UP), measured, too_short }
    }

    /// The put protocol, where the scenario names one.
    #[must_use]
    pub fn protocol(&self) -> Option<Protocol> {
        Protocol::ALL.into_iter().find(|protocol| protocol.name() == self.system)
    }

    /// The mix of sizes, where the scenario has one.
    #[must_use]
    pub(super) fn mix_of_sizes(&self) -> Option<Mix> {
        Mix::parse(self.mix.as_deref()?).ok()
    }

    /// The operations in flight of each part of a mix: its share of all of them. The largest remainders are
    /// rounded up, the earlier part first, so that all operations in flight belong to a part.
    #[must_use]
    pub(super) fn depths(&self, mix: &Mix) -> Vec<u32> {
        let whole = self.depth.saturating_mul(self.servers);
        let exact: Vec<f64> = mix.parts().iter().map(|part| part.share * f64::from(whole)).collect();
        let mut depths: Vec<u32> = exact.iter().map(|exact| *exact as u32).collect();
        let rest = |at: usize| exact[at] - libm::floor(exact[at]);
        let mut order: Vec<usize> = (0..exact.len()).collect();
        order.sort_by(|one, other| rest(*other).total_cmp(&rest(*one)).then(one.cmp(other)));
        let left = whole.saturating_sub(depths.iter().sum());
        order.into_iter().cycle().take(left as usize).for_each(|at| depths[at] += 1);
        depths
    }

    /// The maximum number of windows in the longest run.
    #[must_use]
    pub fn windows(&self) -> u64 {
        let phases = self.control.phase.saturating_mul(self.control.reads.len() as u64);
        phases.max(self.spans(self.size, 0.0).measured).as_ns() / self.control.window.as_ns().max(1)
    }

    /// Checks the scenario.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn checked(self, draft: &Draft) -> Result<Scenario, Problems> {
        let mut problems = Problems::new();
        let names = || std::iter::once("disks").chain(Protocol::ALL.into_iter().map(Protocol::name));
        if !names().any(|name| name == self.system) {
            let hint = did_you_mean(&self.system, names())
                .unwrap_or_else(|| format!("the systems are {}", names().collect::<Vec<_>>().join(", ")));
            let message = format!("there is no system called `{}`", self.system);
            problems.refuse(draft, "system", message, hint);
        }
        let least = if self.protocol().is_some_and(Protocol::negotiates) { 9 } else { self.replicas };
        if self.servers < least {
            let message = format!("`servers` is {}, but {least} are needed", self.servers);
            problems.refuse(draft, "servers", message, "add servers, or lower `replicas`");
        }
        if self.replicas > 9 && self.protocol().is_some() {
            let message = format!("`replicas` is {}, but a group has 9 servers", self.replicas);
            problems.refuse(draft, "replicas", message, "set `system` to \"disks\", or lower it");
        }
        let acks = self.ack.copies(self.replicas);
        if acks == 0 || acks > self.replicas {
            let message = format!("`ack` is {acks}, but a write has {} copies", self.replicas);
            let hint = "write \"all\", \"majority\" or a number from 1 to `replicas`";
            problems.refuse(draft, "ack", message, hint);
        }
        let spans = [
            ("duration", self.duration.unwrap_or(MEASURED)),
            ("trip", self.trip),
            ("control.phase", self.control.phase),
            ("control.window", self.control.window),
        ];
        for (key, _) in spans.into_iter().filter(|(_, span)| span.is_zero()) {
            problems.refuse(draft, key, format!("`{key}` is 0s"), "it must be above zero");
        }
        if self.windows() > WINDOWS_MAX && !self.control.window.is_zero() {
            let message = format!(
                "`control.window` is {}, which makes {} windows of a run, but the limit is {WINDOWS_MAX}",
                self.control.window,
                self.windows()
            );
            problems.refuse(draft, "control.window", message, "lengthen it; the default is 10ms");
        }
        if self.size.is_zero() || self.size > SIZE_MAX {
            let message = format!("`size` is {}", self.size);
            problems.refuse(draft, "size", message, format!("set it above 0B, up to {SIZE_MAX}"));
        }
        self.check_shares(draft, &mut problems);
        self.check_mix(draft, &mut problems);
        problems.into_result(())?;
        Ok(self)
    }

    fn check_mix(&self, draft: &Draft, problems: &mut Problems) {
        let Some(text) = &self.mix else { return };
        let mut refuse = |message: String, hint: String| {
            problems.refuse(draft, "mix", message, hint);
        };
        let mix = match Mix::parse(text) {
            Ok(mix) => mix,
            Err(error) => return refuse(error.reason, error.hint),
        };
        if let Some(size) = mix.sizes().into_iter().map(Bytes::new).find(|size| *size > SIZE_MAX) {
            refuse(format!("`mix` has operations of {size}"), format!("an operation has at most {SIZE_MAX}"));
        }
        if let Some((small, large)) = mix.one_size_twice() {
            let [small, large] = [small, large].map(Bytes::new);
            let message = format!("`mix` has {small} and {large}, which look like one size in two units");
            refuse(message, "give both in the same unit; a KiB is 1024 bytes and a kB 1000".to_owned());
        }
        if let Some(at) = self.depths(&mix).iter().position(|depth| *depth == 0) {
            let (part, whole) = (mix.parts()[at], self.depth.saturating_mul(self.servers));
            let message = format!(
                "`mix` has {}, whose share of {whole} operations in flight is less than one",
                part.size()
            );
            refuse(message, "raise `depth`, or leave out the rarest size".to_owned());
        }
    }

    fn check_shares(&self, draft: &Draft, problems: &mut Problems) {
        let control = &self.control;
        let whole = [
            ("cache_hits", self.cache_hits),
            ("fast_servers", self.fast_servers),
            ("control.target", control.target),
        ];
        let reads = control.reads.iter().map(|reads| ("control.reads", *reads));
        for (key, share) in whole.into_iter().chain(reads).filter(|(_, share)| *share > Percent::FULL) {
            problems.refuse(draft, key, format!("`{key}` is {share}"), "a share is at most 100%");
        }
        if control.target == Percent::ZERO {
            problems.refuse(draft, "control.target", "`control.target` is 0%", "the default is 70%");
        }
        if control.reads.is_empty() {
            problems.refuse(
                draft,
                "control.reads",
                "`control.reads` is empty",
                "set a share of reads for each phase",
            );
        }
        if control.offered == Percent::ZERO || control.offered > percent(1_000) {
            let message = format!("`control.offered` is {}", control.offered);
            problems.refuse(draft, "control.offered", message, "set it above 0%, up to 1000%");
        }
        if self.protocol().is_some() {
            let asked = [
                ("ack", self.ack != Ack::default()),
                ("mix", self.mix.is_some()),
                ("cache_hits", self.cache_hits != Percent::ZERO),
                ("fast_servers", self.fast_servers != Percent::ZERO),
            ];
            for (key, _) in asked.into_iter().filter(|(_, asked)| *asked) {
                let message = format!("`{key}` is only for `system = \"disks\"`");
                problems.refuse(draft, key, message, "leave it out, or set `system` to \"disks\"");
            }
        }
    }
}
