//! What a sweep is about, in one or two sentences: its throughput, and of all measures that matter the one
//! that differs most.
//!
//! A measure differs if its best and its worst point are distinguished by paired intervals
//! ([`towtank_study::ranking`]). Throughput always has a sentence. Of the others the one follows whose
//! difference, as a share of its larger end, is the greatest, if that is more than the difference of
//! throughput. It was chosen among all of them, so each is judged at 5 % over their number (Bonferroni).
//! What is not distinguished has values, but no names.

use towtank_metrics::{Better, Chance, significant_order};
use towtank_report::human;

use super::view::View;
use towtank_study::ranking::{Ranked, by_replicate};

/// A measure by which points are compared.
struct Compared {
    /// Its name in a sentence.
    title: String,
    unit: &'static str,
    ranked: Ranked,
    /// The values of the points with the best and the worst mean, by replicate.
    ends: [Vec<Option<f64>>; 2],
    /// The best mean and the worst.
    means: [f64; 2],
}

/// What a measure that is compared is called in a report and in a sentence.
struct Name<'n> {
    measure: &'n str,
    unit: &'static str,
    title: String,
    better: Better,
}

/// Which measures matter, apart from throughput: of all applications, and of each.
const WHOLE: [(&str, &str, &str, Better); 3] = [
    ("jain_index", "fraction", "Jain's index", Better::Higher),
    ("latency_p99_s", "s", "the 99th percentile of latency", Better::Lower),
    ("latency_mean_s", "s", "the mean latency", Better::Lower),
];

impl Compared {
    fn of(views: &[View<'_>], Name { measure, unit, title, better }: Name<'_>) -> Option<Compared> {
        let samples: Vec<Vec<Option<f64>>> =
            views.iter().map(|view| by_replicate(view.point.result, measure)).collect();
        let labels = views.iter().map(View::said);
        let ranked = Ranked::of(labels.zip(samples.iter().cloned()).collect(), better, Chance::Seeds);
        let order = &ranked.ranking().order;
        let (best, worst) = (*order.first()?, *order.last()?);
        // A value that some points lack compares the others only.
        (order.len() > 1).then_some(())?;
        let ends = [samples[best].clone(), samples[worst].clone()];
        Some(Compared { title, unit, means: ranked.ends()?, ranked, ends })
    }

    /// The difference of the ends as a share of the larger one.
    fn difference(&self) -> f64 {
        let [best, worst] = self.means;
        let larger = best.abs().max(worst.abs());
        if larger > 0.0 { (best - worst).abs() / larger } else { 0.0 }
    }

    /// Whether the ends are distinguished, as one of this many measures that are judged together.
    fn is_apart(&self, measures: usize) -> bool {
        let points = self.ranked.ranking().order.len();
        let pairs = points * (points - 1) / 2;
        !self.ranked.is_tied() && significant_order(&self.ends[0], &self.ends[1], pairs * measures).is_some()
    }

    /// The number of replicates of the end that has more of them.
    fn runs(&self) -> usize {
        self.ends.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn range(&self) -> String {
        let [best, worst] = self.means;
        human::range(best.min(worst), best.max(worst), self.unit)
    }

    /// `is X with A, and Y with B`.
    fn named(&self) -> String {
        let [best, worst] = human::alike(self.means, self.unit);
        format!("{best} with {}, and {worst} with {}", self.ranked.best(), self.ranked.worst())
    }
}

/// The sentences of a sweep; none where no point has a throughput.
pub fn sentences(views: &[View<'_>]) -> Vec<String> {
    let moves = views.iter().any(|view| view.mean("throughput_bytes_per_s").is_some_and(|rate| rate > 0.0));
    let (measure, unit) = match moves {
        true => ("throughput_bytes_per_s", "bytes/s"),
        false => ("requests_per_s", "requests/s"),
    };
    let name = Name { measure, unit, title: "throughput".to_owned(), better: Better::Higher };
    let throughput = Compared::of(views, name);
    let Some(throughput) = throughput else { return Vec::new() };
    let others = others(views);
    if throughput.runs() < 2 {
        return vec![of_one_run(&throughput, &others)];
    }
    let mut texts = vec![of_throughput(&throughput)];
    texts.extend(of_others(&throughput, &others));
    texts
}

/// All measures that matter, apart from throughput.
fn others(views: &[View<'_>]) -> Vec<Compared> {
    let whole = |(measure, unit, title, better): (&str, &'static str, &str, Better)| {
        Compared::of(views, Name { measure, unit, title: title.to_owned(), better })
    };
    let mut all: Vec<Compared> = WHOLE.into_iter().filter_map(whole).collect();
    let names = views.first().map(|view| view.scenario.names()).unwrap_or_default();
    let everywhere = |name: &&str| views.iter().all(|view| view.scenario.names().contains(name));
    if names.len() > 1 {
        for application in names.iter().copied().filter(everywhere) {
            let of = |(measure, unit, title, better): (&str, &'static str, &str, Better)| {
                let title = format!("{title} of `{application}`");
                let measure = format!("{measure}[{application}]");
                Compared::of(views, Name { measure: &measure, unit, title, better })
            };
            all.extend(WHOLE.into_iter().skip(1).filter_map(of));
        }
    }
    all
}

/// One run of each point tells nothing apart: the values, without names.
fn of_one_run(throughput: &Compared, others: &[Compared]) -> String {
    let range = throughput.range();
    let widest = widest(others.iter()).filter(|one| one.difference() > throughput.difference());
    if widest.is_none() && throughput.difference() <= 0.0 {
        return format!("Throughput is the same at all points, {range}.");
    }
    let also = widest.map_or_else(String::new, |one| format!(", and {} {}", one.title, one.range()));
    let why = throughput.ranked.why_tied();
    format!("Throughput is {range}{also}: {why}.")
}

fn of_throughput(throughput: &Compared) -> String {
    if throughput.is_apart(1) {
        let [highest, lowest] = human::alike(throughput.means, throughput.unit);
        let (best, worst) = (throughput.ranked.best(), throughput.ranked.worst());
        return format!("Highest throughput with {best}: {highest}; lowest with {worst}: {lowest}.");
    }
    let range = throughput.range();
    match throughput.difference() > 0.0 {
        true => format!("Throughput is equal within chance, {range}."),
        false => format!("Throughput is the same at all points, {range}."),
    }
}

/// The measure with the greatest difference; of equal ones the first.
fn widest<'c>(among: impl Iterator<Item = &'c Compared>) -> Option<&'c Compared> {
    among.fold(None, |widest: Option<&Compared>, one| match widest {
        Some(before) if before.difference() >= one.difference() => Some(before),
        _ => Some(one),
    })
}

/// The sentence about what differs most, apart from throughput.
fn of_others(throughput: &Compared, others: &[Compared]) -> Option<String> {
    let measures = others.len();
    let throughput_differs = throughput.is_apart(1);
    if let Some(most) = widest(others.iter().filter(|one| one.is_apart(measures))) {
        let less = throughput_differs && most.difference() <= throughput.difference();
        return (!less).then(|| format!("The largest difference is in {}: {}.", most.title, most.named()));
    }
    let widest = widest(others.iter()).filter(|one| !throughput_differs && one.difference() > 0.0)?;
    Some(format!(
        "Fairness and latencies are equal within chance too; the widest range is that of {}, {}.",
        widest.title,
        widest.range()
    ))
}

#[cfg(test)]
mod tests;
