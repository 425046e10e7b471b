//! Parallel file systems: whole runs against closed forms and a published one, gates, caches of clients,
//! recorded requests, and laws over generated inputs.

mod client_caches;
mod cluster;
mod gates;
mod laws;
mod paper;
mod replays;
mod runs;
