//! The room that a server has for new chunks: a bid reserves that of its chunk, and data that arrive use what
//! was reserved for them.
//!
//! Section I.B of the paper: negotiations allocate target persistent storage capacity, too. It leaves out
//! how; here a server that lacks the room declines at once, so that no chunk that was accepted is ever
//! refused.

use towtank_units::Bytes;

use crate::PutId;

/// Bytes reserved for puts, and bytes stored since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Room {
    reserved: Vec<(PutId, u64)>,
    stored: u64,
}

impl Room {
    /// Reserves room for a put, unless less than that is left. A put that has a reservation keeps it.
    pub fn reserve(&mut self, put: PutId, bytes: Bytes, capacity: Bytes) -> bool {
        if self.has(put) {
            return true;
        }
        let fits = self.taken().saturating_add(bytes.get()) <= capacity.get();
        if fits {
            self.reserved.push((put, bytes.get()));
        }
        fits
    }

    /// The bid was cancelled: its room is free.
    pub fn release(&mut self, put: PutId) {
        self.reserved.retain(|(other, _)| *other != put);
    }

    /// The data have arrived: their room is taken for good.
    pub fn store(&mut self, put: PutId, bytes: Bytes) {
        debug_assert!(self.has(put), "{put:?} is stored in room that was not reserved");
        self.release(put);
        self.stored += bytes.get();
    }

    /// Whether room is reserved for a put.
    #[must_use]
    pub fn has(&self, put: PutId) -> bool {
        self.reserved.iter().any(|(other, _)| *other == put)
    }

    /// Puts with a reservation.
    pub fn puts(&self) -> impl Iterator<Item = PutId> + '_ {
        self.reserved.iter().map(|(put, _)| *put)
    }

    /// Bytes that are reserved or stored.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.reserved.iter().fold(self.stored, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::GatewayId;

    fn put(number: u32) -> PutId {
        PutId { gateway: GatewayId(0), number }
    }

    #[test]
    fn room_is_reserved_released_and_used() {
        let (mut room, bytes, capacity) = (Room::default(), Bytes::new(40), Bytes::new(100));
        assert!(room.reserve(put(1), bytes, capacity) && room.reserve(put(2), bytes, capacity));
        assert!(!room.reserve(put(3), bytes, capacity), "20 bytes are left");
        assert!(room.reserve(put(2), bytes, capacity), "it has a reservation");
        room.store(put(1), bytes);
        assert_eq!((room.taken(), room.has(put(1))), (80, false));
        room.release(put(2));
        assert!(room.reserve(put(3), Bytes::new(60), capacity) && room.taken() == 100);
        assert!(!room.reserve(put(4), Bytes::new(1), capacity));
    }

    #[test]
    #[should_panic(expected = "is stored in room that was not reserved")]
    fn data_without_a_reservation_are_noticed() {
        Room::default().store(put(1), Bytes::new(1));
    }

    proptest! {
        /// Against a table of all reservations and a sum that is computed from scratch each time.
        #[test]
        fn reserved_and_stored_never_exceed_the_capacity(
            steps in prop::collection::vec((0_u32..6, 1_u64..50, 0_u8..3), 1..200), capacity in 1_u64..200,
        ) {
            let (mut room, mut held, mut stored) = (Room::default(), BTreeMap::new(), 0);
            for (number, bytes, what) in steps {
                let sum = held.values().sum::<u64>() + stored;
                match what {
                    0 => {
                        let fits = held.contains_key(&number) || sum + bytes <= capacity;
                        prop_assert_eq!(room.reserve(put(number), Bytes::new(bytes), Bytes::new(capacity)), fits);
                        if fits {
                            held.entry(number).or_insert(bytes);
                        }
                    }
                    1 => {
                        room.release(put(number));
                        held.remove(&number);
                    }
                    _ => {
                        if let Some(bytes) = held.remove(&number) {
                            room.store(put(number), Bytes::new(bytes));
                            stored += bytes;
                        }
                    }
                }
                prop_assert_eq!(room.taken(), held.values().sum::<u64>() + stored);
                prop_assert!(room.taken() <= capacity);
            }
        }
    }
}
