//! The rows of `tests/golden.csv`: a case, its parameters (JSON; disks of so many TB of 2^40 bytes, rates in
//! MB of 2^20 bytes, AFR as the probability of a year of 365.25 days, all disks good and new at the start of
//! one year, unless a row says otherwise), the value as printed at the source with one standard deviation
//! where it is simulated, and an independent computation of it with its own.

use serde_json::Value;

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    pub case: String,
    pub params: Value,
    pub quantity: String,
    /// As printed.
    pub text: String,
    pub value: f64,
    pub spread: Option<f64>,
    pub recomputed: Option<f64>,
    pub recomputed_se: Option<f64>,
}

impl Row {
    /// A parameter that is a number.
    pub fn number(&self, key: &str) -> f64 {
        self.params[key]
            .as_f64()
            .unwrap_or_else(|| panic!("{} has no number `{key}`: {}", self.case, self.params))
    }

    /// A parameter that is a count.
    pub fn count(&self, key: &str) -> usize {
        self.number(key) as usize
    }

    /// A parameter that is a text.
    pub fn text(&self, key: &str) -> &str {
        self.params[key].as_str().unwrap_or_else(|| panic!("{} has no text `{key}`", self.case))
    }

    /// Half a unit of the last digit that is printed.
    pub fn half_digit(&self) -> f64 {
        let (mantissa, exponent) = self.text.split_once('e').unwrap_or((&self.text, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len());
        let exponent: i32 = exponent.parse().expect("an exponent is a number");
        0.5 * 10f64.powi(exponent - decimals as i32)
    }

    /// Whether a computed value is the printed one: to its digits, or within the spread of rounding.
    pub fn is_met_by(&self, computed: f64) -> bool {
        (computed - self.value).abs() <= self.half_digit() * 1.001
    }
}

/// All rows of cases that begin so.
pub fn rows(prefix: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(include_str!("../golden.csv").as_bytes());
    let all = reader.records().map(|record| {
        let record = record.expect("the table is well formed");
        let number = |index: usize| record[index].parse::<f64>().ok();
        Row {
            case: record[0].to_owned(),
            params: serde_json::from_str(&record[1]).expect("parameters are JSON"),
            quantity: record[2].to_owned(),
            text: record[3].to_owned(),
            value: number(3).expect("every row has a value"),
            spread: number(4),
            recomputed: number(5),
            recomputed_se: number(6),
        }
    });
    let found: Vec<Row> = all.filter(|row| row.case.starts_with(prefix)).collect();
    assert!(!found.is_empty(), "no row begins with {prefix}");
    found
}

/// Fails with all rows that are not met.
pub fn all_met(rows: &[Row], computed: impl Fn(&Row) -> f64) {
    let missed: Vec<String> = rows
        .iter()
        .map(|row| (row, computed(row)))
        .filter(|(row, value)| !row.is_met_by(*value))
        .map(|(row, value)| {
            format!("{} {} {}: {value:.7e}, not {}", row.case, row.params, row.quantity, row.text)
        })
        .collect();
    assert!(missed.is_empty(), "{} of {} rows are missed:\n{}", missed.len(), rows.len(), missed.join("\n"));
}

#[test]
fn the_table_is_whole_and_a_wrong_value_is_missed() {
    assert_eq!(rows("").len(), 207);
    let row = &rows("Markov")[0];
    assert!(row.is_met_by(row.value) && !row.is_met_by(row.value * (1.0 + 1e-5)), "{}", row.text);
}
