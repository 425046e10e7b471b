//! Terminal blocks of a document: parsed, and compared with actual output.
//!
//! A block fenced as `console` holds commands after `$ `, continued after `> `, each followed by its output,
//! stdout and stderr together as on a terminal. `...` alone on a line stands for any lines, and within a line
//! for any text. A command without output must only succeed; one that fails must show a line that begins with
//! `error:`, or be followed by `$ echo $?`, so that no page shows a failure unintentionally.

use std::path::Path;
use std::process::{Command, Stdio};

/// The lines of a block, without the `console` fences.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// Line in the document, from 1.
    pub line: usize,
    pub command: String,
    pub shown: Vec<String>,
}

/// The commands of each `console` block, in order.
pub fn blocks(markdown: &str) -> Vec<Vec<Step>> {
    let mut blocks: Vec<Vec<Step>> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut is_console = false;
    for (index, line) in markdown.lines().enumerate() {
        let opening = line.trim_start();
        match fence {
            None if opening.starts_with("```") => {
                let ticks = opening.len() - opening.trim_start_matches('`').len();
                fence = Some(&opening[..ticks]);
                is_console = opening[ticks..].split_whitespace().next() == Some("console");
                if is_console {
                    blocks.push(Vec::new());
                }
            }
            Some(ticks) if opening.trim_end() == ticks => fence = None,
            Some(_) if is_console => {
                let block = blocks.last_mut().expect("a console fence opened a block");
                add_line(block, index + 1, line);
            }
            _ => {}
        }
    }
    blocks
}

fn add_line(block: &mut Vec<Step>, line: usize, text: &str) {
    if let Some(command) = text.strip_prefix("$ ") {
        block.push(Step { line, command: command.to_owned(), shown: Vec::new() });
        return;
    }
    let step = block.last_mut().unwrap_or_else(|| panic!("line {line}: a console block starts with `$ `"));
    match text.strip_prefix("> ") {
        Some(more) if step.shown.is_empty() => {
            step.command.push('\n');
            step.command.push_str(more);
        }
        _ => step.shown.push(text.trim_end().to_owned()),
    }
}

/// The output of a command, both streams in order, and its exit code.
pub struct Ran {
    pub text: String,
    pub code: i32,
}

/// Runs one command through the shell in `folder`; `before` is the value of `$?`.
pub fn run(command: &str, before: i32, folder: &Path, binary: &Path) -> Ran {
    let binaries = binary.parent().expect("a binary lies in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .arg("-c")
        .arg(format!("exec 2>&1\n(exit {before})\n{command}\n"))
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", binaries.display()))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    Ran {
        text: String::from_utf8_lossy(&output.stdout).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// Runs a block and returns its difference from the shown output, if any.
pub fn faults(block: &[Step], folder: &Path, binary: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let mut code = 0;
    for (index, step) in block.iter().enumerate() {
        let ran = run(&step.command, code, folder, binary);
        let shows_error = step.shown.iter().any(|line| line.starts_with("error:"));
        let shows_code = block.get(index + 1).is_some_and(|next| next.command == "echo $?");
        if ran.code != 0 && !shows_error && !shows_code {
            faults.push(format!("line {}: `{}` exits {}:\n{}", step.line, step.command, ran.code, ran.text));
        } else if !step.shown.is_empty() && !matches(&step.shown, &ran.text) {
            let shown = step.shown.join("\n");
            faults.push(format!(
                "line {}: `{}` shows\n{shown}\nbut writes\n{}",
                step.line, step.command, ran.text
            ));
        }
        code = ran.code;
    }
    faults
}

/// Whether the shown lines match the written ones, line by line, ignoring trailing blanks.
pub fn matches(shown: &[String], written: &str) -> bool {
    let written: Vec<&str> = written.trim_end().lines().map(str::trim_end).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let end = shown.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    match_lines(&shown[..end], &written)
}

fn match_lines(shown: &[&str], written: &[&str]) -> bool {
    match shown {
        [] => written.is_empty(),
        [wild, rest @ ..] if wild.trim() == "..." => {
            (0..=written.len()).any(|skipped| match_lines(rest, &written[skipped..]))
        }
        [first, rest @ ..] => {
            written.first().is_some_and(|line| match_line(first, line)) && match_lines(rest, &written[1..])
        }
    }
}

/// `...` within a line stands for any text; the pieces between must occur in order, those at the ends at the
/// ends.
fn match_line(shown: &str, written: &str) -> bool {
    let Some((first, rest)) = shown.split_once("...") else { return shown == written };
    let Some(mut left) = written.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split("...").collect();
    let last = pieces.pop().expect("split gives at least one piece");
    for piece in pieces {
        let Some(at) = left.find(piece) else { return false };
        left = &left[at + piece.len()..];
    }
    left.ends_with(last)
}
