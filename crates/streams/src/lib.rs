//! Random draws that are a pure function of who asks and when: (seed, entity, ordinal, purpose, index).
//!
//! A draw has no state to save, so undoing an event undoes its draws for free, and adding an entity to a
//! model never shifts the draws of another. [`Draws`] holds the place of one event; [`Draws::of`] turns it
//! into a [`Uniform`] source for one [`Purpose`]; the distributions take any [`Uniform`].
//!
//! What is deliberately absent: ambient randomness, and generators that carry state from event to event.

pub mod distributions;
mod draws;
mod exponential;

pub use draws::{Draws, Purpose, Seed, Source, Uniform, mix};
