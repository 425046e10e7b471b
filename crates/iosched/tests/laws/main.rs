//! Laws of queue disciplines, each held by random work before a simulated server, and each with a planted
//! scheduler that breaks it: what all keep (`every`), what flows share (`shares`, `together`), and what is
//! promised a second (`rates`).

mod every;
mod rates;
mod server;
mod shares;
mod together;
