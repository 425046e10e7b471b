//! One self-contained page: the bundle built from `web/`, with the report inside.
//!
//! The bundle is checked in and included, so cargo alone builds the program. The page makes no network
//! requests; its content-security policy forbids them.

use std::fmt::Write;

use crate::Report;

/// Built by `npm run build` in `web/`; `web/check-bundle.sh` checks that it equals the output of that build.
const PAGE: &str = include_str!("../assets/report.html");

/// Occurs once in the page, inside the script element that carries the data.
const DATA_PLACE: &str = "__TOWTANK_REPORT__";

/// Occurs once in the page, inside its title element.
const TITLE_PLACE: &str = "__TOWTANK_TITLE__";

/// The report as one HTML file.
#[must_use]
pub fn render(report: &Report) -> String {
    // Split, not replaced: the report's own text may contain anything, including the placeholders.
    let (head, rest) = PAGE.split_once(TITLE_PLACE).expect("the bundle has a place for the title");
    let (middle, tail) =
        rest.split_once(DATA_PLACE).expect("the bundle has a place for the data, after the title");
    [head, &escape_text(report.heading()), middle, &embed(&report.to_json()), tail].concat()
}

/// JSON that is safe in a script element: no text in it can end the element, open a comment or break a line
/// for a script parser. All these characters occur only inside JSON strings, where an escape is equivalent.
#[must_use]
pub fn embed(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 50);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string cannot fail");
            }
            _ => out.push(c),
        }
    }
    out
}

/// Escapes text for an element.
fn escape_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// The data as a browser's HTML parser reads it: the text up to the first end tag of the element.
    fn embedded(page: &str) -> &str {
        let (_, rest) = page.split_once("<script type=\"application/json\" id=\"report\">").unwrap();
        rest.split_once("</script").unwrap().0
    }

    #[test]
    fn the_page_carries_the_very_report() {
        let report = sample::rebuild();
        let page = render(&report);
        assert_eq!(Report::from_json(embedded(&page)).unwrap().to_json(), report.to_json());
    }

    #[test]
    fn no_text_in_a_report_breaks_out_of_its_element() {
        let title = "</script><!--<script>\u{2028}__TOWTANK_REPORT__ & \\u003c";
        let report = Report { title: title.to_owned(), ..Report::default() };
        let page = render(&report);
        assert_eq!(Report::from_json(embedded(&page)).unwrap(), report);
        assert!(!embedded(&page).contains(['<', '>', '&', '\u{2028}']));
        let plain = PAGE.matches("<script").count();
        assert_eq!(page.matches("<script").count(), plain, "the title added no element");
    }

    #[test]
    fn the_bundle_is_one_file_with_one_place_for_each_text() {
        assert_eq!(PAGE.matches(DATA_PLACE).count(), 1);
        assert_eq!(PAGE.matches(TITLE_PLACE).count(), 1);
        for outside in ["<link rel=\"stylesheet\"", "<script src", "import(", "//# sourceMappingURL"] {
            assert!(!PAGE.contains(outside), "the bundle asks for more with {outside}");
        }
        assert!(PAGE.len() < 400 * 1024, "the bundle has grown to {} bytes", PAGE.len());
    }
}
