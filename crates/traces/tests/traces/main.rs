//! Traces in all formats: samples, random records written and read again, and hostile files. The memory that
//! reading takes is measured in a process of its own (`memory.rs`).

mod hostile;
mod round_trip;
mod samples;
mod written;
