//! Replays the inputs kept from fuzzing on the stable compiler, so that a fixed failure stays fixed. The
//! targets are those that `make fuzz` runs. A small binary of its own: `make web` builds the command with it.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

#[test]
fn every_kept_input_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut failed = Vec::new();
    for (name, target) in targets::TARGETS {
        let mut inputs: Vec<_> = fs::read_dir(corpus.join(name))
            .unwrap_or_else(|error| panic!("fuzz/corpus/{name}: {error}"))
            .map(|entry| entry.expect("the corpus can be listed").path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "fuzz/corpus/{name} is empty");
        for input in inputs {
            let data = fs::read(&input).expect("an input can be read");
            if catch_unwind(|| target(&data)).is_err() {
                failed.push(input.strip_prefix(&corpus).unwrap_or(&input).display().to_string());
            }
        }
    }
    assert!(failed.is_empty(), "{} inputs fail, their panics above: {}", failed.len(), failed.join(", "));
}
