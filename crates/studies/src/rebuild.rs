//! How long until the lost data is safe again, and what holds it up?

pub mod hardware;
pub mod model;
pub mod plan;
