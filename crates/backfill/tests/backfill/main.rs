//! Whole runs of a backfill on every executor, and laws of outages and runs over random clusters.

mod laws;
mod runs;
