//! Selects the servers with the least scores, in order, without heap memory: one pass over the candidates
//! keeps the best few on the stack; longer lists take more passes, each starting where the previous one
//! ended.

use super::cluster::ServerId;

/// The number of scores that one pass keeps.
const KEPT: usize = 16;

/// A candidate's score. Ties are broken by the lower server id.
pub(super) type Scored<D> = (D, ServerId);

fn is_before<D: PartialOrd>(left: &Scored<D>, right: &Scored<D>) -> bool {
    left.0 < right.0 || (left.0 == right.0 && left.1 < right.1)
}

/// Fills `places` with the servers of least score and returns their number. `score` is called for each
/// candidate with the worst score that is still kept; it may return `None` for a candidate that is down or
/// certainly worse.
pub(super) fn fill_least<D: Copy + PartialOrd + Default>(
    places: &mut [ServerId],
    candidates: usize,
    mut score: impl FnMut(usize, Option<D>) -> Option<Scored<D>>,
) -> usize {
    let mut best = [(D::default(), ServerId::NONE); KEPT];
    let mut filled = 0;
    let mut last = None;
    while filled < places.len() {
        let wanted = KEPT.min(places.len() - filled);
        let found = pass(&mut best[..wanted], last, candidates, &mut score);
        for (place, (_, server)) in places[filled..].iter_mut().zip(&best[..found]) {
            *place = *server;
        }
        filled += found;
        if found < wanted {
            break;
        }
        last = Some(best[found - 1]);
    }
    filled
}

/// Collects the best scores after `after`, in order; returns their number.
#[inline]
fn pass<D: Copy + PartialOrd>(
    best: &mut [Scored<D>],
    after: Option<Scored<D>>,
    candidates: usize,
    score: &mut impl FnMut(usize, Option<D>) -> Option<Scored<D>>,
) -> usize {
    let mut count = 0;
    let mut worst = None;
    for candidate in 0..candidates {
        let Some(own) = score(candidate, worst) else { continue };
        if after.is_some_and(|after| !is_before(&after, &own)) {
            continue;
        }
        let at = best[..count].partition_point(|other| is_before(other, &own));
        if at == best.len() {
            continue;
        }
        count = (count + 1).min(best.len());
        best[at..count].rotate_right(1);
        best[at] = own;
        if count == best.len() {
            worst = Some(best[count - 1].0);
        }
    }
    count
}
