//! Tests of the list of published scenarios: it has all of them, and what is not as announced is found.

use super::*;
use crate::reproduce::published_names;
use crate::reproduce::sample::claim;

fn published() -> Vec<&'static str> {
    published_names(&Registry::builtin()).collect()
}

#[test]
fn every_published_scenario_has_an_estimate_and_no_other_is_listed() {
    let mut listed: Vec<&str> = listed().scenarios.keys().map(String::as_str).collect();
    let mut wanted = published();
    wanted.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, wanted, "the example `published` writes the list");
    for (name, entry) in &super::listed().scenarios {
        assert!(entry.core_seconds >= 0.0 && entry.core_seconds.is_finite(), "{name}");
        assert!(entry.events > 0 || crate::measured::published(name).is_some(), "{name} has no events");
    }
    assert!(!super::listed().machine.is_empty());
}

#[test]
fn the_listing_names_each_claim_once_with_its_source_and_its_paper() {
    let all = listing(&Registry::builtin(), &published());
    let listed: usize = super::listed().scenarios.values().map(|entry| entry.claims.len()).sum();
    assert_eq!(all.claims.len(), listed);
    let mut names: Vec<&str> = all.claims.iter().map(|claim| claim.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), listed, "two claims have one name");
    for claim in &all.claims {
        assert!(!claim.source.is_empty() && !claim.statement.is_empty(), "{claim:?}");
        assert_ne!(claim.paper, papers::OTHER, "{claim:?} belongs to no paper");
    }
    assert!(all.scenarios.iter().all(|one| !one.title.is_empty()), "{:?}", all.scenarios);
}

#[test]
fn quick_takes_the_cheapest_and_keeps_the_order() {
    let seconds = |name: &str| match name {
        "a" => Some(50.0),
        "b" => Some(9.0),
        "c" => Some(40.0),
        "d" => Some(10.0),
        _ => None,
    };
    assert_eq!(within(vec!["a", "b", "c", "d", "unknown"], 60.0, seconds), ["b", "c", "d"]);
    assert_eq!(within(vec!["a"], 49.0, seconds), [""; 0]);
    let chosen = quick(published());
    let all = listing(&Registry::builtin(), &chosen);
    assert!(all.core_seconds() <= QUICK_SECONDS && chosen.len() > 5, "{chosen:?}");
}

/// A claim that is lost, new or changed, planted one by one.
#[test]
fn results_that_were_not_announced_are_found() {
    let named = |name: &str| Named {
        name: name.to_owned(),
        source: "a paper".to_owned(),
        statement: "it is one".to_owned(),
    };
    let announced = [named("one"), named("two")];
    let whole = [claim("two", "a paper"), claim("one", "a paper")];
    assert_eq!(difference(&announced, &whole), None);
    let found = |claims: &[Claim]| difference(&announced, claims).expect("it differs");
    assert_eq!(found(&whole[..1]), "the claim `one` is missing");
    let changed = [claim("two", "another paper"), claim("one", "a paper")];
    assert_eq!(found(&changed), "the claim `two` has another source or statement");
    let more = [whole.to_vec(), vec![claim("three", "a paper")]].concat();
    assert_eq!(found(&more), "the claim `three` was not announced");

    let Err(Trouble::Failed(problem)) = hold("queue-mm1", &[], &[]) else { panic!("its claims are missing") };
    assert!(
        problem
            .message()
            .starts_with("the results of `queue-mm1` are not those that were announced: the claim `"),
        "{problem}"
    );
    assert!(hold("a scenario of a user", &[claim("one", "a paper")], &[]).is_ok());
}
