//! A replica was away for an hour and missed some writes. What changed, and what does finding out cost?
//!
//! Run it with `cargo run -p towtank-merkle --example what_changed`.

use towtank_merkle::exchange::{ExchangeError, Form, Found, Side, converse};
use towtank_merkle::plan::cells_for;
use towtank_merkle::{ObjectId, Position, Shape, Sketch, SkipSet, Subspace, Tree, Version};

/// Objects of the group, and how many of them were written in the meantime.
const OBJECTS: u32 = 50_000;
const WRITTEN: u32 = 500;
/// The bytes of an entry in a list of objects: hash, name and version.
const ENTRY_BYTES: u64 = 48;

/// A replica of the group: what it stores, and the summaries beside it.
#[derive(Clone)]
struct Replica {
    hashes: Vec<(u32, ObjectId)>,
    tree: Tree,
    sketch: Sketch,
}

impl Replica {
    fn new(shape: Shape) -> Replica {
        let tree = Tree::new(shape);
        Replica { hashes: Vec::new(), tree, sketch: Sketch::new(cells_for(f64::from(WRITTEN)) as usize) }
    }

    fn write(&mut self, (hash, id): (u32, ObjectId), old: Option<Version>, new: Option<Version>) {
        self.tree.update(hash, id, old, new);
        self.sketch.update(hash, id, old, new);
    }

    fn side(&mut self) -> Side<'_> {
        Side { tree: self.tree.settle(), sketch: Some(&self.sketch) }
    }
}

/// The result, as the text that is printed.
pub fn answer() -> Result<String, ExchangeError> {
    let shape = Shape::new(Subspace::WHOLE, 14).expect("2^14 leaves are few enough");
    let mut primary = Replica::new(shape);
    for number in 0..OBJECTS {
        let id = ObjectId::of_name(format!("object {number}").as_bytes());
        // Ceph uses another hash for names; any hash works here.
        let object = (id.0 as u32, id);
        primary.hashes.push(object);
        primary.write(object, None, Some(Version(1)));
    }
    let mut replica = primary.clone();
    for number in (0..OBJECTS).step_by((OBJECTS / WRITTEN) as usize) {
        primary.write(primary.hashes[number as usize], Some(Version(1)), Some(Version(2)));
    }

    let mut lines = format!("{OBJECTS} objects, {WRITTEN} written while the replica was away\n");
    let scanned = u64::from(OBJECTS) * ENTRY_BYTES;
    lines += &format!("scan:   {OBJECTS:6} objects looked at, {scanned:8} bytes\n");
    let cells = (f64::from(WRITTEN) * 1.4) as u32;
    let forms = [("whole:", Form::Whole), ("levels:", Form::LEVELS), ("sketch:", Form::Sketch { cells })];
    for (name, form) in forms {
        let (found, tally) = converse(primary.side(), replica.side(), form)?;
        let (looked_at, listed) = match &found {
            Found::Ranges(ranges) => {
                let skipped = SkipSet::all_but(shape.space().range(), ranges);
                let is_looked_at = |hash: u32| !skipped.contains(Position::of_hash(hash));
                let looked_at = primary.hashes.iter().filter(|(hash, _)| is_looked_at(*hash)).count();
                (looked_at, looked_at as u64 * ENTRY_BYTES)
            }
            // The objects are named with their versions, so nothing has to be listed.
            Found::Objects(objects) => (objects.len(), 0),
            Found::Nothing | Found::Overflow => (0, 0),
        };
        let bytes = tally.bytes + listed;
        lines += &format!(
            "{name:7} {looked_at:6} objects looked at, {bytes:8} bytes, {} messages\n",
            tally.messages
        );
    }
    Ok(lines)
}

fn main() -> Result<(), ExchangeError> {
    print!("{}", answer()?);
    Ok(())
}
