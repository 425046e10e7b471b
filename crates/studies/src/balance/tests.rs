//! The study on the cluster of the guides.
