//! A code: copies, or data and parity shards.

use towtank_scenario::{Draft, Problem};

use crate::durability::keys::SystemKeys;

/// So many members, of which `data` are needed to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    pub data: usize,
    pub width: usize,
}

/// The most shards of a code. A choice: as many as a field of 256 elements has.
const WIDTH_MAX: usize = 256;

impl Code {
    /// The code of a scenario.
    ///
    /// # Errors
    /// If it is none, or given twice.
    pub fn of(keys: &SystemKeys, draft: &Draft) -> Result<Code, Problem> {
        match (&keys.ec, keys.replicas) {
            (Some(_), Some(_)) => {
                let message = "`replicas` and `ec` both set the redundancy";
                Err(draft.problem("replicas", message).hint("leave one of them out"))
            }
            (Some(text), None) => Code::parse(text).map_err(|why| {
                draft.problem("ec", why).hint("write `8+3` for 8 data shards and 3 parity shards")
            }),
            (None, copies) => Ok(Code { data: 1, width: copies.unwrap_or(3) as usize }),
        }
    }

    /// Reads `8+3`.
    pub fn parse(text: &str) -> Result<Code, String> {
        let shards = text.split_once('+').and_then(|(data, parity)| {
            Some((data.trim().parse::<usize>().ok()?, parity.trim().parse::<usize>().ok()?))
        });
        match shards {
            Some((data, parity)) if data > 0 && data.saturating_add(parity) <= WIDTH_MAX => {
                Ok(Code { data, width: data + parity })
            }
            Some(_) => Err(format!("`{text}` is no code: 1 to {WIDTH_MAX} shards, with data among them")),
            None => Err(format!("`{text}` is no code")),
        }
    }

    /// Lost members that it survives.
    pub fn tolerance(self) -> usize {
        self.width - self.data
    }

    /// Raw bytes for each byte of data.
    pub(super) fn overhead(self) -> f64 {
        self.width as f64 / self.data as f64
    }

    /// In words.
    pub fn name(self) -> String {
        match self.data {
            1 if self.width == 1 => "1 copy".to_owned(),
            1 => format!("{} copies", self.width),
            data => format!("{data}+{}", self.tolerance()),
        }
    }
}
