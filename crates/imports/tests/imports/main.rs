//! Files of other systems as they are read: real ones, whose contents are known, and hostile ones. They lie
//! beside this folder. The memory that reading takes is measured in a process of its own (`memory.rs`).

mod benchmarks;
mod exports;
mod hostile;
mod past;
mod rings;
