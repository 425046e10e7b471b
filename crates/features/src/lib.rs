//! No code: this crate fixes the features of dependencies that several crates share.
//!
//! Cargo compiles a dependency with the features that the crates being built ask for, and once more if others
//! are built that ask for other features. All crates depend on this one, so they ask for the same, and
//! building the tests of one crate after a build of all compiles that crate alone.
