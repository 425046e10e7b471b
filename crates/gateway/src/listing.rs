//! Listings of a bucket's keys: those after a given key, with keys that share a prefix up to a delimiter
//! rolled up into one row.

use crate::fault::Fault;

/// The keys of a bucket in order, each with its object's attributes.
pub trait Keys {
    /// The attributes of an object.
    type Object;

    /// The next key; none after the last one.
    ///
    /// # Errors
    /// If the store does not answer.
    fn next(&mut self) -> Result<Option<(String, Self::Object)>, Fault>;

    /// Skips all keys that begin with `prefix`.
    fn pass(&mut self, prefix: &str);
}

/// The parameters of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Only keys with this prefix are listed.
    pub prefix: String,
    /// The delimiter, searched for after the prefix, at which keys are rolled up; empty for none.
    pub delimiter: String,
    /// The last row of the previous page: a key, or a rolled-up prefix.
    pub after: String,
    /// The most rows.
    pub most: usize,
}

impl Question {
    /// The prefix to which a key is rolled up; none if the key has its own row.
    fn rolled<'k>(&self, key: &'k str) -> Option<&'k str> {
        let rest = key.strip_prefix(self.prefix.as_str()).filter(|_| !self.delimiter.is_empty())?;
        let at = rest.find(&self.delimiter)?;
        Some(&key[..self.prefix.len() + at + self.delimiter.len()])
    }
}

/// A row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row<T> {
    /// An object.
    Object(String, T),
    /// A prefix to which keys were rolled up.
    Common(String),
}

impl<T> Row<T> {
    /// The key, or the prefix.
    pub fn name(&self) -> &str {
        match self {
            Row::Object(name, _) | Row::Common(name) => name,
        }
    }
}

/// Rows, and whether more rows follow.
pub type Listed<T> = (Vec<Row<T>>, bool);

/// The rows for the keys from `keys`: in order, each beginning with the prefix and greater than the last row
/// of the previous page.
///
/// # Errors
/// If the store does not answer.
pub fn list<K: Keys>(keys: &mut K, question: &Question) -> Result<Listed<K::Object>, Fault> {
    let mut rows = Vec::new();
    if question.most == 0 {
        return Ok((rows, false));
    }
    if question.rolled(&question.after) == Some(question.after.as_str()) {
        keys.pass(&question.after);
    }
    while let Some((key, object)) = keys.next()? {
        if rows.len() == question.most {
            return Ok((rows, true));
        }
        match question.rolled(&key) {
            Some(common) => {
                keys.pass(common);
                rows.push(Row::Common(common.to_owned()));
            }
            None => rows.push(Row::Object(key, object)),
        }
    }
    Ok((rows, false))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    struct Sorted(Vec<String>);

    impl Sorted {
        fn new(keys: &BTreeSet<String>, question: &Question) -> Sorted {
            let shown = |key: &&String| key.starts_with(&question.prefix) && **key > question.after;
            Sorted(keys.iter().filter(shown).cloned().rev().collect())
        }
    }

    impl Keys for Sorted {
        type Object = ();

        fn next(&mut self) -> Result<Option<(String, ())>, Fault> {
            Ok(self.0.pop().map(|key| (key, ())))
        }

        fn pass(&mut self, prefix: &str) {
            self.0.retain(|key| !key.starts_with(prefix));
        }
    }

    /// A slow and simple model: the row of every key, each row once, those after the given one.
    fn oracle(keys: &BTreeSet<String>, question: &Question) -> (Vec<String>, bool) {
        let mut rows = BTreeSet::new();
        for key in keys.iter().filter(|key| key.starts_with(&question.prefix) && **key > question.after) {
            let rest = &key[question.prefix.len()..];
            let row = match rest.split_once(&question.delimiter) {
                Some((first, _)) if !question.delimiter.is_empty() => {
                    format!("{}{first}{}", question.prefix, question.delimiter)
                }
                _ => key.clone(),
            };
            // A rolled-up prefix is listed once, on whichever page it is.
            if row != question.after {
                rows.insert(row);
            }
        }
        let more = rows.len() > question.most && question.most > 0;
        (rows.into_iter().take(question.most).collect(), more)
    }

    fn names(listed: Listed<()>) -> (Vec<String>, bool) {
        (listed.0.iter().map(|row| row.name().to_owned()).collect(), listed.1)
    }

    proptest! {
        #[test]
        fn a_page_is_that_of_the_obvious_listing(
            keys in proptest::collection::btree_set("[ab/]{1,5}", 0..30),
            prefix in "[ab/]{0,2}",
            delimiter in "/?/?|a",
            after in "[ab/]{0,4}",
            most in 0..6_usize,
        ) {
            let question = Question { prefix, delimiter, after, most };
            let found = list(&mut Sorted::new(&keys, &question), &question).expect("keys come");
            prop_assert_eq!(names(found), oracle(&keys, &question));
        }

        #[test]
        fn pages_together_are_the_whole(
            keys in proptest::collection::btree_set("[ab/]{1,5}", 0..30),
            delimiter in "/?",
            most in 1..4_usize,
        ) {
            let whole = Question { delimiter, most: 1_000, ..Question::default() };
            let want = oracle(&keys, &whole).0;
            let (mut all, mut question) = (Vec::new(), Question { most, ..whole });
            loop {
                let page = list(&mut Sorted::new(&keys, &question), &question).expect("keys come");
                let (rows, more) = names(page);
                question.after = rows.last().cloned().unwrap_or_default();
                all.extend(rows);
                if !more {
                    break;
                }
            }
            prop_assert_eq!(all, want);
        }
    }

    /// A listing that does not skip rolled-up keys lists the prefix twice, and the oracle detects that.
    #[test]
    fn a_planted_listing_is_noticed() {
        struct Forgets(Sorted);
        impl Keys for Forgets {
            type Object = ();
            fn next(&mut self) -> Result<Option<(String, ())>, Fault> {
                self.0.next()
            }
            fn pass(&mut self, _: &str) {}
        }
        let keys: BTreeSet<String> = ["a/1", "a/2", "b"].map(str::to_owned).into();
        let question = Question { delimiter: "/".to_owned(), most: 9, ..Question::default() };
        let found = list(&mut Forgets(Sorted::new(&keys, &question)), &question).expect("keys come");
        assert_ne!(names(found), oracle(&keys, &question));
    }
}
