//! Records of several files together.

use towtank_imports::past::{Clock, Format, Record, Sample, Seen, Work};

/// A file and what it says.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, for messages.
    pub name: String,
    /// What it says.
    pub record: Record,
}

/// What several files say of one cluster.
#[derive(Clone, Debug)]
pub struct Past {
    /// The clock of all times.
    pub clock: Clock,
    /// The cluster, if a file says which.
    pub fsid: Option<String>,
    /// The lanes that samples are in.
    pub(crate) lanes: Vec<Lane>,
    /// What was seen of devices, in the order of time, each with the file that says it.
    pub(crate) seen: Vec<SeenIn>,
    /// What devices recovered, in the order of the files.
    work: Vec<Work>,
}

/// Samples of one source in the order of time: of a file, or of all reports and dumps of groups together,
/// which have one each.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// What messages call it.
    pub name: String,
    /// The format of its files.
    pub format: Format,
    /// Its samples.
    pub samples: Vec<Sample>,
}

/// A device as a file shows it.
#[derive(Clone, Debug)]
pub(crate) struct SeenIn {
    /// The file.
    pub file: String,
    /// Its format.
    pub format: Format,
    /// What it shows.
    pub seen: Seen,
}

/// Why files cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PastError {
    /// They are of different clusters.
    #[error("`{one}` is of the cluster {of_one}, and `{other}` of {of_other}")]
    OtherCluster {
        /// A file.
        one: String,
        /// Its cluster.
        of_one: String,
        /// Another file.
        other: String,
        /// Its cluster.
        of_other: String,
    },
    /// Their times cannot be compared.
    #[error("the times of `{one}` {is_one}, and those of `{other}` {is_other}")]
    OtherClock {
        /// A file.
        one: String,
        /// How its times are.
        is_one: &'static str,
        /// Another file.
        other: String,
        /// How its times are.
        is_other: &'static str,
    },
    /// None of them has samples.
    #[error("none of the files says how much was left at a time")]
    NoSamples,
    /// Nothing was missing or misplaced at any time.
    #[error("nothing is degraded or misplaced from {from} to {to} (samples: {samples})")]
    NoEvent {
        /// Number of samples.
        samples: usize,
        /// The first time.
        from: String,
        /// The last time.
        to: String,
    },
}

impl PastError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            PastError::OtherCluster { .. } => "give the files of one cluster at a time",
            PastError::OtherClock { .. } => {
                "say the zone of times that have none with --zone +01:00; seconds that begin anywhere stand alone"
            }
            PastError::NoSamples => "give ceph.log, metrics, or `ceph -s` of the time of the recovery",
            PastError::NoEvent { .. } => {
                "give files of the time of the event: from before it until all is clean"
            }
        }
    }
}

fn kind(clock: Clock) -> &'static str {
    match clock {
        Clock::Zoned => "have a zone",
        Clock::Local => "have no zone",
        Clock::Start => "are seconds from some moment",
    }
}

/// Puts the records together.
///
/// # Errors
/// If they are of different clusters, have clocks that cannot be compared, or say nothing of a time.
pub fn join(sources: Vec<Source>) -> Result<Past, PastError> {
    let fsid = one_cluster(&sources)?;
    let clock = one_clock(&sources)?;
    let (mut lanes, mut all_seen, mut work): (Vec<Lane>, Vec<SeenIn>, Vec<Work>) =
        (Vec::new(), Vec::new(), Vec::new());
    for Source { name, record } in sources {
        let format = record.format;
        all_seen.extend(record.seen.iter().map(|seen| SeenIn { file: name.clone(), format, seen: *seen }));
        work.extend(record.work);
        let counts = |sample: &Sample| sample.degraded.is_some() || sample.misplaced.is_some();
        let samples: Vec<Sample> = record.samples.into_iter().filter(counts).collect();
        if samples.is_empty() {
            continue;
        }
        let has_one = |format: Format| matches!(format, Format::Report | Format::Groups);
        match lanes.iter_mut().find(|lane| has_one(lane.format) && has_one(record.format)) {
            Some(lane) => {
                lane.samples.extend(samples);
                lane.name = "reports and dumps of groups".to_owned();
            }
            None => lanes.push(Lane { name: format!("`{name}`"), format: record.format, samples }),
        }
    }
    if lanes.is_empty() {
        return Err(PastError::NoSamples);
    }
    lanes.iter_mut().for_each(|lane| lane.samples.sort_by_key(|sample| sample.at_us));
    all_seen.sort_by_key(|one| one.seen.at_us);
    Ok(Past { clock, fsid, lanes, seen: all_seen, work })
}

fn one_cluster(sources: &[Source]) -> Result<Option<String>, PastError> {
    let mut known: Option<(&str, &str)> = None;
    for Source { name, record } in sources {
        let Some(fsid) = &record.fsid else { continue };
        let (one, of_one) = *known.get_or_insert((name, fsid));
        if of_one != fsid {
            return Err(PastError::OtherCluster {
                one: one.to_owned(),
                of_one: of_one.to_owned(),
                other: name.clone(),
                of_other: fsid.clone(),
            });
        }
    }
    Ok(known.map(|(_, fsid)| fsid.to_owned()))
}

fn one_clock(sources: &[Source]) -> Result<Clock, PastError> {
    let says_times = |source: &&Source| {
        let Record { samples, seen, work, .. } = &source.record;
        !samples.is_empty() || !seen.is_empty() || work.iter().any(|work| work.at_us.is_some())
    };
    let mut timed = sources.iter().filter(says_times);
    let Some(first) = timed.next() else { return Err(PastError::NoSamples) };
    // Two clocks that each start anywhere cannot be compared either.
    let starts_anywhere = first.record.clock == Clock::Start;
    match timed.find(|source| starts_anywhere || source.record.clock != first.record.clock) {
        Some(other) => Err(PastError::OtherClock {
            one: first.name.clone(),
            is_one: kind(first.record.clock),
            other: other.name.clone(),
            is_other: kind(other.record.clock),
        }),
        None => Ok(first.record.clock),
    }
}

impl Past {
    /// What devices recovered, in the order of the files.
    #[must_use]
    pub fn work(&self) -> &[Work] {
        &self.work
    }

    /// The samples, in the order of time, each with what messages call its source.
    #[must_use]
    pub fn samples(&self) -> Vec<(&str, &Sample)> {
        let mut all: Vec<(&str, &Sample)> = Vec::new();
        for lane in &self.lanes {
            all.extend(lane.samples.iter().map(|sample| (lane.name.as_str(), sample)));
        }
        all.sort_by_key(|(_, sample)| sample.at_us);
        all
    }
}
