//! The output of the example, and its quotation in the guide.

#[path = "../../examples/own.rs"]
mod example;

#[test]
fn short_requests_are_done_sooner_and_the_long_one_does_not_starve() {
    let want = "\
scheduler                 short        long
first come              42.0 ms       42 ms
shortest, patience 50   25.0 ms       93 ms
shortest, patience 9 s   3.0 ms      159 ms
";
    assert_eq!(example::answer(), want);
}

/// `docs/writing-a-scheduler.md` quotes the example; line breaks may differ.
#[test]
fn the_guide_quotes_what_is_written() {
    let example = include_str!("../../examples/own.rs");
    let guide = include_str!("../../../../docs/writing-a-scheduler.md");
    assert_eq!(not_quoted(guide, example), Vec::<&str>::new());
    // A planted change is found.
    let changed = guide.replace("overdue", "tardy");
    assert_eq!(not_quoted(&changed, example).len(), 1);
}

/// The pieces of Rust in a page that do not occur in a file, and an entry for a page without any.
fn not_quoted<'a>(page: &'a str, file: &str) -> Vec<&'a str> {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let file = squeeze(file);
    let pieces: Vec<&str> =
        page.split("```rs\n").skip(1).map(|rest| rest.split("```").next().unwrap_or(rest)).collect();
    if pieces.is_empty() {
        return vec!["no piece at all"];
    }
    pieces.into_iter().filter(|piece| !file.contains(&squeeze(piece))).collect()
}

/// The page shows what the example prints.
#[test]
fn the_guide_shows_what_is_printed() {
    let guide = include_str!("../../../../docs/writing-a-scheduler.md");
    assert!(guide.contains(&format!("```text\n{}```", example::answer())));
}
