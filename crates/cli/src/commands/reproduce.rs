//! `towtank reproduce [NAME…]`: runs published set-ups and compares the results with the published ones.

use serde_json::json;
use towtank::{Listing, QUICK_SECONDS, Registry, Trouble, Wanted};
use towtank_report::text::wrap;
use towtank_report::{Cell, Column, Table, csv, human};

use super::print;
use crate::args::Reproduce;
use crate::exit::Exit;
use crate::output_flags::Format;
use crate::watching::Watching;
use crate::{interrupt, output, screen};

/// Runs them, and prints all claims together. A claim that misses is a result, not a failure.
pub fn reproduce(registry: &Registry, flags: &Reproduce) -> Result<Exit, Trouble> {
    let wanted = Wanted { names: &flags.names, quick: flags.quick, ..Wanted::default() };
    if flags.list {
        let listing = towtank::listing(registry, wanted)?;
        return print(&match flags.output.format {
            Format::Text => text(&listing, screen::stdout().width),
            Format::Json => format!("{:#}\n", json(&listing)),
            Format::Csv => csv::render(&table(&listing)),
        });
    }
    let out = flags.keep.out.as_deref();
    interrupt::keeps_in(out);
    let watching = Watching::new(flags.output.quiet);
    let all = towtank::reproduce(registry, wanted, &flags.machine.options(out), &watching)?;
    output::print(&all, &flags.output, out)?;
    if all.partial {
        screen::say("interrupted: what follows the last scenario was not run\n");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}

/// A text of a list, indented, in lines of this width; what follows the first stands further in.
fn indented(indent: usize, text: &str, width: usize) -> Vec<String> {
    let lines = wrap(text, width.saturating_sub(indent + 2));
    let more = |at: usize| if at == 0 { indent } else { indent + 2 };
    lines.iter().enumerate().map(|(at, line)| format!("{:1$}{line}", "", more(at))).collect()
}

/// The claims by paper, then the scenarios with what they take.
fn text(listing: &Listing, columns: usize) -> String {
    let mut lines = Vec::new();
    let (mut paper, mut part, mut source) = ("", "", "");
    for claim in &listing.claims {
        if claim.paper != paper {
            paper = &claim.paper;
            lines.extend(indented(0, paper, columns));
            lines.push(String::new());
            part = "";
        }
        if claim.part != part {
            part = &claim.part;
            source = "";
            lines.extend(indented(2, part, columns));
        }
        if claim.source != source {
            source = &claim.source;
            lines.extend(indented(4, &format!("{source}:"), columns));
        }
        lines.extend(indented(6, &format!("{}: {}", claim.name, claim.statement), columns));
        let last = listing.claims.iter().rfind(|other| other.paper == claim.paper);
        if last == Some(claim) {
            lines.push(String::new());
        }
    }
    let heading = format!("Scenarios, with processor time on one core ({}):", listing.machine);
    lines.extend(indented(0, &heading, columns));
    let width = listing.scenarios.iter().map(|one| one.scenario.len()).max().unwrap_or(0);
    for one in &listing.scenarios {
        let time = one.core_seconds.map_or_else(|| "not known".to_owned(), time_of);
        let before = format!("  {:width$}  {time:>9}  ", one.scenario);
        for (at, line) in
            wrap(&one.title, columns.saturating_sub(before.len()).max(TITLE_LEAST)).iter().enumerate()
        {
            let before = if at == 0 { before.clone() } else { " ".repeat(before.len()) };
            lines.push(before + line);
        }
    }
    let (claims, all) = (listing.claims.len(), time_of(listing.core_seconds()));
    lines.push(String::new());
    let sum = format!(
        "{claims} claims, {} scenarios, about {all} on one core. The replicates of a scenario share all cores.",
        listing.scenarios.len()
    );
    let quick = format!("`--quick` chooses scenarios that take {QUICK_SECONDS} s or less together.");
    lines.extend([sum, quick].iter().flat_map(|text| indented(0, text, columns)));
    lines.join("\n") + "\n"
}

/// A title is not made narrower than this.
const TITLE_LEAST: usize = 20;

/// Two digits are more than an estimate has.
fn time_of(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1.0 => "< 1 s".to_owned(),
        _ if seconds < 100.0 => format!("{seconds:.0} s"),
        _ => human::quantity((seconds / 6.0).round() * 6.0, "s"),
    }
}

fn json(listing: &Listing) -> serde_json::Value {
    let scenarios = listing.scenarios.iter().map(|one| {
        json!({
            "name": one.scenario,
            "title": one.title,
            "events": one.events,
            "core_seconds": one.core_seconds,
        })
    });
    let claims = listing.claims.iter().map(|claim| {
        json!({
            "paper": claim.paper,
            "part": claim.part,
            "name": claim.name,
            "source": claim.source,
            "statement": claim.statement,
        })
    });
    json!({
        "machine": listing.machine,
        "scenarios": scenarios.collect::<Vec<_>>(),
        "claims": claims.collect::<Vec<_>>(),
    })
}

/// A row for each claim, with what its scenario takes.
fn table(listing: &Listing) -> Table {
    let mut columns: Vec<Column> =
        ["paper", "part", "claim", "source", "statement", "scenario"].map(Column::text).into();
    columns.extend([Column::number("scenario_events", ""), Column::number("scenario_core", "s")]);
    let mut table = Table::new("claims", "Claims", columns);
    for claim in &listing.claims {
        let scenario = claim.name.split('/').next().unwrap_or_default();
        let of = listing.scenarios.iter().find(|one| one.scenario == scenario);
        let number = |value: Option<f64>| value.map_or_else(|| Cell::missing("it is not known"), Cell::from);
        let mut row: Vec<Cell> = [&claim.paper, &claim.part, &claim.name, &claim.source, &claim.statement]
            .map(|text| text.as_str().into())
            .into();
        row.push(scenario.into());
        row.push(number(of.and_then(|one| one.events).map(|events| events as f64)));
        row.push(number(of.and_then(|one| one.core_seconds)));
        table.push(row);
    }
    table
}
