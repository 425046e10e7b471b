//! The parsers: each takes a line or piece and returns a record, or none if the line is not a request.

mod blkparse;
mod cos;
mod dxt;
mod fio;
mod oracle;
mod pfssim;
mod volumes;

use crate::error::Fault;
use crate::format::Format;
use crate::names::Names;
use crate::options::Options;
use crate::record::Record;

pub(crate) use dxt::is_darshan;
pub(crate) use fio::heads;
pub(crate) use oracle::{RECORD_BYTES, fits as fits_oracle};

/// The result of parsing a line.
pub(crate) type Parsed = Result<Option<Record>, Box<Fault>>;

/// Bytes of a block or sector in Linux and SPC.
const SECTOR_BYTES: u64 = 512;

/// The parser of a format, with its state between lines.
pub(crate) enum Parser {
    Pfssim,
    PfssimV013,
    Msr(Box<volumes::Msr>),
    Alibaba,
    Tencent,
    Systor17,
    Spc,
    IbmCos,
    Fio(fio::Log),
    Blkparse(blkparse::Events),
    Dxt(dxt::Text),
    OracleGeneral,
}

impl Parser {
    pub(crate) fn new(format: Format, options: &Options) -> Parser {
        match format {
            Format::Pfssim => Parser::Pfssim,
            Format::PfssimV013 => Parser::PfssimV013,
            Format::Msr => Parser::Msr(Box::default()),
            Format::Alibaba => Parser::Alibaba,
            Format::Tencent => Parser::Tencent,
            Format::Systor17 => Parser::Systor17,
            Format::Spc => Parser::Spc,
            Format::IbmCos => Parser::IbmCos,
            Format::FioV2 => Parser::Fio(fio::Log::new(fio::Version::V2)),
            Format::FioV3 => Parser::Fio(fio::Log::new(fio::Version::V3)),
            Format::Blkparse => Parser::Blkparse(blkparse::Events::new(options.stage)),
            Format::Dxt => Parser::Dxt(dxt::Text::new(options.layer)),
            Format::OracleGeneral => Parser::OracleGeneral,
        }
    }

    /// Parses a line, or a piece of a binary trace. `first`: it is the first one.
    #[inline]
    pub(crate) fn parse(&mut self, line: &[u8], first: bool, names: &mut Names) -> Parsed {
        if let Parser::OracleGeneral = self {
            return Ok(Some(oracle::parse(line)));
        }
        let line = if first { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if line.trim_ascii_start().is_empty() {
            return Ok(None);
        }
        match self {
            Parser::Pfssim => pfssim::parse(line),
            Parser::PfssimV013 => pfssim::parse_v013(line),
            Parser::Msr(msr) => msr.parse(line, first, names),
            Parser::Alibaba => volumes::alibaba(line, first),
            Parser::Tencent => volumes::tencent(line, first),
            Parser::Systor17 => volumes::systor17(line, first),
            Parser::Spc => volumes::spc(line),
            Parser::IbmCos => cos::parse(line),
            Parser::Fio(log) => log.parse(line, names),
            Parser::Blkparse(events) => events.parse(line),
            Parser::Dxt(text) => text.parse(line, names),
            Parser::OracleGeneral => Ok(Some(oracle::parse(line))),
        }
    }

    /// Checks whether a trace may end here.
    pub(crate) fn end(&self) -> Result<(), Box<Fault>> {
        match self {
            Parser::Fio(log) => log.end(),
            _ => Ok(()),
        }
    }
}
