//! The tables that `--output-csv` writes, one file each.

use super::expected::{Expectation, usual};
use crate::crush::map::ItemId;
use std::fmt::Write;

/// A table as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The file name: the rule's name and the kind of table.
    pub name: String,
    /// Header and rows.
    pub text: String,
}

/// The data for the tables of one trial.
pub(super) struct Contents<'a> {
    pub replicas: i32,
    pub weights: &'a [u32],
    pub stored: Vec<i32>,
    pub expectation: Expectation,
    pub placements: String,
}

/// Appends one row of the table of mappings.
pub(super) fn placement(rows: &mut String, x: i32, devices: &[ItemId]) {
    let devices: String = devices.iter().map(|device| format!(",{device}")).collect();
    writeln!(rows, "{x}{devices}").expect("a string takes everything");
}

impl Contents<'_> {
    /// The tables of the rule with the name `rule`.
    pub fn tables(self, rule: &str) -> Vec<Table> {
        let utilization = "Device ID, Number of Objects Stored, Number of Objects Expected\n";
        let share = "Device ID, Proportional Weight\n";
        let columns: String = (0..self.replicas).map(|replica| format!(", OSD{replica}")).collect();
        let shares = &self.expectation.shares;
        let table = |what: &str, header: &str, rows: String| Table {
            name: format!("{rule}-{what}.csv"),
            text: format!("{header}{rows}"),
        };
        let loaded = |device: usize| self.expectation.of(device) > 0.0 && self.stored[device] > 0;
        vec![
            table("device_utilization_all", utilization, self.rows(|_| true, |device| self.load(device))),
            table("device_utilization", utilization, self.rows(loaded, |device| self.load(device))),
            table("placement_information", &format!("Input{columns}\n"), self.placements.clone()),
            table("proportional_weights_all", share, self.rows(|_| true, |device| usual(shares[device]))),
            table(
                "proportional_weights",
                share,
                self.rows(|device| shares[device] > 0.0, |device| usual(shares[device])),
            ),
            table(
                "absolute_weights",
                "Device ID, Absolute Weight\n",
                self.rows(|_| true, |device| usual(self.weights[device] as f32 / 65_536.0)),
            ),
        ]
    }

    fn load(&self, device: usize) -> String {
        format!("{},{}", usual(self.stored[device] as f32), usual(self.expectation.of(device)))
    }

    fn rows(&self, which: impl Fn(usize) -> bool, cell: impl Fn(usize) -> String) -> String {
        let devices = (0..self.stored.len()).filter(|&device| which(device));
        devices.map(|device| format!("{device},{}\n", cell(device))).collect()
    }
}
