//! Real clusters.
