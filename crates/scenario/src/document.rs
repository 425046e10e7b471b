//! A whole scenario as text: an optional file, and the flags that override it.

use std::sync::Arc;

use crate::aliases::Aliases;
use crate::check::check;
use crate::draft::{Draft, Files};
use crate::flag::FlagName;
use crate::header::Header;
use crate::header_keys;
use crate::key::KeyPath;
use crate::node::{self, Entry, Node, Table, Value};
use crate::setting::Setting;
use crate::source::{Place, Source};
use crate::sweep::{self, Axis};
use crate::{Problem, Problems};

/// A scenario before it is interpreted.
#[derive(Clone, Debug)]
pub struct Document {
    root: Node,
    set: Vec<Setting>,
    flags: Option<Arc<[FlagName]>>,
    files: Option<Arc<dyn Files>>,
    schema: Option<Arc<serde_json::Value>>,
}

impl Document {
    /// Reads a TOML text.
    ///
    /// # Errors
    /// Syntax errors of the TOML.
    pub fn parse(source: &Arc<Source>) -> Result<Document, Problems> {
        Ok(Document { root: node::parse(source)?, set: Vec::new(), flags: None, files: None, schema: None })
    }

    /// A scenario that contains only its study: the start of a command whose flags give the rest.
    #[must_use]
    pub fn of_study(study: &str, flags: Vec<FlagName>) -> Document {
        let place = Place::whole(&Source::flag("", ""));
        let name = Node { place: place.clone(), value: Value::Text(study.to_owned()) };
        let entry = Entry { key: "study".to_owned(), key_place: place.clone(), node: name };
        let root = Node { place, value: Value::Table(Table { entries: vec![entry] }) };
        Document { root, set: Vec::new(), flags: Some(flags.into()), files: None, schema: None }
    }

    /// Sets the source of input files.
    #[must_use]
    pub fn with_files(mut self, files: Arc<dyn Files>) -> Document {
        self.files = Some(files);
        self
    }

    /// Sets the schema of the study's own keys; the aliases of keys and words that it declares are accepted
    /// from here on.
    #[must_use]
    pub fn with_schema(mut self, schema: Arc<serde_json::Value>) -> Document {
        self.schema = Some(schema);
        self
    }

    /// Overrides a key of the scenario. A later value replaces an earlier one.
    ///
    /// # Errors
    /// When the key passes through a value that is not a table or list.
    pub fn set(&mut self, setting: Setting) -> Result<(), Problem> {
        self.root.put(&setting.key, &setting.key_place, setting.node.clone())?;
        self.set.push(setting);
        Ok(())
    }

    /// The name of the study, which determines how the rest of the scenario is read.
    ///
    /// # Errors
    /// When it is missing or not a string.
    pub fn study(&self) -> Result<(&str, &Place), Problem> {
        let key = KeyPath::root().key("study");
        match self.root.find(&key) {
            Some(Node { value: Value::Text(name), place }) => Ok((name, place)),
            Some(other) => {
                Err(Problem::new(format!("`study` is {}, but it must be a string", other.quoted()))
                    .hint("write the name of a study in quotes; `towtank list` shows them")
                    .at(other.place.clone())
                    .of_key(key))
            }
            None => Err(Problem::new("`study` is missing")
                .hint("begin the file with `study = \"…\"`; `towtank list` shows the studies")
                .at(self.root.place.clone())
                .of_key(key)),
        }
    }

    /// Checks the scenario against a JSON Schema, such as the one that editors use, without the checks of the
    /// study.
    #[must_use]
    pub fn check_against(&self, schema: &serde_json::Value) -> Problems {
        check(&self.root, schema, None)
    }

    /// Splits the scenario into the part common to all points and one draft per point.
    ///
    /// # Errors
    /// Errors in the keys that do not belong to the study.
    pub fn outline(self) -> Result<Outline, Problems> {
        let Document { mut root, mut set, flags, files, schema } = self;
        let mut table = match std::mem::replace(&mut root.value, Value::Bool(false)) {
            Value::Table(table) => table,
            _ => Table::default(),
        };
        let (header, sweep) = Header::take(&mut table, &root)?;
        root.value = Value::Table(table);
        let aliases = schema.as_deref().map(Aliases::of);
        if let Some(aliases) = aliases {
            aliases.replace(&mut root).into_result(())?;
            set.iter_mut().for_each(|setting| setting.key = aliases.path(&setting.key));
        }
        let path = |key: KeyPath| aliases.map_or_else(|| key.clone(), |aliases| aliases.path(&key));
        let axes = sweep.as_ref().map(|node| sweep::axes(node, &path)).transpose()?.unwrap_or_default();
        refuse_hidden(&set, &axes).into_result(())?;
        let mut problems = Problems::new();
        let mut points = Vec::new();
        for choice in sweep::points(&axes) {
            let mut tree = root.clone();
            for (axis, &value) in axes.iter().zip(&choice) {
                if let Err(problem) = tree.put(&axis.key, &axis.key_place, axis.values[value].clone()) {
                    problems.push(problem);
                }
            }
            // Aliases in the rest of the tree are already replaced; only the values of a sweep may contain
            // some.
            if let Some(aliases) = aliases.filter(|_| !axes.is_empty()) {
                problems.extend(aliases.replace(&mut tree));
            }
            points.push(Point { choice, draft: Draft::new(tree, flags.clone(), files.clone()) });
        }
        problems.into_result(Outline { header, axes, points })
    }
}

/// Refuses a value on the command line that the sweep would silently replace.
fn refuse_hidden(set: &[Setting], axes: &[Axis]) -> Problems {
    let mut problems = Problems::new();
    for setting in set {
        let hidden = axes.iter().find(|axis| axis.key.covers(&setting.key) || setting.key.covers(&axis.key));
        if let Some(axis) = hidden
            && !KeyPath::root().key(header_keys::SWEEP).covers(&setting.key)
        {
            let message =
                format!("`{}` is swept by the scenario, so one value for it has no effect", axis.key);
            let hint =
                format!("set the sweep instead: --set 'sweep.\"{}\"=[{}]'", axis.key, setting.node.quoted());
            problems.push(
                Problem::new(message).hint(hint).at(setting.key_place.clone()).of_key(axis.key.clone()),
            );
        }
    }
    problems
}

/// A scenario whose common keys have been read, and whose points have not been read by their study yet.
#[derive(Debug)]
pub struct Outline {
    pub(crate) header: Header,
    pub(crate) axes: Vec<Axis>,
    pub(crate) points: Vec<Point>,
}

/// One point of the sweep.
#[derive(Debug)]
pub struct Point {
    /// For each axis, the index of the value that this point takes.
    pub(crate) choice: Vec<usize>,
    pub(crate) draft: Draft,
}

impl Point {
    /// The draft that the study reads.
    #[must_use]
    pub fn draft(&self) -> &Draft {
        &self.draft
    }
}

impl Outline {
    /// The keys that do not belong to the study.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The points, in sweep order; one point without a sweep.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}
