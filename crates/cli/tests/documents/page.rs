//! A page whose commands are run, in a folder that looks like a clone.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::console;

/// The pages that take seconds, the longest first, as measured one by one: these start first, so that the
/// threads end at about the same time. `docs/store.md` waits for most of its time.
const LONG: [&str; 8] = [
    "docs/store.md",
    "README.md",
    "docs/questions.md",
    "docs/other-systems.md",
    "docs/rebuild.md",
    "docs/pfs.md",
    "docs/whatif.md",
    "docs/queue.md",
];

#[derive(Clone)]
pub struct Page {
    /// Its path from the root, such as `docs/crush.md`.
    pub name: String,
    pub text: String,
}

/// The README and all pages of `docs/` that show a terminal, in the order in which they start.
pub fn all() -> Vec<Page> {
    let root = root();
    let docs = fs::read_dir(root.join("docs")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect();
    pages.push(root.join("README.md"));
    let read = |path: PathBuf| Page {
        name: path.strip_prefix(&root).unwrap_or(&path).display().to_string(),
        text: fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    };
    let mut pages: Vec<Page> = pages.into_iter().map(read).filter(Page::has_terminal).collect();
    let place = |page: &Page| LONG.iter().position(|long| *long == page.name).unwrap_or(LONG.len());
    pages.sort_by_key(|page| (place(page), page.name.clone()));
    pages
}

/// Fails where no page shows anything to run, as after a change of the fence.
pub fn some_command_is_shown(pages: &[Page]) -> Result<(), String> {
    let fault = "no page shows a command: is the fence still called `console`?";
    let shown = pages.iter().any(|page| console::blocks(&page.text).iter().any(|block| !block.is_empty()));
    if shown { Ok(()) } else { Err(fault.to_owned()) }
}

/// Fails where a page has another name, or no commands any more, and would start in no order.
pub fn long_pages_start_first(pages: &[Page]) -> Result<(), String> {
    let first: Vec<&str> = pages.iter().take(LONG.len()).map(|page| page.name.as_str()).collect();
    if first == LONG { Ok(()) } else { Err(format!("not {LONG:?}, but {first:?} start first")) }
}

impl Page {
    /// Whether a fence opens a terminal. What stands in it is read by the test of the page, which may fail.
    fn has_terminal(&self) -> bool {
        let after_ticks =
            |line: &str| Some(line.trim_start().strip_prefix("```")?.trim_start_matches('`').to_owned());
        self.text.lines().filter_map(after_ticks).any(|kind| kind.starts_with("console"))
    }

    /// Runs its commands in order, and tells which do other than the page says.
    pub fn check(&self) -> Result<(), String> {
        let binary = Path::new(env!("CARGO_BIN_EXE_towtank"));
        let folder = self.folder_like_a_clone(binary);
        let blocks = console::blocks(&self.text);
        let found: Vec<String> =
            blocks.iter().flat_map(|block| console::faults(block, &folder, binary)).collect();
        let lines = || found.iter().map(|fault| format!("{} {fault}", self.name)).collect::<Vec<_>>();
        if found.is_empty() {
            return Ok(());
        }
        Err(format!("{} of its commands do other than the page says:\n{}", found.len(), lines().join("\n\n")))
    }

    /// An empty folder that looks like a clone to the commands of the page, which write their files here.
    fn folder_like_a_clone(&self, binary: &Path) -> PathBuf {
        let root = root();
        let name = Path::new(&self.name).file_stem().expect("a page has a name");
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
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("this crate lies two folders below the root")
}
