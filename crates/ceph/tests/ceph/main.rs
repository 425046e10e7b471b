//! Exports of real clusters, and the balance of clusters, worked out by hand or drawn.

mod balance;
mod exports;
