//! Properties of trees, sketches and what is built of them, and the example.

mod properties;
mod what_changed;
