//! Random draws that are a pure function of their key: (seed, entity, ordinal, purpose, index).
//!
//! A draw has no state to save, so undoing an event undoes its draws, and adding an entity to a model does
//! not change the draws of another. [`Draws`] holds the key of one event; [`Draws::of`] returns a [`Uniform`]
//! source for one [`Purpose`]; the distributions take any [`Uniform`].
//!
//! Deliberately absent: ambient randomness, and generators that carry state from event to event.

pub mod distributions;
mod draws;
mod exponential;

pub use draws::{Draws, Purpose, Seed, Source, Uniform, mix};
