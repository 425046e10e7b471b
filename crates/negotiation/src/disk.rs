//! A disk that writes one chunk after another: first come, first served, no seeks, no limit to its queue.

use towtank_units::{SimSpan, SimTime};

/// What a server knows of its disk: when the last queued write ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Disk {
    done: SimTime,
}

impl Disk {
    /// Queues work of the given length; when it begins and ends.
    pub fn queue(&mut self, now: SimTime, work: SimSpan) -> (SimTime, SimTime) {
        let begin = self.done.max(now);
        self.done = begin.saturating_add(work);
        (begin, self.done)
    }

    /// How much work is left.
    #[must_use]
    pub fn backlog(&self, now: SimTime) -> SimSpan {
        self.done.checked_since(now).unwrap_or(SimSpan::ZERO)
    }

    /// How many writes of length `work` that is, rounded to the nearest.
    #[must_use]
    pub fn depth(&self, now: SimTime, work: SimSpan) -> u64 {
        let work = work.as_ns().max(1);
        (self.backlog(now).as_ns() + work / 2) / work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_queue_up_and_depth_is_rounded() {
        let (mut disk, work) = (Disk::default(), SimSpan::from_ns(100));
        assert_eq!(disk.queue(SimTime::from_ns(50), work).1, SimTime::from_ns(150));
        assert_eq!(disk.queue(SimTime::from_ns(60), work), (SimTime::from_ns(150), SimTime::from_ns(250)));
        let depths = [60, 100, 101, 200, 201, 300].map(|at| disk.depth(SimTime::from_ns(at), work));
        assert_eq!(depths, [2, 2, 1, 1, 0, 0]);
    }
}
