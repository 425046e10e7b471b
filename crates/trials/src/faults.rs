//! The faults of a run, drawn before it begins: each has a place in their list, by which it can be left out.

use std::fmt;

use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::{SimSpan, SimTime};

/// What goes wrong, or what an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A daemon is killed, and started again later.
    Kill,
    /// The machine of a daemon loses power, and what was not synced with it.
    PowerCut,
    /// All machines lose power, that of the monitor too.
    PowerCutAll,
    /// A daemon is stopped by its operator, and started again later.
    Stop,
    /// A daemon does not run for a while, and then goes on.
    Pause,
    /// The clock of a machine stands still for some milliseconds.
    ClockStop,
    /// Two machines do not reach each other, or one and the monitor.
    Partition,
    /// One machine does not reach another, which reaches it.
    OneWay,
    /// A machine reaches no other.
    Isolation,
    /// Many messages are lost, late, out of order or repeated.
    Weather,
    /// The monitor is killed, and started again later.
    MonitorKill,
    /// The monitor is started with an older copy of its directory, and with the newest one later.
    MonitorOlder,
    /// The disk of a device reports an error, and its daemon ends.
    DiskError,
    /// The disk of a device is full for a while.
    Full,
    /// The disk of a device takes long for each sync.
    SlowDisk,
    /// An object on the fragile device is damaged.
    RotObject,
    /// The journal of the fragile device is damaged while it does not run.
    RotJournal,
    /// The directory of the fragile device is removed, and made again.
    Empty,
    /// The directory of a device is an older copy for a while.
    Older,
    /// The directories of two devices are swapped for a while.
    Swapped,
    /// The fragile device is replaced.
    Replace,
    /// The fragile device is declared lost, and replaced later.
    Lost,
    /// Objects move off a device, and back later.
    Out,
    /// A device is added.
    Add,
    /// Objects move off a device, and it is stopped and removed if nothing is lost with it.
    Remove,
    /// The directory of the monitor is lost, and all daemons are down until it is built anew.
    MonitorLost,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 26] = [
        Kind::Kill,
        Kind::PowerCut,
        Kind::PowerCutAll,
        Kind::Stop,
        Kind::Pause,
        Kind::ClockStop,
        Kind::Partition,
        Kind::OneWay,
        Kind::Isolation,
        Kind::Weather,
        Kind::MonitorKill,
        Kind::MonitorOlder,
        Kind::DiskError,
        Kind::Full,
        Kind::SlowDisk,
        Kind::RotObject,
        Kind::RotJournal,
        Kind::Empty,
        Kind::Older,
        Kind::Swapped,
        Kind::Replace,
        Kind::Lost,
        Kind::Out,
        Kind::Add,
        Kind::Remove,
        Kind::MonitorLost,
    ];

    /// What it is called in a summary.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Kill => "kills",
            Kind::PowerCut => "power cuts",
            Kind::PowerCutAll => "power cuts of all",
            Kind::Stop => "stops",
            Kind::Pause => "pauses",
            Kind::ClockStop => "clocks that stood still",
            Kind::Partition => "partitions",
            Kind::OneWay => "one-way partitions",
            Kind::Isolation => "isolations",
            Kind::Weather => "times of bad weather",
            Kind::MonitorKill => "kills of the monitor",
            Kind::MonitorOlder => "older monitors",
            Kind::DiskError => "disk errors",
            Kind::Full => "full disks",
            Kind::SlowDisk => "slow disks",
            Kind::RotObject => "rotten objects",
            Kind::RotJournal => "rotten journals",
            Kind::Empty => "empty directories",
            Kind::Older => "older directories",
            Kind::Swapped => "swapped directories",
            Kind::Replace => "replaced devices",
            Kind::Lost => "lost devices",
            Kind::Out => "devices that were out",
            Kind::Add => "added devices",
            Kind::Remove => "devices to be removed",
            Kind::MonitorLost => "lost monitors",
        }
    }

    /// Whether it harms what was synced: only the fragile device suffers it.
    pub(crate) const fn is_harm(self) -> bool {
        matches!(self, Kind::RotObject | Kind::RotJournal | Kind::Empty | Kind::Replace | Kind::Lost)
    }
}

/// A fault of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub at: SimTime,
    pub kind: Kind,
    /// A device, and another one where there are two.
    pub device: u32,
    pub other: u32,
    /// How long it lasts.
    pub span: SimSpan,
    /// Whether the others are away by turns: one before it, and the rest after it.
    pub by_turns: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kind, device, other, span, .. } = self;
        write!(to, "{kind:?} osd.{device} (osd.{other}) for {span}")
    }
}

/// What the faults of a run depend on besides its seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Odd {
    /// The device that may be harmed, if there is one.
    pub fragile: Option<u32>,
    /// Whether any device may be harmed, and no copy need be left.
    pub is_beyond: bool,
    /// Whether clocks differ as much as they may, and that device does so most of the time.
    pub is_edge: bool,
    /// The device that loses its way to the monitor more often than others: its clock may be the slowest.
    pub slow: u32,
}

/// The faults of a seed, in the order of their times. Only a fragile device is harmed, if there is one.
pub(crate) fn drawn(seed: u64, devices: u32, odd: Odd, until: SimTime) -> Vec<Fault> {
    let mut draws = Draws::new(Seed(seed), 2, 0);
    let mut draws = draws.of(Purpose(1));
    let count = 10 + draws.below(20);
    let may_rot = |kind: Kind| kind != Kind::RotJournal || odd.fragile.is_some();
    let mut faults = Vec::new();
    for _ in 0..count {
        let mut kind = Kind::ALL[draws.below(Kind::ALL.len() as u64) as usize];
        let (device, other) = (draws.below(devices.into()) as u32, draws.below(devices.into()) as u32);
        let at = SimTime::from_ns(draws.below(until.as_ns()));
        let longest = [200, 2_000, 8_000][draws.below(3) as usize];
        let span = SimSpan::from_ms(1 + draws.below(longest));
        let is_edge = odd.is_edge && !kind.is_harm() && draws.below(3) > 0;
        let span = if is_edge { SimSpan::from_ms(2_500 + draws.below(3_000)) } else { span };
        if is_edge {
            kind = Kind::Partition;
        }
        let loses_monitor = matches!(kind, Kind::Partition | Kind::OneWay) && draws.below(4) > 0;
        let (device, other) = match odd.fragile {
            // With two replicas a device may serve alone: then nobody can tell an end that rotted from one
            // that was never written.
            _ if odd.is_beyond && kind.is_harm() && may_rot(kind) => (device, other),
            Some(fragile) if kind.is_harm() => (fragile, other),
            None if kind.is_harm() => continue,
            // A device that is cut off from the monitor alone goes on as if nothing had happened.
            _ if is_edge || loses_monitor && draws.below(2) == 0 => (odd.slow, odd.slow),
            _ if loses_monitor => (device, device),
            _ => (device, other),
        };
        let by_turns = kind.is_harm() && kind != Kind::Empty && draws.below(3) > 0;
        faults.push(Fault { at, kind, device, other, span, by_turns });
    }
    faults.sort_by_key(|fault| fault.at);
    faults
}
