//! Prints an invented report as a page, as JSON, as text or as one screen: `cargo run -p towtank-report
//! --features sample --example sample_report -- rebuild html > report.html`.

use towtank_report::{Report, html, sample, text};

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "rebuild".to_owned());
    let form = args.next().unwrap_or_else(|| "text".to_owned());
    let report: Report = match name.as_str() {
        "rebuild" => sample::rebuild(),
        "rebuild64" => sample::rebuild_of(64),
        "queue" => sample::queue(),
        other => panic!("no sample is called `{other}`; there are rebuild, rebuild64 and queue"),
    };
    match form.as_str() {
        "html" => print!("{}", html::render(&report)),
        "json" => print!("{}", report.to_json()),
        "text" => print!("{}", text::render(&report, text::Style::default())),
        "screen" => print!("{}", text::brief(&report, text::Style::default(), text::Rest::OF_COMMAND)),
        other => panic!("no form is called `{other}`; there are html, json, text and screen"),
    }
}
