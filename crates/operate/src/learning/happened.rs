//! What `whatif` is to run again, from what became of devices.

use std::collections::BTreeMap;

use towtank_imports::past::Is;
use towtank_past::{Change, Event, Span};

/// What happened, in the words of `whatif`, and when.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Happened {
    /// The changes, with their times after the first one.
    pub changes: Vec<String>,
    /// When the first one was made, and by how much that may be off, in seconds: a standard deviation. None
    /// if it is not known.
    pub at: Option<(i64, f64)>,
}

/// Changes that are closer together than this are one: daemons and monitors take seconds for each.
const TOGETHER_US: i64 = 1_500_000;

/// What happened.
///
/// # Errors
/// Why what became of devices does not say it: a sentence without a full stop.
pub(super) fn happened(event: &Event) -> Result<Happened, String> {
    let mut of: BTreeMap<i32, Vec<&Change>> = BTreeMap::new();
    event.changes.iter().for_each(|change| of.entry(change.device).or_default().push(change));
    let mut acts: Vec<(Span, String)> = Vec::new();
    let mut why_not = None;
    for (device, changes) in &of {
        match act(*device, changes) {
            Ok(act) => acts.extend(act),
            Err(why) => why_not = Some(why),
        }
    }
    if let Some(why) = why_not {
        return Err(why);
    }
    acts.sort_by_key(|(when, words)| (when.by_us, words.clone()));
    let Some((first, _)) = acts.first() else {
        return Err("no file says which device was marked out or in".to_owned());
    };
    let middle = |Span { after_us, by_us }: Span| by_us - after_us.map_or(0, |after| (by_us - after) / 2);
    let from_us = middle(*first);
    let wide = first.after_us.map_or(0.0, |after| (first.by_us - after) as f64 / 1e6);
    let words = |(when, words): &(Span, String)| {
        let later_us = middle(*when) - from_us;
        if later_us < TOGETHER_US { words.clone() } else { format!("{words}@{}ms", later_us / 1_000) }
    };
    let changes = acts.iter().map(words).collect();
    let at = first.after_us.map(|_| (from_us, wide / 12.0_f64.sqrt()));
    Ok(Happened { changes, at })
}

/// What was done to a device, if anything moves for it.
fn act(device: i32, changes: &[&Change]) -> Result<Option<(Span, String)>, String> {
    let first = |is: Is| changes.iter().find(|change| change.is == is).map(|change| change.when);
    let after =
        |when: Span, is: Is| changes.iter().any(|change| change.is == is && change.when.by_us > when.by_us);
    match (first(Is::Down), first(Is::Out), first(Is::In)) {
        (_, Some(out), _) if after(out, Is::In) || (first(Is::Down).is_some() && after(out, Is::Up)) => {
            Err(format!("osd.{device} was marked out and came back: what was copied by then is not known"))
        }
        (Some(_), Some(out), _) => Ok(Some((out, format!("fail osd.{device}")))),
        (None, Some(out), _) => Ok(Some((out, format!("mark-out osd.{device}")))),
        (_, None, Some(within)) => Ok(Some((within, format!("reweight osd.{device}=1")))),
        (Some(down), None, None) if after(down, Is::Up) => Err(format!(
            "osd.{device} came back with its data: what clients wrote meanwhile is not in these files"
        )),
        (Some(_), None, None) => {
            Err(format!("osd.{device} was down and not marked out, so that nothing was rebuilt for it"))
        }
        (None, None, None) => Ok(None),
    }
}
