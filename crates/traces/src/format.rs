//! The formats: their names and the properties of their times.

use std::fmt;
use std::str::FromStr;

/// A format of traces. `docs/traces.md` has the columns and units of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// PFSsim: `time file offset size read app sync`.
    Pfssim,
    /// PFSsim 0.13: the same without the file.
    PfssimV013,
    /// MSR Cambridge, CSV.
    Msr,
    /// Alibaba block traces of 2020, CSV.
    Alibaba,
    /// Tencent CBS, CSV.
    Tencent,
    /// SYSTOR '17, CSV with a heading.
    Systor17,
    /// SPC trace format 1.0.1: Financial and WebSearch of UMass.
    Spc,
    /// IBM Cloud Object Storage.
    IbmCos,
    /// fio's I/O log, version 2: waits instead of times.
    FioV2,
    /// fio's I/O log, version 3, with times.
    FioV3,
    /// The default output of blkparse.
    Blkparse,
    /// The output of darshan-dxt-parser.
    Dxt,
    /// libCacheSim's oracleGeneral: 24 bytes per record.
    OracleGeneral,
}

/// The zero of a format's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A fixed point in the past: 1601, 1970 or the start of the machine.
    Wall,
    /// The start of the trace.
    Trace,
    /// The previous record.
    Record,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 13] = [
        Format::Pfssim,
        Format::PfssimV013,
        Format::Msr,
        Format::Alibaba,
        Format::Tencent,
        Format::Systor17,
        Format::Spc,
        Format::IbmCos,
        Format::FioV2,
        Format::FioV3,
        Format::Blkparse,
        Format::Dxt,
        Format::OracleGeneral,
    ];

    /// The name used by users.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Pfssim => "pfssim",
            Format::PfssimV013 => "pfssim-v0.13",
            Format::Msr => "msr",
            Format::Alibaba => "alibaba",
            Format::Tencent => "tencent",
            Format::Systor17 => "systor17",
            Format::Spc => "spc",
            Format::IbmCos => "ibm-cos",
            Format::FioV2 => "fio-v2",
            Format::FioV3 => "fio-v3",
            Format::Blkparse => "blkparse",
            Format::Dxt => "dxt",
            Format::OracleGeneral => "oracle-general",
        }
    }

    /// The zero of its times. PFSsim has instants or think times on each line.
    #[must_use]
    pub const fn clock(self) -> Clock {
        match self {
            Format::Msr | Format::Alibaba | Format::Tencent | Format::Systor17 | Format::OracleGeneral => {
                Clock::Wall
            }
            Format::FioV2 => Clock::Record,
            _ => Clock::Trace,
        }
    }

    /// Whether a record may be earlier than the previous one in the file. Block traces are merged from
    /// several volumes or processors, and Darshan's records are ordered by file and rank; the other formats
    /// are logs written as time passes. A flow of PFSsim whose instant has passed continues at once, so an
    /// earlier instant is meaningful there.
    #[must_use]
    pub const fn may_go_back(self) -> bool {
        !matches!(self, Format::Spc | Format::IbmCos | Format::FioV3 | Format::OracleGeneral)
    }

    /// Whether its traces are text.
    #[must_use]
    pub const fn is_text(self) -> bool {
        !matches!(self, Format::OracleGeneral)
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        let names: Vec<String> = Format::ALL.iter().map(|format| format!("`{format}`")).collect();
        names.join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not that of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a trace format: the formats are {}", Format::names())]
pub struct UnknownFormat {
    /// The name.
    pub name: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_read_back_and_no_other() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "msrc".parse::<Format>().unwrap_err().to_string();
        assert!(error.starts_with("`msrc` is not a trace format: the formats are `pfssim`, "), "{error}");
        assert!(Format::ALL.iter().all(|format| error.contains(&format!("`{format}`"))), "{error}");
    }
}
