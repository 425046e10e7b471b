//! Result files that are given twice: a copy of a run is no repetition, and would hide the spread of runs.
//!
//! Two runs never write the same file: it has times, and counts of operations to the last one.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use crate::envelope::{FILE_MAX_BYTES, unpack};
use crate::{File, ImportError};

/// The result files given so far.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Names, with length and hash of the uncompressed content.
    files: Vec<(String, (usize, u64))>,
}

impl Given {
    /// Takes one more file.
    ///
    /// # Errors
    /// If a file with this content was taken before, or it cannot be decompressed.
    pub fn take(&mut self, file: File<'_>) -> Result<(), ImportError> {
        let bytes = unpack(file, FILE_MAX_BYTES)?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let content = (bytes.len(), hasher.finish());
        let Some((before, _)) = self.files.iter().find(|(_, other)| *other == content) else {
            self.files.push((file.name.to_owned(), content));
            return Ok(());
        };
        let reason = if before == file.name {
            "the file is given twice, but its runs count once".to_owned()
        } else {
            format!("it has the same content as `{before}`, so it holds the same runs and no repetition")
        };
        Err(ImportError::new(file.name, reason)
            .hint("name each result once; lines for several runs with equal rates belong into one CSV"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_same_content_is_taken_once_under_any_name() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"a run").expect("it is packed");
        let packed = packer.finish().expect("it is packed");
        let mut given = Given::default();
        let mut take = |name, bytes| given.take(File { name, bytes }).map_err(|error| error.to_string());
        assert_eq!(take("a.json", b"a run"), Ok(()));
        assert_eq!(take("b.json", b"a pun"), Ok(()));
        assert_eq!(
            take("a.json", b"a run"),
            Err("`a.json`: the file is given twice, but its runs count once".to_owned())
        );
        let copy = "it has the same content as `a.json`, so it holds the same runs and no repetition";
        assert_eq!(take("c.json", b"a run"), Err(format!("`c.json`: {copy}")));
        assert_eq!(take("c.json.gz", &packed), Err(format!("`c.json.gz`: {copy}")));
    }
}
