//! What happened in recoveries of a real Ceph 16.2.15: one that was kept in all forms that are read
//! (`docs/examples/event`), and thirteen whose counts are kept as tables (`tests/events16`: a sample each
//! 0.7 s, in seconds from the command or the kill). Then what is odd about others.

mod recorded;
mod tables;
