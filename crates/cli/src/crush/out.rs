//! Buffered stdout of a command; a reader that closes the pipe (`| head`) is not an error.

use std::fmt;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write as _};

use towtank::Trouble;

use crate::exit::Exit;

/// The output and its first error.
pub struct Out {
    stdout: BufWriter<StdoutLock<'static>>,
    error: Option<io::Error>,
}

impl Out {
    pub fn new() -> Out {
        Out { stdout: BufWriter::with_capacity(1 << 16, io::stdout().lock()), error: None }
    }

    /// Prints text.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), Trouble> {
        fmt::Write::write_str(self, text).map_err(Trouble::failed)
    }

    /// Flushes the output before messages go to stderr.
    pub(crate) fn flush(&mut self) -> Result<(), Trouble> {
        if let Err(error) = self.stdout.flush() {
            self.error = Some(error);
            return Err(Trouble::failed(fmt::Error));
        }
        Ok(())
    }

    /// Whether the reader has closed the pipe.
    pub(super) fn is_closed(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    }

    /// Writes the rest, and returns `exit`.
    pub fn finish(&mut self, exit: Exit) -> Result<Exit, Trouble> {
        let flushed = match self.error.take() {
            Some(error) => Err(error),
            None => self.stdout.flush(),
        };
        match flushed {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Trouble::failed(format!("cannot write to stdout: {error}")))
            }
            _ => Ok(exit),
        }
    }
}

impl fmt::Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.error.is_some() {
            return Err(fmt::Error);
        }
        self.stdout.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}
