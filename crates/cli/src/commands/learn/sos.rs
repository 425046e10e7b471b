//! What `sos report` keeps of Ceph, in a directory that was unpacked: the outputs of commands, and the
//! cluster log. Logs of daemons are left where they are: they are large, and say nothing of the whole.

use std::path::{Path, PathBuf};

/// The directory of an unpacked `sos report`: this one, or the only one in it that is.
pub(super) fn root(path: &Path) -> Option<PathBuf> {
    let is_root = |path: &Path| path.join("sos_commands").is_dir();
    if is_root(path) {
        return Some(path.to_owned());
    }
    let mut roots =
        std::fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).filter(|path| is_root(path));
    let first = roots.next()?;
    roots.next().is_none().then_some(first)
}

/// Its files of Ceph, by name.
pub(super) fn files(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let named = |path: &Path, begin: &str| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(begin))
    };
    let mut files = Vec::new();
    for commands in paths(&root.join("sos_commands"))? {
        if !commands.is_dir() || !named(&commands, "ceph") {
            continue;
        }
        for path in paths(&commands)? {
            // `json_output` and `text_output` of newer ones.
            let inner = if path.is_dir() { paths(&path)? } else { vec![path] };
            files.extend(inner.into_iter().filter(|path| path.is_file()));
        }
    }
    let logs = root.join("var/log/ceph");
    let logs = if logs.is_dir() { paths(&logs)? } else { Vec::new() };
    files.extend(logs.into_iter().filter(|path| path.is_file() && named(path, "ceph.log")));
    files.sort();
    Ok(files)
}

fn paths(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}
