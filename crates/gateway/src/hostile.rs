//! What fuzz targets call: each function takes any bytes, gives them to the code that serves requests, and
//! checks what must hold whatever they are.
//!
//! - [`request()`]: an address and headers, unsigned, signed, and signed and then changed; and the operation
//!   that they ask for, on a small store in memory.
//! - [`connection()`]: the bytes of an unsigned connection, through HTTP.
//! - [`body()`]: a body in chunks, unsigned, signed, and signed and then changed.
//! - [`document()`]: the XML of a request.
//! - [`stored()`]: a manifest, attributes and the record of a part, as the store holds them.
//!
//! Bytes of the input that choose something are taken modulo the number of choices, so that every input means
//! something. The functions that check are apart from those that drive, so that tests can give them a value
//! that is wrong.

mod body;
mod connection;
mod document;
mod request;
mod stored;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

pub use body::body;
pub use connection::connection;
pub use document::document;
pub use request::request;
pub use stored::stored;

use crate::credentials::Credentials;
use crate::dates::Moment;
use crate::fault::{Code, Fault};

/// The time at which all requests arrive.
const NOW: Moment = Moment(1_800_000_000_000);

fn now() -> Moment {
    NOW
}

/// Credentials with which an input cannot be signed: an input that holds a signature with them was made to.
fn keys() -> Credentials {
    Credentials { access_key: "TWTKHOSTILE".to_owned(), secret_key: "no input knows this".to_owned() }
}

/// What was accepted reads back as it was written.
fn reads_back<T: PartialEq + Debug>(accepted: &T, again: Option<&T>) {
    assert_eq!(again, Some(accepted), "a value changes when it is written and read");
}

/// What nobody has signed is refused, and with a code of the caller's faults.
fn is_refused<T: Debug>(found: &Result<T, Fault>, what: &str) {
    let Err(fault) = found else { panic!("{what} is accepted: {found:?}") };
    says_why(fault);
    assert_ne!(fault.code, Code::InternalError, "{what}: {fault}");
}

fn says_why(fault: &Fault) {
    assert!(!fault.message.is_empty(), "refused without a word: {fault:?}");
}
