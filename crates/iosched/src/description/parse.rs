//! Parses the text of a description.

use std::fmt::Display;
use std::str::FromStr;

use towtank_units::{Bytes, Rate, SimSpan};

use super::error::nearest;
use super::{Description, DescriptionError, Kind};
use crate::bfq::BfqSpec;
use crate::dsfq::Report;
use crate::i2l::I2lSpec;
use crate::mclock::AtLimit;
use crate::rounds::{Batch, Supported};
use crate::sfqrc::SfqrcSpec;
use crate::{Parent, drr, ssfq};

/// The words after a name that have not been read yet.
struct Words<'a> {
    text: &'a str,
    usage: &'static str,
    plain: std::collections::VecDeque<&'a str>,
    named: Vec<(&'a str, &'a str)>,
}

pub(super) fn description(text: &str) -> Result<Description, DescriptionError> {
    let mut parts = text.trim().split(':');
    let written = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let alias = match written.as_str() {
        "dmclock" => "mclock",
        "wf2q" => "wf2q+",
        "crr" => "crr-n",
        other => other,
    };
    let known = Description::USAGES.iter().find(|(name, _)| *name == alias);
    let Some(&(name, usage)) = known else {
        return Err(DescriptionError::Name { nearest: nearest(&written), name: written });
    };
    let (named, plain): (Vec<&str>, Vec<&str>) = parts.map(str::trim).partition(|part| part.contains('='));
    let named = named.into_iter().filter_map(|part| part.split_once('=')).collect();
    let mut words = Words { text, usage, plain: plain.into(), named };
    let depth = words.depth()?;
    let kind = kind(name, &mut words)?;
    if matches!(kind, Kind::I2l(_)) && depth.is_some() {
        return Err(words.wrong("i2l chooses its depth itself"));
    }
    words.end()?;
    Ok(Description { depth, kind })
}

fn kind(name: &str, words: &mut Words<'_>) -> Result<Kind, DescriptionError> {
    Ok(match name {
        "sfq" => Kind::Sfq,
        "ssfq" => Kind::Ssfq(words.amount("piece", ssfq::PIECE_COST)?),
        "wfq" => Kind::Wfq,
        "wf2q+" => Kind::Wf2q,
        "drr" => Kind::Drr(words.amount("quantum", drr::QUANTUM)?),
        "wrr" => Kind::Wrr,
        "priority" => Kind::Priority,
        "dsfq-a" => Kind::Dsfq(Report::Arrivals),
        "dsfq-d" => Kind::Dsfq(Report::Dispatches),
        "dsfq-f" => Kind::Dsfq(Report::Completions),
        "dsfq-atb" => Kind::Dsfq(Report::ArrivalsEvery(words.period()?)),
        "dsfq-alb" => Kind::Dsfq(Report::ArrivalsOf(words.load()?)),
        "edf" => Kind::Edf,
        "i2l" => Kind::I2l(I2lSpec {
            sarc: words.span("sarc", I2lSpec::default().sarc)?,
            avatar: words.span("avatar", I2lSpec::default().avatar)?,
        }),
        "sfqrc" => sfqrc(words)?,
        "dta" => Kind::Dta(words.count("lag", LAG_PERCENT)?),
        "mclock" => Kind::Mclock {
            at_limit: words.choice("at-limit", &[("wait", AtLimit::Wait), ("allow", AtLimit::Allow)])?,
            idle_after: words.find("idle-after").map(|word| words.read("idle-after", word)).transpose()?,
        },
        "crr-n" => rounds(Batch::Client, words)?,
        "orr" => rounds(Batch::Object, words)?,
        "trr" => rounds(Batch::Target, words)?,
        "tbf" => Kind::Tbf { tokens: words.amount("depth", TOKENS)?, realtime: words.flag("realtime") },
        "bfq" => bfq(words)?,
        "token-bucket" => Kind::TokenBucket,
        "htb" => Kind::BucketTree(parent(words)?),
        _ => Kind::Fifo,
    })
}

/// Lustre's depth of the bucket of a class.
pub(super) const TOKENS: u64 = 3;
/// A free choice: the last quarter of a record's jobs goes first.
pub(super) const LAG_PERCENT: u32 = 25;

fn sfqrc(words: &mut Words<'_>) -> Result<Kind, DescriptionError> {
    let usual = SfqrcSpec::default();
    Ok(Kind::Sfqrc(SfqrcSpec {
        read: words.option("read", usual.read)?,
        write: words.option("write", usual.write)?,
        seek: words.option("seek", usual.seek)?,
        step: words.option("step", usual.step)?,
    }))
}

fn rounds(batch: Batch, words: &mut Words<'_>) -> Result<Kind, DescriptionError> {
    let quantum = words.count("quantum", batch.quantum())?;
    if quantum == 0 {
        return Err(words.wrong("a quantum of 0 serves no request"));
    }
    let choices = [("reads", Supported::Reads), ("writes", Supported::Writes), ("both", Supported::Both)];
    let supported = if batch == Batch::Client { Supported::Both } else { words.choice("for", &choices)? };
    Ok(Kind::Rounds { batch, quantum, supported })
}

fn bfq(words: &mut Words<'_>) -> Result<Kind, DescriptionError> {
    let usual = BfqSpec::default();
    let spec = BfqSpec {
        budget_min: words.amount("min", usual.budget_min)?,
        budget_max: words.amount("max", usual.budget_max)?,
        idle: words.option("idle", usual.idle)?,
        timeout: words.span("timeout", usual.timeout)?,
    };
    if spec.budget_min > spec.budget_max {
        return Err(words.wrong("`min` is greater than `max`"));
    }
    Ok(Kind::Bfq(spec))
}

fn parent(words: &mut Words<'_>) -> Result<Parent, DescriptionError> {
    let Some(rate) = words.find("rate") else { return Err(words.wrong("a rate is missing")) };
    let rate = match rate.parse::<u64>() {
        Ok(rate) if rate > 0 => rate,
        _ => words.read::<Rate>("rate", rate)?.bytes_per_second(),
    };
    let burst = words.find("burst").map(|burst| words.units("burst", burst)).transpose()?.unwrap_or(0);
    Ok(Parent { rate, burst, lends: words.flag("lend") })
}

impl<'a> Words<'a> {
    fn wrong(&self, what: impl Into<String>) -> DescriptionError {
        DescriptionError::Word { text: self.text.to_owned(), what: what.into(), usage: self.usage }
    }

    /// The first plain word, if it is a depth.
    fn depth(&mut self) -> Result<Option<u32>, DescriptionError> {
        let Some(&word) = self.plain.front() else { return Ok(None) };
        let boundless =
            word == "none" || word.strip_prefix('-').is_some_and(|rest| rest.parse::<u32>().is_ok());
        let depth = match word.parse::<u32>() {
            Ok(0) => return Err(self.wrong("a depth of 0 serves no request")),
            Ok(depth) => Some(depth),
            Err(_) if boundless => None,
            Err(_) if word.starts_with(|first: char| first.is_ascii_digit()) => {
                return Err(self.wrong(format!("`{word}` is not a depth")));
            }
            // Not a depth: a flag that is read later, or a word that is not understood.
            Err(_) => return Ok(None),
        };
        self.plain.pop_front();
        Ok(depth)
    }

    fn period(&mut self) -> Result<SimSpan, DescriptionError> {
        let Some(word) = self.plain.pop_front() else { return Err(self.wrong("the period is missing")) };
        let period: SimSpan = self.read("the period", word)?;
        if period.is_zero() { Err(self.wrong("the period is zero")) } else { Ok(period) }
    }

    fn load(&mut self) -> Result<u64, DescriptionError> {
        let Some(word) = self.plain.pop_front() else { return Err(self.wrong("the load is missing")) };
        self.units("the load", word)
    }

    fn find(&mut self, key: &str) -> Option<&'a str> {
        let at = self.named.iter().position(|(known, _)| *known == key)?;
        Some(self.named.remove(at).1)
    }

    fn flag(&mut self, name: &str) -> bool {
        let at = self.plain.iter().position(|word| *word == name);
        at.and_then(|at| self.plain.remove(at)).is_some()
    }

    fn read<V: FromStr<Err: Display>>(&self, key: &str, word: &str) -> Result<V, DescriptionError> {
        word.parse().map_err(|error: V::Err| self.wrong(format!("{key}: {error}")))
    }

    fn option<V: FromStr<Err: Display>>(&mut self, key: &str, usual: V) -> Result<V, DescriptionError> {
        self.find(key).map_or(Ok(usual), |word| self.read(key, word))
    }

    /// A span greater than zero.
    fn span(&mut self, key: &str, usual: SimSpan) -> Result<SimSpan, DescriptionError> {
        let span = self.option(key, usual)?;
        if span.is_zero() { Err(self.wrong(format!("`{key}` is zero"))) } else { Ok(span) }
    }

    fn count(&mut self, key: &str, usual: u32) -> Result<u32, DescriptionError> {
        self.option(key, usual)
    }

    /// Units of cost, which are bytes to most schedulers: `65536`, `64KiB`.
    fn units(&self, key: &str, word: &str) -> Result<u64, DescriptionError> {
        let units = match word.parse::<u64>() {
            Ok(units) => units,
            Err(_) => self.read::<Bytes>(key, word)?.get(),
        };
        if units == 0 { Err(self.wrong(format!("{key} is zero"))) } else { Ok(units) }
    }

    fn amount(&mut self, key: &str, usual: u64) -> Result<u64, DescriptionError> {
        self.find(key).map_or(Ok(usual), |word| self.units(key, word))
    }

    /// One of several words; the first if none is given.
    fn choice<V: Copy>(&mut self, key: &str, choices: &[(&str, V)]) -> Result<V, DescriptionError> {
        let Some(word) = self.find(key) else { return Ok(choices[0].1) };
        let chosen = choices.iter().find(|(known, _)| *known == word);
        chosen.map(|chosen| chosen.1).ok_or_else(|| self.wrong(format!("`{word}` is not a value of `{key}`")))
    }

    /// Refuses words that have not been read.
    fn end(self) -> Result<(), DescriptionError> {
        let left = self.plain.front().copied().or(self.named.first().map(|named| named.0));
        left.map_or(Ok(()), |word| Err(self.wrong(format!("`{word}` is unknown"))))
    }
}
