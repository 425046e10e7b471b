//! The papers whose results are compared, in their own order: what each has under one number, which claims
//! are about it, and which figures answer to it.

mod contents;

use towtank_report::{BarSeries, Chapter, Claim, Figure, Kind, Num, Part, Table, Verdict};

use crate::Builtin;
use contents::PAPERS;

/// The chapter of claims that belong to no paper here: those of scenarios that a caller added.
pub(super) const OTHER: &str = "Other claims";

/// A paper.
struct Paper {
    /// Its name in lists and on axes.
    short: &'static str,
    /// Heading.
    title: &'static str,
    /// A sentence below the heading.
    about: &'static str,
    sections: &'static [Section],
}

/// What a paper has under one number.
struct Section {
    title: &'static str,
    figures: &'static [Drawn],
    /// A table that answers to it and needs no run; it is shown with any claim or figure of the paper.
    table: Option<fn() -> Table>,
    /// Which claims are about it. The first section that fits has the claim.
    claims: &'static [About],
}

/// Claims of a scenario, by the beginning of their names and the end of their sources.
struct About {
    /// The scenario; with a `*` at the end, all that begin so.
    scenario: &'static str,
    starts: &'static str,
    source_ends: &'static str,
}

/// A figure of a scenario that answers to one of the paper.
struct Drawn {
    scenario: &'static str,
    id: &'static str,
    /// Its heading on the page of all claims, which begins with the number in the paper.
    title: &'static str,
    /// Of bars only the categories, and of lines only the series with this text; all if it is empty.
    only: &'static str,
}

/// A claim by its name (`SCENARIO/CLAIM`) and its source.
pub(super) type Named<'a> = (&'a str, &'a str);

fn fits(about: &About, (name, source): Named<'_>) -> bool {
    let Some((scenario, claim)) = name.split_once('/') else { return false };
    let same = match about.scenario.strip_suffix('*') {
        Some(start) => scenario.starts_with(start),
        None => scenario == about.scenario,
    };
    same && claim.starts_with(about.starts) && source.ends_with(about.source_ends)
}

/// The places of claims: paper, section, and the position of the claim in the list. They are in the order of
/// the papers, and within a section in the order given.
pub(super) fn placed(claims: &[Named<'_>]) -> Vec<(&'static str, &'static str, usize)> {
    let sections =
        || PAPERS.iter().flat_map(|paper| paper.sections.iter().map(move |section| (paper, section)));
    let place = |claim: &Named<'_>| {
        sections().position(|(_, section)| section.claims.iter().any(|about| fits(about, *claim)))
    };
    let mut placed: Vec<(usize, usize)> =
        claims.iter().enumerate().map(|(at, claim)| (place(claim).unwrap_or(usize::MAX), at)).collect();
    placed.sort_unstable();
    let with_titles = |(section, claim): (usize, usize)| match sections().nth(section) {
        Some((paper, section)) => (paper.title, section.title, claim),
        None => (OTHER, OTHER, claim),
    };
    placed.into_iter().map(with_titles).collect()
}

/// A paper, as a list of scenarios names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaperName {
    /// Its name in lists and on axes.
    pub short: &'static str,
    /// Its title.
    pub title: &'static str,
}

/// The paper whose set-up a built-in scenario is, if it is one: the first that has a figure or claims of it.
#[must_use]
pub fn paper_of(builtin: &Builtin) -> Option<PaperName> {
    let scenario = builtin.name();
    if !builtin.path.starts_with("papers/") {
        return None;
    }
    let of = |paper: &&Paper, whole: bool| {
        paper.sections.iter().any(|section| {
            let about = |about: &About| match about.scenario.strip_suffix('*') {
                Some(start) => !whole && scenario.starts_with(start),
                None => about.scenario == scenario,
            };
            section.figures.iter().any(|drawn| drawn.scenario == scenario) || section.claims.iter().any(about)
        })
    };
    let named = PAPERS.iter().find(|paper| of(paper, true));
    let paper = named.or_else(|| PAPERS.iter().find(|paper| of(paper, false)))?;
    Some(PaperName { short: paper.short, title: paper.title })
}

/// The figures of a scenario that the page shows.
pub(super) fn figures_of(scenario: &str) -> impl Iterator<Item = &'static str> {
    drawn().filter(move |drawn| drawn.scenario == scenario).map(|drawn| drawn.id)
}

fn drawn() -> impl Iterator<Item = &'static Drawn> {
    PAPERS.iter().flat_map(|paper| paper.sections).flat_map(|section| section.figures)
}

/// The chapters of a report, with the figures and tables that they show, and the claims in their order.
pub(super) struct Bound {
    pub chapters: Vec<Chapter>,
    pub figures: Vec<Figure>,
    pub tables: Vec<Table>,
    pub claims: Vec<Claim>,
}

/// Sorts claims and figures into chapters. Figures come with the name of their scenario; those that no paper
/// has are left out. A section of which nothing was run is left out, too; tables that need no run come with
/// the other sections of their paper.
pub(super) fn bind(claims: &[Claim], figures: &[(String, Figure)]) -> Bound {
    let named: Vec<Named<'_>> = claims.iter().map(|claim| (&*claim.name, &*claim.source)).collect();
    let placed = placed(&named);
    let names = |paper: &str, section: &str| -> Vec<String> {
        let ours = placed.iter().filter(|(of, title, _)| (*of, *title) == (paper, section));
        ours.map(|(_, _, at)| claims[*at].name.clone()).collect()
    };
    let mut bound =
        Bound { chapters: Vec::new(), figures: Vec::new(), tables: Vec::new(), claims: Vec::new() };
    for paper in PAPERS {
        let mut parts = Vec::new();
        let mut tables = Vec::new();
        for section in paper.sections {
            let shown: Vec<Figure> =
                section.figures.iter().filter_map(|drawn| shown(drawn, figures)).collect();
            let table = section.table.map(|make| make());
            let part = Part {
                title: section.title.to_owned(),
                figures: shown.iter().map(|figure| figure.id.clone()).collect(),
                tables: table.iter().map(|table| table.id().to_owned()).collect(),
                claims: names(paper.title, section.title),
            };
            if !part.figures.is_empty() || !part.claims.is_empty() || table.is_some() {
                parts.push(part);
            }
            bound.figures.extend(shown);
            tables.extend(table);
        }
        let ran = |part: &Part| !part.figures.is_empty() || !part.claims.is_empty();
        if parts.iter().any(ran) {
            bound.tables.append(&mut tables);
            let [title, short, about] = [paper.title, paper.short, paper.about].map(str::to_owned);
            bound.chapters.push(Chapter { title, short, about, parts });
        }
    }
    let others = names(OTHER, OTHER);
    if !others.is_empty() {
        let [figures, tables] = [Vec::new(), Vec::new()];
        let part = Part { title: OTHER.to_owned(), figures, tables, claims: others };
        let [title, short] = [OTHER, OTHER].map(str::to_owned);
        bound.chapters.push(Chapter { title, short, about: String::new(), parts: vec![part] });
    }
    bound.claims = placed.iter().map(|(_, _, at)| claims[*at].clone()).collect();
    bound
}

/// A figure under its number in the paper. Its id names the scenario, since ids are unique within one only.
fn shown(drawn: &Drawn, figures: &[(String, Figure)]) -> Option<Figure> {
    let (_, figure) =
        figures.iter().find(|(scenario, figure)| scenario == drawn.scenario && figure.id == drawn.id)?;
    let mut figure = figure.clone();
    figure.id = match drawn.only {
        "" => format!("{}-{}", drawn.scenario, drawn.id),
        only => format!("{}-{}-{}", drawn.scenario, drawn.id, name_of(only)),
    };
    drawn.title.clone_into(&mut figure.title);
    let of = format!("From `{}`.", drawn.scenario);
    figure.caption = if figure.caption.is_empty() { of } else { format!("{} {of}", figure.caption) };
    if !drawn.only.is_empty() {
        keep(&mut figure.kind, drawn.only);
    }
    side_by_side(&mut figure.kind);
    Some(figure)
}

/// A text as a part of a file's name.
fn name_of(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Keeps the bars of the categories, or the lines of the series, with a text, and takes the text out of their
/// names.
fn keep(kind: &mut Kind, only: &str) {
    let without = |name: &mut String| {
        *name = name.replace(only, "").replace(", , ", ", ").trim_matches([',', ' ']).to_owned();
    };
    match kind {
        Kind::Bar { categories, series, .. } => {
            let kept: Vec<bool> = categories.iter().map(|name| name.contains(only)).collect();
            for BarSeries { values, low, high, .. } in series {
                [values, low, high].into_iter().for_each(|values| retain(values, &kept));
            }
            retain(categories, &kept);
            categories.iter_mut().for_each(without);
        }
        Kind::Line { series, .. } => {
            series.retain(|line| line.name.contains(only));
            series.iter_mut().for_each(|line| without(&mut line.name));
        }
        _ => {}
    }
}

/// Keeps the values at the marked places. Ends of intervals may be missing.
fn retain<T>(values: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    values.retain(|_| kept.next() == Some(&true));
}

/// Draws the bars of `PROTOCOL, SETTING` in groups of one setting, with a series for each protocol, as papers
/// do. Other bars stay as they are.
fn side_by_side(kind: &mut Kind) {
    let Kind::Bar { x, categories, series, .. } = kind else { return };
    let split: Option<Vec<(String, String)>> = categories
        .iter()
        .map(|name| name.split_once(", ").map(|(one, rest)| (one.to_owned(), rest.to_owned())))
        .collect();
    let (Some(split), [one]) = (split, &series[..]) else { return };
    let distinct = |of: fn(&(String, String)) -> &String| {
        let mut found: Vec<String> = Vec::new();
        split.iter().map(of).for_each(|name| {
            if !found.contains(name) {
                found.push(name.clone());
            }
        });
        found
    };
    let (names, settings) = (distinct(|pair| &pair.0), distinct(|pair| &pair.1));
    if names.len() * settings.len() != split.len() {
        return;
    }
    let place =
        |name: &String, setting: &String| split.iter().position(|pair| (&pair.0, &pair.1) == (name, setting));
    let grouped = names.iter().map(|name| {
        let of = |values: &[Num]| -> Vec<Num> {
            let at = settings.iter().filter_map(|setting| values.get(place(name, setting)?).copied());
            at.collect()
        };
        BarSeries { name: name.clone(), values: of(&one.values), low: of(&one.low), high: of(&one.high) }
    });
    *series = grouped.collect();
    "setting".clone_into(x);
    *categories = settings;
}

/// The number of claims of each paper by verdict.
pub(super) fn tally(bound: &Bound) -> Option<Figure> {
    let chapters = &bound.chapters;
    let count = |chapter: &Chapter, verdict: Verdict| {
        let names = chapter.parts.iter().flat_map(|part| &part.claims);
        let of = names.filter_map(|name| bound.claims.iter().find(|claim| claim.name == *name));
        Num::from(of.filter(|claim| claim.verdict == verdict).count() as f64)
    };
    let verdicts = [
        ("holds", Verdict::Holds),
        ("misses", Verdict::Misses),
        ("cannot tell", Verdict::CannotTell),
        ("fitted", Verdict::Fitted),
    ];
    let open = bound.claims.iter().any(|claim| claim.verdict == Verdict::NotJudged);
    let open = open.then_some(("not judged", Verdict::NotJudged));
    let series = verdicts.into_iter().chain(open).map(|(name, verdict)| BarSeries {
        name: name.to_owned(),
        values: chapters.iter().map(|chapter| count(chapter, verdict)).collect(),
        low: Vec::new(),
        high: Vec::new(),
    });
    (!bound.claims.is_empty()).then(|| {
        Figure::new(
            "claims-by-source",
            "Claims by source",
            "Fitted claims were used to calibrate a model and prove nothing.",
            Kind::Bar {
                x: "source".to_owned(),
                y: towtank_report::Axis::linear("claims", ""),
                categories: chapters.iter().map(|chapter| chapter.short.clone()).collect(),
                series: series.collect(),
                stacked: true,
                references: Vec::new(),
            },
        )
    })
}

#[cfg(test)]
mod tests;
