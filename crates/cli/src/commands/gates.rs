//! Gates of a command: read before anything runs, judged when the report is there.

use towtank_report::Report;
use towtank_scenario::Problems;
use towtank_scenario::gate::{Gate, Known};
use towtank_studies::Study;

use crate::exit::Exit;
use crate::screen;

/// The gates of `--fail-if`, for the measures of a study.
pub fn read(study: &dyn Study, texts: &[String]) -> (Vec<Gate>, Problems) {
    let known: Vec<Known<'_>> =
        study.measures().iter().map(|measure| Known { name: measure.name, unit: measure.unit }).collect();
    parse(&known, texts)
}

/// The gates of `--fail-if`, for these measures.
pub fn parse(known: &[Known<'_>], texts: &[String]) -> (Vec<Gate>, Problems) {
    let (mut gates, mut problems) = (Vec::new(), Problems::new());
    for text in texts {
        match Gate::parse("--fail-if", text, known) {
            Ok(gate) => gates.push(gate),
            Err(found) => problems.extend(found),
        }
    }
    (gates, problems)
}

/// Judges a whole report, and says which gates are not met and why.
pub fn judge(gates: &[Gate], report: &Report) -> Exit {
    let mut exit = Exit::Done;
    for gate in gates {
        let reasons = towtank_campaign::unmet(gate, report);
        if !reasons.is_empty() {
            exit = Exit::GateNotMet;
            screen::say(&format!("gate not met: {}\n", gate.text()));
            for reason in reasons {
                screen::say(&format!("  {reason}\n"));
            }
        }
    }
    exit
}
