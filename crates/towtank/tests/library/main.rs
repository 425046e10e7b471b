//! The library as its callers use it: campaigns run here, elsewhere and in parts, a study from outside, and
//! the scenarios that are built in.

mod delegated;
mod first_failure;
mod interrupted;
mod street;
mod two_checkouts;
