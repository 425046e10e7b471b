//! The whole store in one thread, under one seed: device cores, the monitor and clients of `towtank-store` on
//! a simulated network, on disks and on clocks, with faults and an operator.
//!
//! Everything that is drawn comes from the seed, so a run is repeated exactly. After the faults comes a calm
//! phase, within which everything must be clean, equal and answered; the answers of all clients are judged as
//! those of the schedules of `towtank-replication`.
//!
//! Not in it: sockets, threads, encryption, the embedded tree (`twin` takes its place) and file systems. A
//! gateway of S3 is in it where that is asked for, without HTTP.

mod disk;
mod faults;
pub mod planted;
pub mod seeds;
mod twin;
mod world;
