//! Words that once stood for many different things in the code are rare: each use is named by what it is (a
//! message, a reply, a warning). Counted in the Rust files of `crates/`, in any case, in compound names and
//! in comments; the allowance is for sentences that users read.

use crate::tree::File;

/// A word, and how often all files together may have it.
const RARE: [(&str, usize); 1] = [("told", 50)];

pub fn faults(files: &[File]) -> Vec<String> {
    RARE.iter().filter_map(|(word, most)| fault(files, word, *most)).collect()
}

/// What is wrong with the number of times that the files have a word, with the files that have it most.
fn fault(files: &[File], word: &str, most: usize) -> Option<String> {
    let is_ours = |file: &&File| file.path.starts_with("crates/") && file.path.ends_with(".rs");
    let mut counts: Vec<(usize, &str)> =
        files.iter().filter(is_ours).map(|file| (count(&file.text, word), file.path.as_str())).collect();
    counts.retain(|(times, _)| *times > 0);
    counts.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(right.1)));
    let all: usize = counts.iter().map(|(times, _)| times).sum();
    let first: Vec<String> =
        counts.iter().take(5).map(|(times, path)| format!("{times} in {path}")).collect();
    (all > most)
        .then(|| format!("`{word}` occurs {all} times, but at most {most} are allowed: {}", first.join(", ")))
}

fn count(text: &str, word: &str) -> usize {
    text.to_lowercase().matches(word).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), bytes: 0, text: text.to_owned() }
    }

    #[test]
    fn planted_uses_of_a_word_are_found() {
        let text = "/// What was spoken.\nfn unspoken_of(spoken: Spoken) {}\n";
        assert_eq!(count(text, "spoken"), 4);
        let files = [file("crates/a/src/b.rs", text), file("crates/c/tests/d.rs", "// spoken\n")];
        let want = "`spoken` occurs 5 times, but at most 4 are allowed: 4 in crates/a/src/b.rs, 1 in crates/c/tests/d.rs";
        assert_eq!(fault(&files, "spoken", 4).as_deref(), Some(want));
        assert_eq!(fault(&files, "spoken", 5), None);
        let (word, most) = RARE[0];
        let planted = [file("crates/a/src/b.rs", &format!("let {word} = 1;\n").repeat(most + 1))];
        assert_eq!(faults(&planted).len(), 1);
    }

    #[test]
    fn documents_and_other_folders_do_not_count() {
        let files = [file("docs/a.md", "spoken"), file("fuzz/src/lib.rs", "spoken")];
        assert_eq!(fault(&files, "spoken", 0), None);
    }
}
