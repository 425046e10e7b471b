//! What a plan leaves out, by reason.

/// Objects that cannot be rebuilt, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stuck {
    /// Too few copies or shards are left.
    pub lost: u64,
    /// Too few are left that answer, and devices that are down hold more: what is down is the caller's to
    /// know, who moves these from `lost`.
    pub unavailable: u64,
    /// Too few are left that answer, and whether they are lost nobody has decided: the caller's to know, too.
    pub undecided: u64,
    /// A failed device is not out yet, or never will be.
    pub waiting: u64,
    /// Placement names no other home.
    pub homeless: u64,
    /// The home has no room.
    pub full: u64,
    /// A flag of the cluster keeps them from being rebuilt.
    pub flagged: u64,
    /// Of these, as many as their homes have already.
    pub flagged_begun: u64,
    /// Bytes that would have to be written to rebuild all of them.
    pub bytes: u64,
    /// Objects that lack nothing, but should move to a home that has no room.
    pub unmoved: u64,
    /// Objects that lack nothing, and that a flag keeps from moving.
    pub unmoved_by_flag: u64,
    /// Of these, as many as their homes have already.
    pub unmoved_begun: u64,
    /// The flag, of those in force the one that keeps most from happening.
    pub flag: Option<&'static str>,
    /// Bytes of copies and shards that are left and stay where they are: of `unmoved`, `unmoved_by_flag`,
    /// `flagged` and `full`, and of shards whose new device holds another shard of the record that stays.
    pub staying_bytes: u64,
    /// The last part of these.
    pub held_bytes: u64,
    /// Objects that move in room that others leave: in Ceph they wait for these.
    pub in_turn: u64,
    /// Of those that lack a part and are not lost, the least number of parts that one can still lose in the
    /// end; none if there are none.
    pub least_spare: Option<u32>,
}

impl Stuck {
    /// Objects that are not copied because of a flag.
    #[must_use]
    pub fn halted(&self) -> u64 {
        self.flagged + self.unmoved_by_flag - self.flagged_begun - self.unmoved_begun
    }

    /// Objects that cannot be rebuilt, for any reason.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.lost
            + self.unavailable
            + self.undecided
            + self.waiting
            + self.homeless
            + self.full
            + self.flagged
    }

    pub(super) fn note_spare(&mut self, spare: u32) {
        self.least_spare = Some(self.least_spare.map_or(spare, |least| least.min(spare)));
    }

    /// Whether any object cannot be rebuilt.
    #[must_use]
    pub fn any(&self) -> bool {
        self.objects() > 0
    }
}
