//! Laws of queue disciplines, each checked with random work in front of a simulated server, and each with a
//! planted scheduler that breaks it: laws of all disciplines (`every`), of shares (`shares`, `together`), of
//! claims (`claims`), and of rates and reservations (`rates`).

mod claims;
mod every;
mod rates;
mod server;
mod shares;
mod together;
