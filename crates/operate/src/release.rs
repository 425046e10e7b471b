//! The release of a cluster, from its exports: the versions of its daemons where a report has them, or else
//! the release that its osd dump requires.

use serde::{Deserialize, Serialize};
use towtank_ceph::{Cluster, Joined};
use towtank_imports::ceph::{OsdDump, Release as Required, Version};
use towtank_placement::crush::RuleKind;
use towtank_recovery::queue::{Mclock, Queue};
use towtank_recovery::releases::{CephRelease, Release, outside};
use towtank_recovery::settings::RELEASE_USUAL;
use towtank_report::Warning;

/// What decides how Ceph paces a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paced {
    /// What is known of the release.
    pub release: Option<CephRelease>,
    /// The queue of its daemons.
    pub queue: Option<Queue>,
}

/// How many groups a device is to have in a release of Ceph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLimits {
    /// Shards on each that Ceph aims at: `mon_target_pg_per_osd`.
    pub target: u32,
    /// With more, Ceph creates no more there: `mon_max_pg_per_osd`.
    pub max: u32,
}

impl GroupLimits {
    /// Those of a release.
    pub(crate) fn of(known: Option<CephRelease>) -> GroupLimits {
        let release = assumed(known);
        GroupLimits { target: release.groups_target(), max: release.groups_max() }
    }
}

impl Default for GroupLimits {
    /// Those of the release that is assumed where none is named.
    fn default() -> GroupLimits {
        GroupLimits::of(None)
    }
}

/// What exports say of the release.
pub(crate) struct Found {
    /// The release, where they name one: the nearest one of those that are modelled.
    pub release: Option<CephRelease>,
    /// What is to be said of it.
    pub warnings: Vec<Warning>,
}

impl Found {
    /// What the exports say.
    #[must_use]
    pub(crate) fn of(joined: &Joined) -> Found {
        match joined.versions[..] {
            [] => Found::required(&joined.osd_dump),
            [version] => Found::running(version),
            [oldest, .., newest] => {
                let mut found = Found::running(oldest);
                found.warnings.push(Warning::note(format!(
                    "devices run Ceph {oldest} to {newest}: {oldest} is assumed for all; --ceph {newest} shows the other"
                )));
                found
            }
        }
    }

    /// The version, where devices run one.
    fn running(version: Version) -> Found {
        Found { release: Some(CephRelease(version)), warnings: outside(version).into_iter().collect() }
    }

    /// The oldest release that devices may run.
    fn required(dump: &OsdDump) -> Found {
        let name = dump.release_name().unwrap_or_default();
        let (release, warning) = match dump.release() {
            Required::Known(release) => (Some(release), None),
            Required::Older => {
                let oldest = Required::OLDEST;
                let text = format!(
                    "`{name}` is older than the releases that are modelled: Ceph {oldest} is assumed"
                );
                (Some(oldest), Some(Warning::unknown(text)))
            }
            Required::Newer => {
                let newest = Required::NEWEST;
                let text = format!(
                    "`{name}` is no release that is known here: the newest known one is assumed, Ceph {newest}; --ceph says \
                     another one"
                );
                (Some(newest), Some(Warning::unknown(text)))
            }
            Required::Unnamed => {
                let text = "the osd dump names no release of Ceph, so the queue of Ceph 16 (WPQ) is assumed; set `ceph_release`";
                (None, Some(Warning::note(text)))
            }
        };
        Found { release: release.map(CephRelease::of_major), warnings: warning.into_iter().collect() }
    }
}

/// The version that is assumed, where this is known of it.
#[must_use]
pub(crate) fn assumed(known: Option<CephRelease>) -> Release {
    Release::assumed(known.unwrap_or(RELEASE_USUAL).0)
}

/// What is not modelled of coded pools in this release.
#[must_use]
pub(crate) fn of_codes(cluster: &Cluster, mclock: Option<Mclock>) -> Option<Warning> {
    let release = mclock?.release;
    let coded = |pool: &&towtank_ceph::PoolState| pool.placed.kind == RuleKind::Erasure;
    let pool = cluster.pools.iter().find(coded).filter(|_| release.queues_reads_of_shards())?;
    Some(Warning::note(format!(
        "reads of shards wait in the queues of Ceph {release} when coded pools recover, such as `{}`, which is not modelled: \
         such a recovery takes longer where reads are what limits it",
        pool.name
    )))
}
