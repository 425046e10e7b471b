//! Prints a description as text that parses to the same description.

use towtank_units::Bytes;

use super::parse::{LAG_PERCENT, TOKENS};
use super::{Description, Kind};
use crate::bfq::BfqSpec;
use crate::dsfq::Report;
use crate::i2l::I2lSpec;
use crate::mclock::AtLimit;
use crate::rounds::{Batch, Supported};
use crate::sfqrc::SfqrcSpec;
use crate::{Parent, drr, ssfq};

pub(super) fn text(description: &Description) -> String {
    let name = name(&description.kind);
    // A positional word after the depth needs a word in the depth's position.
    let needs_place =
        matches!(description.kind, Kind::Dsfq(Report::ArrivalsEvery(_)) | Kind::Dsfq(Report::ArrivalsOf(_)));
    let depth = match description.depth {
        Some(depth) => format!(":{depth}"),
        None if needs_place => ":none".to_owned(),
        None => String::new(),
    };
    format!("{name}{depth}{}", rest(&description.kind))
}

fn name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Fifo => "fifo",
        Kind::Sfq => "sfq",
        Kind::Ssfq(_) => "ssfq",
        Kind::Wfq => "wfq",
        Kind::Wf2q => "wf2q+",
        Kind::Drr(_) => "drr",
        Kind::Wrr => "wrr",
        Kind::Priority => "priority",
        Kind::Dsfq(Report::Arrivals) => "dsfq-a",
        Kind::Dsfq(Report::Dispatches) => "dsfq-d",
        Kind::Dsfq(Report::Completions) => "dsfq-f",
        Kind::Dsfq(Report::ArrivalsEvery(_)) => "dsfq-atb",
        Kind::Dsfq(Report::ArrivalsOf(_)) => "dsfq-alb",
        Kind::Edf => "edf",
        Kind::I2l(_) => "i2l",
        Kind::Sfqrc(_) => "sfqrc",
        Kind::Dta(_) => "dta",
        Kind::Mclock { .. } => "mclock",
        Kind::Rounds { batch: Batch::Client, .. } => "crr-n",
        Kind::Rounds { batch: Batch::Object, .. } => "orr",
        Kind::Rounds { batch: Batch::Target, .. } => "trr",
        Kind::Tbf { .. } => "tbf",
        Kind::Bfq(_) => "bfq",
        Kind::TokenBucket => "token-bucket",
        Kind::BucketTree(_) => "htb",
    }
}

/// `:key=value`, or nothing for the default.
fn unless<V: PartialEq + std::fmt::Display>(key: &str, value: V, usual: V) -> String {
    if value == usual { String::new() } else { format!(":{key}={value}") }
}

fn units(key: &str, value: u64, usual: u64) -> String {
    unless(key, Bytes::new(value), Bytes::new(usual))
}

fn rest(kind: &Kind) -> String {
    match *kind {
        Kind::Ssfq(piece) => units("piece", piece, ssfq::PIECE_COST),
        Kind::Drr(quantum) => units("quantum", quantum, drr::QUANTUM),
        Kind::Dsfq(Report::ArrivalsEvery(period)) => format!(":{period}"),
        Kind::Dsfq(Report::ArrivalsOf(load)) => format!(":{}", Bytes::new(load)),
        Kind::I2l(I2lSpec { sarc, avatar }) => {
            let usual = I2lSpec::default();
            unless("sarc", sarc, usual.sarc) + &unless("avatar", avatar, usual.avatar)
        }
        Kind::Sfqrc(spec) => sfqrc(spec),
        Kind::Dta(lag) => unless("lag", lag, LAG_PERCENT),
        Kind::Mclock { at_limit, idle_after } => {
            let allow = if at_limit == AtLimit::Allow { ":at-limit=allow" } else { "" };
            allow.to_owned() + &idle_after.map_or_else(String::new, |span| format!(":idle-after={span}"))
        }
        Kind::Rounds { batch, quantum, supported } => {
            let what = match supported {
                _ if batch == Batch::Client => "",
                Supported::Reads => "",
                Supported::Writes => ":for=writes",
                Supported::Both => ":for=both",
            };
            unless("quantum", quantum, batch.quantum()) + what
        }
        Kind::Tbf { tokens, realtime } => {
            unless("depth", tokens, TOKENS) + if realtime { ":realtime" } else { "" }
        }
        Kind::Bfq(spec) => bfq(spec),
        Kind::BucketTree(parent) => bucket_tree(parent),
        _ => String::new(),
    }
}

fn sfqrc(spec: SfqrcSpec) -> String {
    let usual = SfqrcSpec::default();
    [
        unless("read", spec.read, usual.read),
        unless("write", spec.write, usual.write),
        unless("seek", spec.seek, usual.seek),
        unless("step", spec.step, usual.step),
    ]
    .concat()
}

fn bfq(spec: BfqSpec) -> String {
    let usual = BfqSpec::default();
    [
        units("min", spec.budget_min, usual.budget_min),
        units("max", spec.budget_max, usual.budget_max),
        unless("idle", spec.idle, usual.idle),
        unless("timeout", spec.timeout, usual.timeout),
    ]
    .concat()
}

fn bucket_tree(parent: Parent) -> String {
    let lend = if parent.lends { ":lend" } else { "" };
    format!(":rate={}{}{lend}", parent.rate, units("burst", parent.burst, 0))
}
