//! A file that a flag names, and that is replaced as a whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

use towtank::Trouble;
use towtank_campaign::{Inputs, Writer};
use towtank_scenario::Problem;

/// Replaces a file atomically, unless it is one of the inputs. Pipes, terminals and other files that are not
/// regular are written to directly.
///
/// # Errors
/// If the path is a directory's or an input's, or the system reports an error.
pub fn put(path: &Path, bytes: &[u8], inputs: Inputs) -> Result<(), Trouble> {
    let failed = |error: io::Error| {
        Trouble::failed(format!(
            "cannot write `{}`: {error}; correct the cause, then run the command again",
            path.display()
        ))
    };
    match fs::metadata(path) {
        Ok(known) if known.is_dir() => {
            let problem = Problem::new(format!("`{}` is a directory", path.display()));
            Err(problem.hint("name a file to write").into())
        }
        Ok(known) if !known.is_file() => {
            let mut file = fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
            io::Write::write_all(&mut file, bytes).map_err(failed)
        }
        known => {
            // A symbolic link is kept: its target is replaced.
            let target =
                if known.is_ok() { fs::canonicalize(path).map_err(failed)? } else { path.to_owned() };
            let replaced = Writer::new(inputs).replace(&target, bytes);
            replaced.map_err(Trouble::failed)?;
            if let Ok(known) = known {
                fs::set_permissions(&target, known.permissions()).map_err(failed)?;
            }
            Ok(())
        }
    }
}
