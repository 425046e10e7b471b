//! The laws that every queue discipline keeps, and the example of a discipline of one's own.

mod laws;
mod own;
