//! The files of this checkout as git sees them: tracked files, and those that would be tracked if added.
//! Without git (an unpacked archive) sources cannot be distinguished from build outputs, so that is an error.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One file of the checkout, its path written from the root with `/`.
pub struct File {
    pub path: String,
    pub bytes: u64,
    /// Empty where the file is not text.
    pub text: String,
}

pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("this crate lies two folders below the root")
}

/// Tracked files, and new ones that git does not ignore, so that a fault is found before it is committed.
pub fn all(root: &Path) -> Vec<File> {
    listed(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
}

pub fn tracked(root: &Path) -> Vec<File> {
    listed(root, &["ls-files", "-z", "--cached"])
}

fn listed(root: &Path, arguments: &[&str]) -> Vec<File> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().expect("git runs");
    assert!(output.status.success(), "git cannot list {}: is it a clone?", root.display());
    let names = String::from_utf8(output.stdout).expect("our file names are UTF-8");
    let mut files: Vec<File> = names.split_terminator('\0').filter_map(|name| read(root, name)).collect();
    files.sort_by(|left, right| left.path.cmp(&right.path));
    files.dedup_by(|left, right| left.path == right.path);
    files
}

/// `None` for a file that git lists but that is missing, or that is a link or a submodule.
fn read(root: &Path, name: &str) -> Option<File> {
    let path = root.join(name);
    let meta = path.symlink_metadata().ok()?;
    if !meta.is_file() {
        return None;
    }
    let text = String::from_utf8(std::fs::read(&path).ok()?).unwrap_or_default();
    Some(File { path: name.to_owned(), bytes: meta.len(), text })
}
