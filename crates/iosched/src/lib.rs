//! Queue disciplines: who is served next, when several kinds of requests want one resource.
//!
//! A discipline is told what comes and asked who goes; how long anything takes is the business of whoever serves. So the
//! same code decides in a simulated disk and, later, in a real store.

mod fair;

pub use fair::Fair;
