//! Properties of trees, skip sets, images, exchanges and sketches, each against slow and obvious code; and
//! beside each a planted mistake that it notices.

mod bytes;
mod costs;
mod divided;
mod exchange;
mod image;
mod oracle;
mod sketch;
mod skip;
mod tree;
