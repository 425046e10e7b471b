//! Placement: which servers hold an object.
//!
//! [`crush`] is Ceph's algorithm, bit for bit: a map with its text and binary forms, rules, and the way from
//! an object's name to the devices that hold it.
//!
//! [`algorithms`] are rings, rendezvous hashing and the other algorithms, behind one trait.
//!
//! What is deliberately absent: time, sizes of data, and any I/O. A mapping is a pure function of the map and
//! the input.

pub mod algorithms;
pub mod crush;
