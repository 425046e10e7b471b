//! Placement: which servers hold an object.
//!
//! [`crush`] is Ceph's algorithm, bit for bit: maps in text and binary form, rules, and the path from an
//! object's name to the devices that hold it.
//!
//! [`algorithms`] contains rings, rendezvous hashing and the other algorithms, behind one trait.
//!
//! [`swift`] looks up partitions and handoffs in a ring of OpenStack Swift.
//!
//! Deliberately absent: time, sizes of data, and any I/O. A mapping is a pure function of the map and the
//! input.

pub mod algorithms;
pub mod crush;
pub mod swift;
