//! From a map to its text form, byte for byte as `crushtool -d` of Ceph 16.2.15 prints it.
//!
//! Weights are printed with three decimals, so compiling the text again may give other weights: compare maps,
//! not texts.

use super::UNSAID_SIZES;
use crate::crush::bucket::{Alg, Bucket};
use crate::crush::map::{ChooseArgs, ItemId, Map, Mode, Rule, RuleKind, Setting, Step, Tunables, id_of};
use std::collections::BTreeSet;
use std::fmt::{self, Write};

/// Why a map has no text form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrintError {
    /// A rule starts from an item that does not exist, or from a shadow whose bucket or class does not exist.
    #[error("rule {rule} takes item {item}, which has no name in the map")]
    Take {
        /// The rule.
        rule: usize,
        /// The item.
        item: ItemId,
    },
    /// The map uses a class id without a name.
    #[error("bucket {bucket} has a shadow for class {class}, which has no name")]
    Class {
        /// The bucket.
        bucket: ItemId,
        /// The class.
        class: i32,
    },
}

/// Prints a map.
pub fn print(map: &Map) -> Result<String, PrintError> {
    let mut printer = Printer { map, out: String::new(), done: BTreeSet::new() };
    printer.line("# begin crush map");
    printer.tunables();
    printer.devices();
    printer.types();
    printer.line("\n# buckets");
    for slot in 0..map.buckets.len() {
        printer.bucket_and_below(id_of(slot))?;
    }
    printer.line("\n# rules");
    for (id, rule) in map.rules.iter().enumerate() {
        if let Some(rule) = rule {
            printer.rule(id, rule)?;
        }
    }
    if !map.choose_args.is_empty() {
        printer.line("\n# choose_args");
        for (&index, args) in &map.choose_args {
            printer.choose_args(index, args);
        }
    }
    printer.line("\n# end crush map");
    Ok(printer.out)
}

struct Printer<'a> {
    map: &'a Map,
    out: String,
    done: BTreeSet<ItemId>,
}

impl Printer<'_> {
    fn put(&mut self, words: fmt::Arguments<'_>) {
        self.out.write_fmt(words).expect("a string takes everything");
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn tunables(&mut self) {
        let (ours, legacy) = (&self.map.tunables, &Tunables::LEGACY);
        let rows = [
            ("choose_local_tries", ours.choose_local_tries, legacy.choose_local_tries),
            (
                "choose_local_fallback_tries",
                ours.choose_local_fallback_tries,
                legacy.choose_local_fallback_tries,
            ),
            ("choose_total_tries", ours.choose_total_tries, legacy.choose_total_tries),
            ("chooseleaf_descend_once", ours.chooseleaf_descend_once, legacy.chooseleaf_descend_once),
            ("chooseleaf_vary_r", ours.chooseleaf_vary_r.into(), legacy.chooseleaf_vary_r.into()),
            ("chooseleaf_stable", ours.chooseleaf_stable.into(), legacy.chooseleaf_stable.into()),
            ("straw_calc_version", ours.straw_calc_version.into(), legacy.straw_calc_version.into()),
            ("allowed_bucket_algs", ours.allowed_bucket_algs, legacy.allowed_bucket_algs),
            ("msr_descents", ours.msr_descents, legacy.msr_descents),
            ("msr_collision_tries", ours.msr_collision_tries, legacy.msr_collision_tries),
        ];
        for (name, value, usual) in rows {
            if value != usual {
                // Ceph stores these as signed numbers.
                self.put(format_args!("tunable {name} {}\n", value as i32));
            }
        }
    }

    fn devices(&mut self) {
        let map = self.map;
        self.line("\n# devices");
        for (id, name) in map.item_names.range(0..map.max_devices.max(0)) {
            self.put(format_args!("device {id} {name}"));
            if let Some(class) = map.item_classes.get(id).and_then(|class| map.class_names.get(class)) {
                self.put(format_args!(" class {class}"));
            }
            self.line("");
        }
    }

    fn types(&mut self) {
        let map = self.map;
        self.line("\n# types");
        if !map.type_names.is_empty() && !map.type_names.contains_key(&0) {
            self.line("type 0 osd");
        }
        for (id, name) in map.type_names.range(0..) {
            self.put(format_args!("type {id} {name}\n"));
        }
    }

    /// Prints the items of a bucket before the bucket itself, as a text map requires. Reading limits the
    /// depth of a map, so recursion is safe.
    fn bucket_and_below(&mut self, id: ItemId) -> Result<(), PrintError> {
        let map = self.map;
        let Some(bucket) = map.bucket(id) else { return Ok(()) };
        if !self.done.insert(id) {
            return Ok(());
        }
        for &item in &bucket.items {
            self.bucket_and_below(item)?;
        }
        if map.item_names.get(&id).is_none_or(|name| is_plain(name)) {
            self.bucket(bucket)?;
        }
        Ok(())
    }

    fn bucket(&mut self, bucket: &Bucket) -> Result<(), PrintError> {
        let map = self.map;
        let (kind, name) = (self.type_name(i32::from(bucket.kind)), self.item_name(bucket.id));
        self.put(format_args!("{kind} {name} {{\n"));
        self.put(format_args!("\tid {}\t\t# do not change unnecessarily\n", bucket.id));
        for (class, shadow) in map.class_buckets.get(&bucket.id).into_iter().flatten() {
            let Some(class) = map.class_names.get(class) else {
                return Err(PrintError::Class { bucket: bucket.id, class: *class });
            };
            self.put(format_args!("\tid {shadow} class {class}\t\t# do not change unnecessarily\n"));
        }
        self.put(format_args!("\t# weight {}\n", Weight(bucket.weight)));
        let alg = bucket.alg();
        let note = match alg {
            Alg::Uniform => format!("\t# do not change bucket size ({}) unnecessarily", bucket.items.len()),
            Alg::List => "\t# add new items at the end; do not change order unnecessarily".to_owned(),
            Alg::Tree => "\t# do not change pos for existing items unnecessarily".to_owned(),
            Alg::Straw | Alg::Straw2 | Alg::Vring => String::new(),
        };
        self.put(format_args!("\talg {}{note}\n", alg.name()));
        let hash = if bucket.hash == 0 { "rjenkins1" } else { "unknown" };
        self.put(format_args!("\thash {}\t# {hash}\n", bucket.hash));
        for (position, &item) in bucket.items.iter().enumerate() {
            let name = self.item_name(item);
            self.put(format_args!("\titem {name} weight {}", Weight(bucket.item_weight(position))));
            if matches!(alg, Alg::Uniform | Alg::Tree) {
                self.put(format_args!(" pos {position}"));
            }
            self.line("");
        }
        self.line("}");
        Ok(())
    }

    fn rule(&mut self, id: usize, rule: &Rule) -> Result<(), PrintError> {
        let name = self.map.rule_names.get(&(id as i32)).cloned().unwrap_or_default();
        self.put(format_args!("rule {name} {{\n\tid {id}\n"));
        if usize::from(rule.ruleset) != id {
            self.put(format_args!(
                "\t# WARNING: ruleset {} != id {id}; this will not recompile to the same map\n",
                rule.ruleset
            ));
        }
        match rule.kind {
            RuleKind::Replicated => self.line("\ttype replicated"),
            RuleKind::Erasure => self.line("\ttype erasure"),
            RuleKind::MsrFirstn => self.line("\ttype msr_firstn"),
            RuleKind::MsrIndep => self.line("\ttype msr_indep"),
            RuleKind::Other(number) => self.put(format_args!("\ttype {number}\n")),
        }
        // Releases that have multi-step-retry rules do not print the sizes that they give to all rules.
        if rule.kind.msr_mode().is_none() || (rule.min_size, rule.max_size) != UNSAID_SIZES {
            self.put(format_args!("\tmin_size {}\n\tmax_size {}\n", rule.min_size, rule.max_size));
        }
        for step in &rule.steps {
            self.step(id, *step)?;
        }
        self.line("}");
        Ok(())
    }

    fn step(&mut self, rule: usize, step: Step) -> Result<(), PrintError> {
        match step {
            Step::Noop => self.line("\tstep noop"),
            Step::Emit => self.line("\tstep emit"),
            Step::Take(item) => {
                let words = self.taken(item).ok_or(PrintError::Take { rule, item })?;
                self.put(format_args!("\tstep take {words}\n"));
            }
            Step::Set(setting, value) => {
                let row = Setting::ALL.iter().find(|row| row.0 == setting).expect("every setting has a row");
                self.put(format_args!("\tstep {} {value}\n", row.2));
            }
            Step::ChooseMsr { count, kind } => {
                let kind = self.type_name(kind);
                self.put(format_args!("\tstep choosemsr {count} type {kind}\n"));
            }
            Step::Choose { mode, leaf, count, kind } => {
                let verb = if leaf { "chooseleaf" } else { "choose" };
                let mode = if mode == Mode::Firstn { "firstn" } else { "indep" };
                let kind = self.type_name(kind);
                self.put(format_args!("\tstep {verb} {mode} {count} type {kind}\n"));
            }
        }
        Ok(())
    }

    /// The argument of a `take` step: a name, or a name and a class for a shadow.
    fn taken(&self, item: ItemId) -> Option<String> {
        let name = self.map.item_names.get(&item)?;
        let Some((plain, class)) = name.split_once('~') else { return Some(name.clone()) };
        self.map.item_id(plain)?;
        self.map.class_id(class)?;
        Some(format!("{plain} class {class}"))
    }

    fn choose_args(&mut self, index: i64, args: &ChooseArgs) {
        // Ceph prints the index as an unsigned number, and reads it back by overflow.
        self.put(format_args!("choose_args {} {{\n", index as u64));
        for (&slot, arg) in args {
            if arg.weight_sets.is_empty() && arg.ids.is_empty() {
                continue;
            }
            self.put(format_args!("  {{\n    bucket_id {}\n", id_of(slot as usize)));
            if !arg.weight_sets.is_empty() {
                self.line("    weight_set [");
                for weights in &arg.weight_sets {
                    let weights: String =
                        weights.iter().map(|&weight| format!("{} ", Weight(weight))).collect();
                    self.put(format_args!("      [ {weights}]\n"));
                }
                self.line("    ]");
            }
            if !arg.ids.is_empty() {
                let ids: String = arg.ids.iter().map(|id| format!("{id} ")).collect();
                self.put(format_args!("    ids [ {ids}]\n"));
            }
            self.line("  }");
        }
        self.line("}");
    }

    fn item_name(&self, id: ItemId) -> String {
        match self.map.item_names.get(&id) {
            Some(name) => name.clone(),
            None if id >= 0 => format!("device{id}"),
            None => format!("bucket{}", -1 - id),
        }
    }

    fn type_name(&self, id: i32) -> String {
        match self.map.type_names.get(&id) {
            Some(name) => name.clone(),
            None if id == 0 => "device".to_owned(),
            None => format!("type{id}"),
        }
    }
}

/// Whether a name is plain; names of shadow buckets are not, and are not printed.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// A weight as crushtool prints it: signed, single precision, three decimals.
struct Weight(u32);

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", f64::from(self.0 as i32 as f32 / 65_536.0))
    }
}
