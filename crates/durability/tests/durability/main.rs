//! The crate against published and exactly computable numbers (`tests/golden.csv`, each row with its source),
//! against small systems worked out whole, and against itself by another method.

mod bursts;
mod closed;
mod clusters;
mod golden;
mod policies;
mod simulated;
mod small;
mod starts;
mod systems;
