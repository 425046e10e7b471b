//! Queue disciplines: who is served next, when several kinds of requests want one resource.
//!
//! A discipline ([`Discipline`]) is told what comes and asked who goes; how long anything takes is the business of whoever
//! serves. So the same code decides in a simulated disk and, later, in a real store. [`Fifo`] serves in the order of coming,
//! [`Fair`] in proportion to weights.
//!
//! ```
//! use towtank_iosched::{Discipline, Fair, FlowId, Request};
//! use towtank_units::SimTime;
//!
//! let now = SimTime::ZERO;
//! let mut fair = Fair::new(&[3, 1]);
//! for number in 0..4 {
//!     fair.arrive(now, Request::new(FlowId(0), 10, format!("a{number}")));
//!     fair.arrive(now, Request::new(FlowId(1), 10, format!("b{number}")));
//! }
//! let order: Vec<String> = std::iter::from_fn(|| fair.next(now)).map(|one| one.item).collect();
//! assert_eq!(order, ["a0", "b0", "a1", "a2", "a3", "b1", "b2", "b3"]);
//! ```
//!
//! What is deliberately absent: clocks, devices, randomness.

mod discipline;
mod fair;
mod fifo;

pub use discipline::{Audience, Discipline, FlowId, NoMessage, Request, SchedulerId};
pub use fair::Fair;
pub use fifo::Fifo;
