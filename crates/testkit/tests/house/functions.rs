//! Functions have at most 70 lines from `fn` to their closing brace. Lines inside a string literal are not
//! counted, since an inline snapshot is as long as what it shows.

use crate::text::{Code, code_of};
use crate::tree::File;

const LINES_MAX: usize = 70;

/// Functions that may be longer, `file::name`, each with its reason.
const LONGER: &[(&str, &str)] = &[];

pub fn faults(file: &File) -> Vec<String> {
    if !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let code = code_of(&file.text);
    let long = lengths(&code).into_iter().filter(|function| function.lines > LINES_MAX);
    long.filter(|function| {
        let place = format!("{}::{}", file.path, function.name);
        !LONGER.iter().any(|(allowed, _)| *allowed == place)
    })
    .map(|function| {
        format!(
            "{}:{}: `{}` has {} lines, and at most {LINES_MAX} fit a screen: give a part of it a name",
            file.path, function.line, function.name, function.lines
        )
    })
    .collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

fn lengths(code: &Code) -> Vec<Function> {
    let text = &code.text;
    let line_of = |place: usize| text[..place].bytes().filter(|&byte| byte == b'\n').count();
    let mut functions = Vec::new();
    for (start, _) in text.match_indices("fn ") {
        let stands_alone = !text[..start].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let rest = text[start + 3..].trim_start();
        let name: String =
            rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        if !stands_alone || name.is_empty() {
            continue;
        }
        let Some(end) = end_of_body(text, start) else { continue };
        let (first, last) = (line_of(start), line_of(end));
        let counted = code.begins_in_string[first..=last].iter().filter(|&&inside| !inside).count();
        functions.push(Function { name, line: first + 1, lines: counted });
    }
    functions
}

/// The line of the closing brace of the function at `start`; `None` for a declaration without a body.
fn end_of_body(text: &str, start: usize) -> Option<usize> {
    let mut brackets = 0_i32;
    let mut braces = 0_i32;
    for (offset, byte) in text[start..].bytes().enumerate() {
        match byte {
            b'(' | b'[' if braces == 0 => brackets += 1,
            b')' | b']' if braces == 0 => brackets -= 1,
            b';' if braces == 0 && brackets == 0 => return None,
            // A brace inside brackets belongs to a type, as in `[u8; { N }]`.
            b'{' if brackets == 0 => braces += 1,
            b'}' if brackets == 0 => {
                braces -= 1;
                if braces == 0 {
                    return Some(start + offset);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, want: &[(&str, usize, usize)]) {
        let found = lengths(&code_of(source));
        let found: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.line, it.lines)).collect();
        assert_eq!(found, want, "{source}");
    }

    #[test]
    fn functions_are_measured() {
        check("fn one() {}", &[("one", 1, 1)]);
        check("fn f(\n  a: u8,\n) -> [u8; { 2 }] {\n  \"}\"\n}\n", &[("f", 1, 5)]);
        check("trait T {\n fn a(&self);\n fn b(&self) {\n }\n}", &[("b", 3, 2)]);
        check("type F = fn (u8) -> u8;\nfn g() { let h: fn(u8); { } }", &[("g", 2, 1)]);
        check("fn outer() {\n fn inner() {\n }\n}", &[("outer", 1, 4), ("inner", 2, 2)]);
        check("// fn no() {}\nlet s = \"fn no() {}\";", &[]);
    }

    #[test]
    fn a_snapshot_does_not_count() {
        check("fn t() {\n  show(r\"\n a\n b\n c\n\");\n}", &[("t", 1, 3)]);
    }

    #[test]
    fn a_planted_long_function_is_found() {
        let long = |lines: usize| File {
            path: "crates/kernel/src/lib.rs".to_owned(),
            bytes: 0,
            text: format!("fn run() {{\n{}}}\n", "    step();\n".repeat(lines - 2)),
        };
        assert_eq!(faults(&long(LINES_MAX)), Vec::<String>::new());
        assert_eq!(
            faults(&long(LINES_MAX + 1)),
            [
                "crates/kernel/src/lib.rs:1: `run` has 71 lines, and at most 70 fit a screen: give a part of it a name"
            ]
        );
    }
}
