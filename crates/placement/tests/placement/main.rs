//! CRUSH as Ceph has it: golden maps and mappings, crushtool on random maps, texts, and hostile input.

mod batch;
mod crushtool;
mod edits;
mod golden;
mod golden_set;
mod hostile;
mod msr;
mod objmap;
mod random_map;
mod text;
mod weight_sets;
