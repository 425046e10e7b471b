//! The number of requests that a discipline allows in service at once: the D of SFQ(D).

/// A bound on the number in service, and that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct Room {
    /// `None` sets no bound.
    depth: Option<u32>,
    in_service: u32,
}

impl Room {
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    pub fn new(depth: Option<u32>) -> Room {
        assert!(depth != Some(0), "with a depth of zero nobody is ever served");
        Room { depth, in_service: 0 }
    }

    pub fn is_full(self) -> bool {
        self.depth.is_some_and(|depth| self.in_service >= depth)
    }

    pub fn take(&mut self) {
        assert!(!self.is_full(), "{} are in service, and one more is given", self.in_service);
        self.in_service += 1;
    }

    /// # Panics
    /// When nothing is in service: a completion was reported twice.
    pub fn release(&mut self) {
        assert!(self.in_service > 0, "more was completed than was given");
        self.in_service -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "1 are in service, and one more is given")]
    fn more_in_service_than_the_depth_breaks_a_law() {
        let mut room = Room::new(Some(1));
        room.take();
        room.take();
    }
}
