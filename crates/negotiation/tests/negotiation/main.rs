//! Negotiations over networks that lose and delay messages, the choices among bids, and reservations.

mod choices;
mod lossy;
mod reservations;
