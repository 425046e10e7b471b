//! Chapters: the claims and figures of a report in the order of their sources, beside what they answer to.
//!
//! A chapter is a paper, and a part is what it has under one number or title: a figure, a table, a slide.
//! Parts name claims, figures and tables of the report instead of holding them, so that every other file of
//! the report is as it is without chapters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Claim, Report};

/// What one source published, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chapter {
    /// Heading: the source.
    pub title: String,
    /// A name of a word or two, for lists of contents.
    pub short: String,
    /// A sentence or two below the heading. May be empty.
    #[serde(default)]
    pub about: String,
    /// The parts, in the order of the source.
    pub parts: Vec<Part>,
}

/// What the source has under one number or title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Heading: `Table 2`, `Figure 8`.
    pub title: String,
    /// The `id` of each figure that answers to it.
    #[serde(default)]
    pub figures: Vec<String>,
    /// The `id` of each table that answers to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<String>,
    /// The names of the claims about it.
    #[serde(default)]
    pub claims: Vec<String>,
}

impl Chapter {
    /// The claims of a report that belong to this chapter, in its order.
    pub fn claims<'a>(&'a self, report: &'a Report) -> impl Iterator<Item = &'a Claim> {
        let names = self.parts.iter().flat_map(|part| &part.claims);
        names.filter_map(|name| report.claims.iter().find(|claim| claim.name == *name))
    }
}

/// What a report with chapters lacks, or has twice: a law of every report.
pub(crate) fn faults(report: &Report) -> Vec<String> {
    if report.chapters.is_empty() {
        return Vec::new();
    }
    let parts = || report.chapters.iter().flat_map(|chapter| &chapter.parts);
    let named: Vec<&String> = parts().flat_map(|part| &part.claims).collect();
    let drawn: Vec<&String> = parts().flat_map(|part| &part.figures).collect();
    let mut faults = Vec::new();
    for claim in &report.claims {
        match named.iter().filter(|name| **name == &claim.name).count() {
            1 => {}
            0 => faults.push(format!("the claim `{}` is in none", claim.name)),
            count => faults.push(format!("the claim `{}` is in {count}", claim.name)),
        }
    }
    let no_claim = |name: &&&String| report.claims.iter().all(|claim| claim.name != ***name);
    faults.extend(named.iter().filter(no_claim).map(|name| format!("there is no claim `{name}`")));
    let no_figure = |id: &&&String| report.figures.iter().all(|figure| figure.id != ***id);
    faults.extend(drawn.iter().filter(no_figure).map(|id| format!("there is no figure `{id}`")));
    let no_table = |id: &&String| report.tables.iter().all(|table| table.id() != **id);
    let tables = parts().flat_map(|part| &part.tables);
    faults.extend(tables.filter(no_table).map(|id| format!("there is no table `{id}`")));
    faults
}

#[cfg(test)]
mod tests {
    use crate::{Chapter, Part, Report, laws, sample};

    /// The sample with one chapter that has all its claims and one of its figures.
    fn in_chapters() -> Report {
        let mut report = sample::rebuild();
        let claims = report.claims.iter().map(|claim| claim.name.clone()).collect();
        let part = Part {
            title: "Table 1".to_owned(),
            figures: vec![report.figures[0].id.clone()],
            tables: vec![report.tables[0].id().to_owned()],
            claims,
        };
        let [title, short] = ["A paper", "Paper"].map(str::to_owned);
        report.chapters = vec![Chapter { title, short, about: String::new(), parts: vec![part] }];
        report
    }

    #[test]
    fn every_claim_is_in_one_part_and_what_parts_name_exists() {
        let broken = |report: &Report| laws(report).iter().map(ToString::to_string).collect::<Vec<_>>();
        let law = |found: &str| format!("each claim is in one part of the chapters, but {found}");
        let whole = in_chapters();
        assert_eq!(broken(&whole), [""; 0]);
        assert_eq!(whole.chapters[0].claims(&whole).count(), whole.claims.len());

        let mut lost = whole.clone();
        let name = lost.chapters[0].parts[0].claims.pop().expect("the sample has claims");
        assert_eq!(broken(&lost), [law(&format!("the claim `{name}` is in none"))]);

        let mut twice = whole.clone();
        twice.chapters[0].parts[0].claims.push(name.clone());
        assert_eq!(broken(&twice), [law(&format!("the claim `{name}` is in 2"))]);

        let mut invented = whole.clone();
        invented.chapters[0].parts[0].claims.push("zebra".to_owned());
        invented.chapters[0].parts[0].figures.push("zebra".to_owned());
        invented.chapters[0].parts[0].tables.push("zebra".to_owned());
        let want = ["claim", "figure", "table"].map(|what| law(&format!("there is no {what} `zebra`")));
        assert_eq!(broken(&invented), want);
    }
}
