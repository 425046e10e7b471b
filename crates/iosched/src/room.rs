//! How many requests a discipline lets be in service at once: the D of SFQ(D).

/// A bound on what is in service, and how much is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct Room {
    /// None sets no bound.
    depth: Option<u32>,
    in_service: u32,
}

impl Room {
    /// # Panics
    /// When the depth is zero: nobody would ever be served.
    pub fn new(depth: Option<u32>) -> Room {
        assert!(depth != Some(0), "with a depth of zero nobody is ever served");
        Room { depth, in_service: 0 }
    }

    pub fn is_full(self) -> bool {
        self.depth.is_some_and(|depth| self.in_service >= depth)
    }

    pub fn take(&mut self) {
        debug_assert!(!self.is_full(), "{} are in service, and one more is given", self.in_service);
        self.in_service += 1;
    }

    /// # Panics
    /// When nothing is in service: somebody told of a completion twice.
    pub fn release(&mut self) {
        assert!(self.in_service > 0, "more was completed than was given");
        self.in_service -= 1;
    }
}
