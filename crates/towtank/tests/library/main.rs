//! The library as its callers use it: campaigns run here, elsewhere and in parts, a study from outside, and
//! the scenarios that are built in.

mod all_studies;
mod cluster;
mod delegated;
mod equal_points;
mod first_failure;
mod interrupted;
mod street;
mod two_checkouts;
