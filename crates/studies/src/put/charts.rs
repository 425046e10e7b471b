//! Figures 2 and 6 of the paper as tables of messages, for the page of all claims.

use towtank_negotiation::charts::{Line, figure_2, figure_6};
use towtank_report::{Cell, Column, Table};
use towtank_units::SimTime;

fn us(at: SimTime) -> f64 {
    at.as_ns() as f64 / 1e3
}

/// The columns that both have.
fn columns() -> Vec<Column> {
    vec![Column::number("time", "us"), Column::text("from"), Column::text("to"), Column::text("message")]
}

fn cells(line: &Line) -> Vec<Cell> {
    let [from, to] = line.ends().map(|end| Cell::from(end.to_string()));
    vec![Cell::from(us(line.at)), from, to, Cell::from(line.said())]
}

/// Figure 2: reservations of a server, one of which is cancelled.
#[must_use]
pub fn reservations() -> Table {
    let mut all = columns();
    all.extend(["window_begins", "window_ends"].map(|name| Column::number(name, "us")));
    let about = "A server X as it hears initiators A, B and C, after a promise to D; chunks of 128 KiB, disks of 400 MiB/s. B's bid \
                 comes after all that A was offered. A uses less of it and B cancels, so C gets the time right after A.";
    let mut table = Table::new("figure-2", "Figure 2: reservations of a server", all).about(about);
    for line in figure_2() {
        let ends = line.window().map(|window| [us(window.left), us(window.right)]);
        let mut row = cells(&line);
        row.extend([0, 1].map(|at| Cell::from(ends.map(|ends| ends[at]))));
        table.push(row);
    }
    table
}

/// Figure 6: two flows that share the link of a server.
#[must_use]
pub fn shared_link() -> Table {
    let mut all = columns();
    all.push(Column::number("rate", "Gbit/s"));
    let about = "UCH-CCP: B starts to send to the server X to which A is sending. The paper prints 4.45 Gbit/s; half of 9.9 is 4.95. \
                 It acknowledges A before B's rate rises; here the rate rises when A's data are in, and the acknowledgement follows \
                 when they are on the disk.";
    let mut table = Table::new("figure-6", "Figure 6: two flows to one server", all).about(about);
    for line in figure_6() {
        let rate = line.rate().map(|rate| rate.bits_per_second() as f64 / 1e9);
        let mut row = cells(&line);
        row.push(Cell::from(rate));
        table.push(row);
    }
    table
}
