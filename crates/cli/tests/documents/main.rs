//! Runs every command that `README.md` and `docs/` show on a terminal, and compares its output with the page.
//! Each page runs in its own folder with the scenarios, as in a clone, with `towtank` on the path and at
//! `target/release/towtank`.

mod console;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("this crate lies two folders below the root")
}

/// The pages whose commands are run: the README, and all of `docs/`.
fn pages(root: &Path) -> Vec<PathBuf> {
    let docs = fs::read_dir(root.join("docs")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect();
    pages.push(root.join("README.md"));
    pages.sort();
    pages
}

/// An empty folder that looks like a clone to the commands of a page, so that they write their files here.
fn folder_like_a_clone(root: &Path, page: &Path, binary: &Path) -> PathBuf {
    let name = page.file_stem().expect("a page has a name");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("a folder of an earlier run can be removed");
    }
    fs::create_dir_all(folder.join("target/release")).expect("the folder for this page can be made");
    symlink(binary, folder.join("target/release/towtank")).expect("the binary can be linked");
    for shared in ["scenarios", "docs"] {
        symlink(root.join(shared), folder.join(shared)).expect("a folder of the clone can be linked");
    }
    folder
}

#[test]
fn commands_in_the_documents_do_what_the_pages_say() {
    let root = root();
    let binary = Path::new(env!("CARGO_BIN_EXE_towtank"));
    let mut faults = Vec::new();
    let mut commands = 0;
    for page in pages(&root) {
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        let folder = folder_like_a_clone(&root, &page, binary);
        let name = page.strip_prefix(&root).unwrap_or(&page).display().to_string();
        for block in console::blocks(&text) {
            commands += block.len();
            let found = console::faults(&block, &folder, binary);
            faults.extend(found.into_iter().map(|fault| format!("{name} {fault}")));
        }
    }
    assert!(
        faults.is_empty(),
        "{} commands do other than their page says:\n{}",
        faults.len(),
        faults.join("\n\n")
    );
    assert!(commands > 0, "no page shows a command: is the fence still called `console`?");
}
