//! Network ports: what is sent queues for the link of its node, and again for the link of the receiver.
//!
//! A message whose way is free needs the time of its bits once and the trip; behind others it waits for
//! theirs. In SURGE's fidelity ports are not used: there, control messages never queue.

use towtank_devices::{Broken, Link};

/// The ports of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Ports {
    /// Control messages that go.
    pub control_out: Link,
    /// Control messages that come.
    pub control_in: Link,
    /// Data that go.
    pub data_out: Link,
    /// Data that come.
    pub data_in: Link,
}

impl Ports {
    /// Checks that no link carried more than there was time for.
    ///
    /// # Errors
    /// The first that did.
    pub fn audit(&self) -> Result<(), Broken> {
        let links = [&self.control_out, &self.control_in, &self.data_out, &self.data_in];
        links.into_iter().try_for_each(|link| link.lane.audit())
    }
}
