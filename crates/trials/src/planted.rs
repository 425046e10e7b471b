//! Rules that are broken on purpose, so that a test can prove that the simulation notices.

use serde::{Deserialize, Serialize};
use towtank_replication::Planted as Protocol;
use towtank_store::monitor::state::Planted as Monitor;
use towtank_store::osd::line::Planted as Line;

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Planted {
    /// A rule of the protocol.
    Protocol(Protocol),
    /// A rule of the monitor.
    Monitor(Monitor),
    /// A rule of what a daemon says to the monitor.
    Line(Line),
    /// A rule of the shell around the cores.
    Shell(Shell),
    /// A rule of the store as a gateway sees it.
    Gateway(Gateway),
}

/// A rule of the store as a gateway sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Gateway {
    /// Pieces of large objects are not written.
    LosesPieces,
    /// Objects are not written.
    LosesObjects,
    /// Objects that are removed stay.
    KeepsRemoved,
    /// A list of objects lacks the last one of a group.
    ListsTooFew,
}

/// A rule of the shell around the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Shell {
    /// What follows from a portion is carried out before its changes are durable.
    SpeaksBeforeSync,
    /// A frame is delivered although frames before it are missing.
    DeliversGaps,
    /// A frame that comes a second time is delivered again, also after others.
    DeliversTwice,
    /// A frame counts as taken when it is lost on the way.
    TakenUnseen,
    /// A disk without space changes some of the rows of a transaction.
    HalfApplied,
    /// An end of a journal that is undecided is cut, and nobody notes that something may be lost.
    CutsSilently,
    /// A directory notes a run when the monitor has let it in, and not before.
    NotesRunLate,
    /// An operator replaces or removes a device whatever may be lost with it.
    AcceptsLoss,
    /// A monitor is built anew from the maps of one device.
    RebuildsFromOne,
}

impl Planted {
    /// The rule with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Planted> {
        serde_json::from_value(serde_json::Value::String(name.to_owned())).ok()
    }
}
