//! The grammar of a text map: converts words to statements with positions. Names are not looked up here.

use super::TextError;
use super::lex::{Place, Word, words};
use crate::crush::map::{Mode, RuleKind, Setting};

/// The parsed text.
#[derive(Debug, Default)]
pub(super) struct Document<'a> {
    pub heads: Vec<Head<'a>>,
    pub buckets: Vec<BucketText<'a>>,
    pub rules: Vec<RuleText<'a>>,
    pub choose_args: Vec<ChooseArgsText>,
}

/// A statement before the buckets.
#[derive(Debug)]
pub(super) enum Head<'a> {
    Tunable { name: Word<'a>, value: i32 },
    Device { id: i32, name: Word<'a>, class: Option<Word<'a>> },
    Type { id: i32, name: Word<'a> },
}

#[derive(Debug)]
pub(super) struct BucketText<'a> {
    pub kind: Word<'a>,
    pub name: Word<'a>,
    pub ids: Vec<IdText<'a>>,
    pub alg: Word<'a>,
    pub hash: i32,
    pub items: Vec<ItemText<'a>>,
}

#[derive(Debug)]
pub(super) struct IdText<'a> {
    pub place: Place,
    pub id: i32,
    pub class: Option<Word<'a>>,
}

#[derive(Debug)]
pub(super) struct ItemText<'a> {
    pub name: Word<'a>,
    pub weight: Option<(f32, Place)>,
    pub position: Option<(i32, Place)>,
}

#[derive(Debug)]
pub(super) struct RuleText<'a> {
    pub place: Place,
    pub name: Option<Word<'a>>,
    pub id: i32,
    pub id_place: Place,
    pub kind: RuleKind,
    pub sizes: Option<(i32, i32)>,
    pub steps: Vec<StepText<'a>>,
}

#[derive(Debug)]
pub(super) enum StepText<'a> {
    Noop,
    Take { item: Word<'a>, class: Option<Word<'a>> },
    Choose { mode: Mode, leaf: bool, count: i32, kind: Word<'a> },
    ChooseMsr { count: i32, kind: Word<'a> },
    Emit,
    Set(Setting, i32),
}

#[derive(Debug)]
pub(super) struct ChooseArgsText {
    pub place: Place,
    pub index: i32,
    pub args: Vec<ChooseArgText>,
}

#[derive(Debug)]
pub(super) struct ChooseArgText {
    pub bucket: i32,
    pub place: Place,
    pub weight_sets: Vec<(Vec<f32>, Place)>,
    pub ids: Option<Vec<i32>>,
}

/// Parses a text.
pub(super) fn parse(text: &str) -> Result<Document<'_>, TextError> {
    let (words, end) = words(text)?;
    let mut parser = Parser { words, end, next: 0 };
    parser.document()
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    end: Place,
    next: usize,
}

const BRACKETS: [&str; 4] = ["{", "}", "[", "]"];

impl<'a> Parser<'a> {
    fn document(&mut self) -> Result<Document<'a>, TextError> {
        let mut document = Document::default();
        while let Some(word) = self.peek() {
            match word {
                "tunable" | "device" | "type" => {
                    if !document.buckets.is_empty()
                        || !document.rules.is_empty()
                        || !document.choose_args.is_empty()
                    {
                        return Err(self
                            .refuse(format!("`{word}` after the first bucket or rule"))
                            .hint("tunables, devices and types come first"));
                    }
                    document.heads.push(self.head()?);
                }
                "rule" => {
                    self.before_choose_args(&document)?;
                    document.rules.push(self.rule()?);
                }
                "choose_args" => document.choose_args.push(self.choose_args()?),
                _ => {
                    self.before_choose_args(&document)?;
                    let bucket = self.bucket()?;
                    if let Some(rule) = document.rules.first() {
                        return Err(TextError::at(
                            bucket.kind.place,
                            format!("bucket `{}` after a rule", bucket.name.text),
                        )
                        .hint(format!("move it above the rule in line {}", rule.place.line)));
                    }
                    document.buckets.push(bucket);
                }
            }
        }
        Ok(document)
    }

    fn before_choose_args(&self, document: &Document<'_>) -> Result<(), TextError> {
        match document.choose_args.first() {
            None => Ok(()),
            Some(first) => Err(self
                .refuse(format!("`{}` after choose_args", self.peek().unwrap_or_default()))
                .hint(format!("move it above line {}", first.place.line))),
        }
    }

    fn head(&mut self) -> Result<Head<'a>, TextError> {
        match self.word("a statement")?.text {
            "tunable" => {
                let name = self.name("the name of a tunable")?;
                Ok(Head::Tunable { name, value: self.natural("the value of a tunable")? })
            }
            "device" => {
                let id = self.natural("a device id")?;
                let name = self.name("the name of a device")?;
                let class = if self.eat("class") { Some(self.name("a device class")?) } else { None };
                Ok(Head::Device { id, name, class })
            }
            _ => {
                let id = self.natural("a type id")?;
                Ok(Head::Type { id, name: self.name("the name of a type")? })
            }
        }
    }

    fn bucket(&mut self) -> Result<BucketText<'a>, TextError> {
        let kind = self.name("`tunable`, `device`, `type`, `rule`, `choose_args` or a bucket's type")?;
        let name = self.name("a bucket's name")?;
        self.expect("{")?;
        let mut ids = Vec::new();
        while let Some(place) = self.eat_at("id") {
            let id = self.negative("a bucket id")?;
            let class = if self.eat("class") { Some(self.name("a device class")?) } else { None };
            ids.push(IdText { place, id, class });
        }
        self.expect("alg")
            .map_err(|why| why.hint("a bucket has `id`, `alg`, `hash` and `item` lines, in this order"))?;
        let alg = self.name("uniform, list, tree, straw or straw2")?;
        let mut hash = 0;
        while self.eat("hash") {
            hash = if self.eat("rjenkins1") { 0 } else { self.integer("a hash id or rjenkins1")? };
        }
        let mut items = Vec::new();
        while self.eat("item") {
            items.push(self.item()?);
        }
        self.expect("}")?;
        Ok(BucketText { kind, name, ids, alg, hash, items })
    }

    fn item(&mut self) -> Result<ItemText<'a>, TextError> {
        let name = self.name("an item")?;
        let weight = match self.eat_at("weight") {
            Some(_) => Some((self.real("a weight")?, self.last())),
            None => None,
        };
        let position = match self.eat_at("pos") {
            Some(_) => Some((self.natural("a position")?, self.last())),
            None => None,
        };
        Ok(ItemText { name, weight, position })
    }

    fn rule(&mut self) -> Result<RuleText<'a>, TextError> {
        self.expect("rule")?;
        let place = self.last();
        let name = if self.peek() == Some("{") { None } else { Some(self.name("a rule's name")?) };
        self.expect("{")?;
        if !self.eat("id") {
            self.expect("ruleset").map_err(|why| why.hint("a rule starts with its `id`"))?;
        }
        let id = self.natural("a rule id")?;
        let id_place = self.last();
        self.expect("type")?;
        let kind = self.rule_kind()?;
        let sizes = self.sizes()?;
        let mut steps = Vec::new();
        while self.eat("step") {
            let word = self.words.get(self.next).copied();
            let step = self.step()?;
            if let (Some(word), Some(hint)) = (word, misplaced(kind, &step)) {
                let reason = format!("the step is `{}`, which rules of this type do not have", word.text);
                return Err(TextError::at(word.place, reason).hint(hint));
            }
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(self.wanted("`step`"));
        }
        self.expect("}")?;
        Ok(RuleText { place, name, id, id_place, kind, sizes, steps })
    }

    fn rule_kind(&mut self) -> Result<RuleKind, TextError> {
        let word = self.name("replicated, erasure, msr_firstn or msr_indep")?;
        match word.text {
            "replicated" => Ok(RuleKind::Replicated),
            "erasure" => Ok(RuleKind::Erasure),
            "msr_firstn" => Ok(RuleKind::MsrFirstn),
            "msr_indep" => Ok(RuleKind::MsrIndep),
            other => Err(TextError::at(word.place, format!("`{other}` is not a rule type"))
                .hint("use `replicated`, `erasure`, `msr_firstn` or `msr_indep`")),
        }
    }

    /// Parses both size lines, which 16.2 requires, or neither, as Quincy and later print it.
    fn sizes(&mut self) -> Result<Option<(i32, i32)>, TextError> {
        let both = "give both `min_size` and `max_size`, or neither";
        if self.eat("min_size") {
            let min = self.natural("a size")?;
            self.expect("max_size").map_err(|why| why.hint(both))?;
            return Ok(Some((min, self.natural("a size")?)));
        }
        if self.peek() == Some("max_size") {
            return Err(self.refuse("`max_size` without `min_size`").hint(both));
        }
        Ok(None)
    }

    fn step(&mut self) -> Result<StepText<'a>, TextError> {
        let word = self.name("a step")?;
        if let Some(row) = Setting::ALL.iter().find(|row| row.2 == word.text) {
            return Ok(StepText::Set(row.0, self.natural("a number")?));
        }
        match word.text {
            "take" => {
                let item = self.name("an item")?;
                let class = if self.eat("class") { Some(self.name("a device class")?) } else { None };
                Ok(StepText::Take { item, class })
            }
            "choose" => self.choose(false),
            "chooseleaf" => self.choose(true),
            "emit" => Ok(StepText::Emit),
            "noop" => Ok(StepText::Noop),
            "choosemsr" => {
                let count = self.integer("the number to choose")?;
                self.expect("type")?;
                Ok(StepText::ChooseMsr { count, kind: self.name("a bucket type")? })
            }
            other => Err(TextError::at(word.place, format!("`{other}` is not a step"))
                .hint("steps are take, choose, chooseleaf, choosemsr, emit and set_…")),
        }
    }

    fn choose(&mut self, leaf: bool) -> Result<StepText<'a>, TextError> {
        let mode = if self.eat("firstn") {
            Mode::Firstn
        } else if self.eat("indep") {
            Mode::Indep
        } else {
            return Err(self.wanted("`firstn` or `indep`"));
        };
        let count = self.integer("the number to choose")?;
        self.expect("type")?;
        Ok(StepText::Choose { mode, leaf, count, kind: self.name("a bucket type")? })
    }

    fn choose_args(&mut self) -> Result<ChooseArgsText, TextError> {
        self.expect("choose_args")?;
        let index = self.natural("the index of the choose_args")?;
        let place = self.last();
        self.expect("{")?;
        let mut args = Vec::new();
        while self.eat("{") {
            args.push(self.choose_arg()?);
        }
        self.expect("}")?;
        Ok(ChooseArgsText { place, index, args })
    }

    fn choose_arg(&mut self) -> Result<ChooseArgText, TextError> {
        self.expect("bucket_id")?;
        let bucket = self.negative("a bucket id")?;
        let place = self.last();
        let (mut weight_sets, mut ids) = (Vec::new(), None);
        if self.eat("weight_set") {
            self.expect("[")?;
            while let Some(place) = self.eat_at("[") {
                let mut weights = Vec::new();
                while !self.eat("]") {
                    weights.push(self.real("a weight or `]`")?);
                }
                weight_sets.push((weights, place));
            }
            self.expect("]")?;
        }
        if self.eat("ids") {
            self.expect("[")?;
            let ids = ids.insert(Vec::new());
            while !self.eat("]") {
                ids.push(self.integer("an id or `]`")?);
            }
        }
        self.expect("}")?;
        Ok(ChooseArgText { bucket, place, weight_sets, ids })
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).map(|word| word.text)
    }

    fn place(&self) -> Place {
        self.words.get(self.next).map_or(self.end, |word| word.place)
    }

    /// The position of the word taken last.
    fn last(&self) -> Place {
        self.words.get(self.next.wrapping_sub(1)).map_or(self.end, |word| word.place)
    }

    fn refuse(&self, reason: impl Into<String>) -> TextError {
        TextError::at(self.place(), reason)
    }

    fn wanted(&self, what: &str) -> TextError {
        match self.peek() {
            Some(found) => self.refuse(format!("found `{found}`, but expected {what}")),
            None => self.refuse(format!("the text ends, but expected {what}")),
        }
    }

    fn eat(&mut self, text: &str) -> bool {
        self.eat_at(text).is_some()
    }

    fn eat_at(&mut self, text: &str) -> Option<Place> {
        let place = self.place();
        (self.peek() == Some(text)).then(|| {
            self.next += 1;
            place
        })
    }

    fn expect(&mut self, text: &str) -> Result<(), TextError> {
        if self.eat(text) { Ok(()) } else { Err(self.wanted(&format!("`{text}`"))) }
    }

    fn word(&mut self, what: &str) -> Result<Word<'a>, TextError> {
        let word = self.words.get(self.next).copied().ok_or_else(|| self.wanted(what))?;
        self.next += 1;
        Ok(word)
    }

    fn name(&mut self, what: &str) -> Result<Word<'a>, TextError> {
        match self.peek() {
            Some(text) if !BRACKETS.contains(&text) && !text.contains('+') => self.word(what),
            _ => Err(self.wanted(what)),
        }
    }

    fn natural(&mut self, what: &str) -> Result<i32, TextError> {
        match self.peek() {
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => self.number(what),
            _ => Err(self.wanted(what)),
        }
    }

    fn negative(&mut self, what: &str) -> Result<i32, TextError> {
        match self.peek() {
            Some(text) if text.starts_with('-') => self.integer(what),
            _ => Err(self.wanted(&format!("{what} (below 0)"))),
        }
    }

    fn integer(&mut self, what: &str) -> Result<i32, TextError> {
        let digits = self.peek().map(|text| text.strip_prefix('-').unwrap_or(text));
        match digits {
            Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.number(what)
            }
            _ => Err(self.wanted(what)),
        }
    }

    /// Parses a number as crushtool does: 64 bits with saturation, of which the low half is kept.
    fn number(&mut self, what: &str) -> Result<i32, TextError> {
        let text = self.word(what)?.text;
        let ends = if text.starts_with('-') { i64::MIN } else { i64::MAX };
        Ok(text.parse::<i64>().unwrap_or(ends) as i32)
    }

    fn real(&mut self, what: &str) -> Result<f32, TextError> {
        match self.peek().filter(|text| is_real(text)).and_then(|text| text.parse().ok()) {
            Some(value) => {
                self.next += 1;
                Ok(value)
            }
            None => Err(self.wanted(what)),
        }
    }
}

/// What a rule of this kind has in place of a step that it cannot have; `None` if it can have the step. Ceph
/// compiles such a rule, but a multi-step-retry rule with the step then finds nothing, and another ignores
/// it.
fn misplaced(kind: RuleKind, step: &StepText<'_>) -> Option<&'static str> {
    let is_msr = kind.msr_mode().is_some();
    match step {
        StepText::Choose { .. } if is_msr => Some("multi-step-retry rules have `choosemsr N type T`"),
        StepText::Set(setting, _) if is_msr && !setting.is_msr() => {
            Some("multi-step-retry rules have `set_msr_descents` and `set_msr_collision_tries`")
        }
        StepText::Noop if is_msr => Some("remove it"),
        StepText::ChooseMsr { .. } if !is_msr => {
            Some("use `choose` or `chooseleaf`, or make the rule's type `msr_firstn` or `msr_indep`")
        }
        StepText::Set(setting, _) if !is_msr && setting.is_msr() => {
            Some("remove it, or make the rule's type `msr_firstn` or `msr_indep`")
        }
        _ => None,
    }
}

/// Whether a text is a decimal number, possibly with an exponent; `inf` and `nan` are not.
fn is_real(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
}
