//! Properties of trees, skip sets, images, exchanges and sketches, each checked against a slow and simple
//! implementation; each check is also shown to detect a planted mistake.

mod bytes;
mod costs;
mod divided;
mod exchange;
mod image;
mod oracle;
mod sketch;
mod skip;
mod tree;
