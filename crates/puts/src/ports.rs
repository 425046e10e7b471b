//! Network ports: a message queues for the sender's link, and again for the receiver's link.
//!
//! A message on free links takes the transmission time once plus the trip time; behind others it also waits
//! for theirs. SURGE's fidelity does not use ports: there, control messages never queue.

use towtank_devices::{Broken, Link};

/// The ports of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Ports {
    /// Control messages sent.
    pub control_out: Link,
    /// Control messages received.
    pub control_in: Link,
    /// Data sent.
    pub data_out: Link,
    /// Data received.
    pub data_in: Link,
}

impl Ports {
    /// Checks that no link was busy for longer than the elapsed time.
    ///
    /// # Errors
    /// The first that was.
    pub fn audit(&self) -> Result<(), Broken> {
        let links = [&self.control_out, &self.control_in, &self.data_out, &self.data_in];
        links.into_iter().try_for_each(|link| link.lane.audit())
    }
}

#[cfg(test)]
mod tests {
    use towtank_units::{SimSpan, SimTime};

    use super::*;

    #[test]
    fn a_link_that_carried_more_than_there_was_time_for_is_noticed() {
        let mut ports = Ports::default();
        let span = SimSpan::from_ns(70);
        ports.data_out.send(SimTime::from_ns(5), span);
        ports.control_in.receive(SimTime::from_ns(90), span);
        assert!(ports.audit().is_ok());
        let damages: [fn(&mut Ports) -> &mut Link; 4] = [
            |ports| &mut ports.control_out,
            |ports| &mut ports.control_in,
            |ports| &mut ports.data_out,
            |ports| &mut ports.data_in,
        ];
        for (at, damage) in damages.into_iter().enumerate() {
            let mut broken = ports;
            damage(&mut broken).lane.busy = SimSpan::from_secs(1);
            assert!(broken.audit().is_err(), "link {at} is not looked at");
        }
    }
}
