//! Links between the documents of this checkout. A relative link must point to an existing file or folder;
//! links to other sites are not checked, since the test must pass without a network.

use std::path::Path;

use crate::tree::File;

pub fn faults(file: &File, root: &Path) -> Vec<String> {
    if !file.path.ends_with(".md") {
        return Vec::new();
    }
    let folder = root.join(&file.path).parent().map(Path::to_path_buf).unwrap_or_default();
    let lost = targets(&file.text).into_iter().filter(|(_, target)| !folder.join(target).exists());
    lost.map(|(line, target)| format!("{}:{line}: no `{target}` beside this file", file.path)).collect()
}

/// The relative targets of `[words](target)` outside code blocks, with their lines.
fn targets(markdown: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in markdown.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let rest = &line[at + 2..];
            let Some(end) = rest.find([')', ' ']) else { continue };
            let target = rest[..end].split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains(':') {
                found.push((index + 1, target.to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_are_found_and_others_left() {
        let text =
            "[a](docs/a.md) [b](https://example.org/b) [c](#here)\n```\n[d](d.md)\n```\n[e](e.md#part)\n";
        assert_eq!(targets(text), [(1, "docs/a.md".to_owned()), (5, "e.md".to_owned())]);
    }

    #[test]
    fn a_planted_link_to_nowhere_is_found() {
        let root = crate::tree::root();
        let page = |target: &str| File {
            path: "crates/planted.md".to_owned(),
            bytes: 0,
            text: format!("[here]({target})\n"),
        };
        assert_eq!(faults(&page("testkit/Cargo.toml"), &root), Vec::<String>::new());
        assert_eq!(
            faults(&page("nowhere.md"), &root),
            ["crates/planted.md:1: no `nowhere.md` beside this file"]
        );
    }
}
