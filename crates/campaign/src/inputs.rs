//! The files that a campaign reads, so that its output never overwrites one of them.

use std::fs;
use std::path::{Path, PathBuf};

/// The scenario file and every file that it names.
#[derive(Clone, Debug, Default)]
pub struct Inputs(Vec<Input>);

#[derive(Clone, Debug)]
struct Input {
    shown: PathBuf,
    real: PathBuf,
    identity: Option<Identity>,
}

/// Device and inode: equal for two names of one file (hard links).
type Identity = (u64, u64);

impl Inputs {
    /// Records these files. One that does not exist cannot be overwritten and is left out.
    #[must_use]
    pub fn new<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let note = |path: P| {
            let path = path.as_ref();
            let real = fs::canonicalize(path).ok()?;
            Some(Input { shown: path.to_owned(), real, identity: identity(path) })
        };
        Self(paths.into_iter().filter_map(note).collect())
    }

    /// The input that writing to `target` would overwrite: directly, through a link, or by another of its
    /// names.
    #[must_use]
    pub fn at(&self, target: &Path) -> Option<&Path> {
        if self.0.is_empty() {
            return None;
        }
        let real = fs::canonicalize(target).ok()?;
        let own = identity(target);
        let same = |input: &&Input| input.real == real || (own.is_some() && input.identity == own);
        self.0.iter().find(same).map(|input| input.shown.as_path())
    }

    /// The paths of the files, links resolved.
    pub fn real_paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|input| input.real.as_path())
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<Identity> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn an_input_is_known_by_all_its_names() {
        let dir = Scratch::new();
        let input = dir.file("map.json", "{}");
        let other = dir.file("other.json", "{}");
        fs::create_dir(dir.path().join("sub")).unwrap();
        let inputs = Inputs::new([&input, &dir.path().join("absent.json")]);
        assert_eq!(inputs.at(&input), Some(input.as_path()));
        assert_eq!(inputs.at(&dir.path().join("sub/../map.json")), Some(input.as_path()));
        assert_eq!(inputs.at(&other), None);
        assert_eq!(inputs.at(&dir.path().join("absent.json")), None);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&input, dir.path().join("soft")).unwrap();
            fs::hard_link(&input, dir.path().join("hard")).unwrap();
            assert_eq!(inputs.at(&dir.path().join("soft")), Some(input.as_path()));
            assert_eq!(inputs.at(&dir.path().join("hard")), Some(input.as_path()));
        }
    }
}
