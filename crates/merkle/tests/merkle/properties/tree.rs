//! Compares trees with rebuilt ones after any steps, splits and merges; and differences with brute force.

use proptest::prelude::*;
use towtank_merkle::{Bitmap, ObjectId, ReshapeError, Shape, Subspace, Tree, Version};

use super::oracle::{self, Kept, Objects, Step, steps};

fn shape(leaf_bits: u8) -> Shape {
    Shape::new(Subspace::WHOLE, leaf_bits).expect("few enough leaves")
}

/// Whether `kept` has, after the steps, the leaves of a tree that is built from the objects.
fn equals_rebuilt<K: Kept>(steps: &[Step], leaf_bits: u8, mut kept: K, tree: impl Fn(&K) -> &Tree) -> bool {
    let mut objects = Objects::default();
    objects.run(steps, &mut kept);
    let (mut kept, mut rebuilt) = (tree(&kept).clone(), objects.tree(shape(leaf_bits)));
    kept == rebuilt && kept.settle().root() == rebuilt.settle().root()
}

/// Whether every node equals the one recomputed from its children, ignoring marks.
fn all_parents_are_right(tree: &mut Tree) -> bool {
    let settled = tree.settle();
    let mut fresh = settled.to_tree();
    let fresh = fresh.settle();
    (0..=settled.shape().leaf_bits()).all(|depth| settled.nodes_at(depth) == fresh.nodes_at(depth))
}

proptest! {
    #[test]
    fn after_any_steps_it_is_the_rebuilt_tree(steps in steps(200), leaf_bits in 0..9_u8) {
        prop_assert!(equals_rebuilt(&steps, leaf_bits, Tree::new(shape(leaf_bits)), |tree| tree));
    }

    #[test]
    fn late_and_early_parents_are_the_same(steps in steps(120), leaf_bits in 0..9_u8, late in any::<u64>()) {
        let (mut mixed, mut objects) = (Mixed { tree: Tree::new(shape(leaf_bits)), late, step: 0 }, Objects::default());
        objects.run(&steps, &mut mixed);
        prop_assert!(all_parents_are_right(&mut mixed.tree));
        prop_assert_eq!(mixed.tree.settle().root(), objects.tree(shape(leaf_bits)).settle().root());
    }

    #[test]
    fn reverting_gives_the_former_state(before in steps(40), after in steps(40), leaf_bits in 0..9_u8) {
        let (mut tree, mut objects) = (Tree::new(shape(leaf_bits)), Objects::default());
        objects.run(&before, &mut tree);
        let (root, former) = (tree.settle().root(), objects.clone());
        objects.run(&after, &mut tree);
        let back: Vec<Step> = former
            .differing(&objects)
            .into_iter()
            .map(|((hash, id), (former, _))| Step { hash, id, new: former })
            .collect();
        objects.run(&back, &mut tree);
        prop_assert_eq!(&objects, &former);
        prop_assert_eq!(tree.settle().root(), root);
    }

    #[test]
    fn splits_and_merges_are_rebuilding(steps in steps(150), leaf_bits in 1..9_u8, group in 0..4_u32) {
        let (mut objects, mut ignored) = (Objects::default(), Tree::new(shape(0)));
        objects.run(&steps, &mut ignored);
        let space = Subspace::of_group(group, 4).expect("one of four");
        let whole = objects.tree(Shape::new(space, leaf_bits).expect("few leaves"));
        let (low, high) = whole.split().expect("it has leaves to split");
        prop_assert_eq!(&low, &objects.tree(low.shape()));
        prop_assert_eq!(&high, &objects.tree(high.shape()));
        // The halves are the groups that the pool has after doubling its number of groups.
        prop_assert_eq!(Some(low.shape().space()), Subspace::of_group(group, 8));
        prop_assert_eq!(Some(high.shape().space()), Subspace::of_group(group + 4, 8));
        let mut merged = Tree::merge(&low, &high).expect("they are halves");
        prop_assert_eq!(&merged, &whole);
        prop_assert!(all_parents_are_right(&mut merged));
        let not_halves = ReshapeError::NotHalves { low: high.shape(), high: low.shape() };
        prop_assert_eq!(Tree::merge(&high, &low), Err(not_halves));
        for coarser in 0..=leaf_bits {
            let shape = Shape::new(space, coarser).expect("fewer leaves");
            prop_assert_eq!(whole.coarsened(coarser), Ok(objects.tree(shape)));
        }
    }

    #[test]
    fn the_difference_is_exactly_the_leaves_that_differ(left in steps(150), right in steps(150), leaf_bits in 0..12_u8) {
        let (mut ours, mut theirs) = (Tree::new(shape(leaf_bits)), Tree::new(shape(leaf_bits)));
        Objects::default().run(&left, &mut ours);
        Objects::default().run(&right, &mut theirs);
        let want = oracle::difference(&ours, &theirs);
        prop_assert_eq!(ours.settle().difference(&theirs.settle()), Ok(want));
    }

    #[test]
    fn dense_differences_are_merged_across_blocks(pattern in prop::collection::vec(any::<bool>(), 512)) {
        let mut ours = Tree::new(shape(9));
        for (leaf, differs) in pattern.iter().enumerate() {
            let at = ours.shape().positions_of(leaf, leaf).first;
            if *differs {
                ours.update(at.hash(), ObjectId(1), None, Some(Version(1)));
            }
        }
        let differing = pattern.iter().enumerate().filter(|(_, differs)| **differs).map(|(leaf, _)| leaf);
        let want = oracle::merged(ours.shape(), differing);
        let mut nothing = Tree::new(shape(9));
        prop_assert_eq!(ours.settle().difference(&nothing.settle()), Ok(want));
    }

    #[test]
    fn a_bitmap_has_every_range_that_differs(before in steps(60), missed in steps(60), leaf_bits in 0..9_u8) {
        let (mut tree, mut objects) = (Tree::new(shape(leaf_bits)), Objects::default());
        objects.run(&before, &mut tree);
        let mut replica = tree.clone();
        let mut bitmap = Bitmap::new(tree.shape());
        missed.iter().for_each(|step| bitmap.mark(step.hash));
        objects.run(&missed, &mut tree);
        let ranges = bitmap.ranges();
        for range in tree.settle().difference(&replica.settle()).expect("of one shape") {
            let covers = ranges.iter().any(|marked| marked.contains(range.first) && marked.contains(range.last));
            prop_assert!(covers, "{:?} is not in {:?}", range, ranges);
        }
        prop_assert_eq!(Bitmap::decode(&bitmap.encode()), Ok(bitmap));
    }
}

/// Makes some updates immediately and some lazily.
struct Mixed {
    tree: Tree,
    late: u64,
    step: u32,
}

impl Kept for Mixed {
    fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        if self.late.rotate_right(self.step) & 1 == 0 {
            self.tree.update_at_once(hash, id, old, new);
        } else {
            self.tree.update(hash, id, old, new);
        }
        self.step += 1;
        if self.late.rotate_right(self.step) & 7 == 7 {
            self.tree.settle();
        }
    }
}

/// A planted mistake: deletes do not reach the tree.
struct ForgetsDeletes(Tree);

impl Kept for ForgetsDeletes {
    fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        if new.is_some() {
            self.0.update(hash, id, old, new);
        }
    }
}

/// A planted mistake: an overwritten version stays in the tree.
struct KeepsOldVersions(Tree);

impl Kept for KeepsOldVersions {
    fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        self.0.update(hash, id, old.filter(|_| new.is_none()), new);
    }
}

fn a_life() -> Vec<Step> {
    let step = |new: Option<u64>| Step { hash: 3, id: ObjectId(1), new: new.map(Version) };
    vec![step(Some(4)), step(Some(6)), step(None)]
}

#[test]
fn planted_mistakes_in_updates_are_noticed() {
    assert!(equals_rebuilt(&a_life(), 5, Tree::new(shape(5)), |tree| tree));
    assert!(!equals_rebuilt(&a_life(), 5, ForgetsDeletes(Tree::new(shape(5))), |kept| &kept.0));
    assert!(!equals_rebuilt(&a_life()[..2], 5, KeepsOldVersions(Tree::new(shape(5))), |kept| &kept.0));
}

#[test]
fn a_planted_split_by_the_top_bit_of_the_hash_is_noticed() {
    let mut objects = oracle::many(50, 1);
    let whole = objects.tree(shape(4));
    let (low, _) = whole.split().expect("it has leaves to split");
    // A wrong split, by the hash instead of the reversed hash.
    objects.versions.retain(|(hash, _), _| hash >> 31 == 0);
    let planted = towtank_merkle::rebuilt::rebuild(low.shape(), objects.within(low.shape())).tree;
    assert_ne!(low, planted);
}

#[test]
fn a_planted_parent_that_is_the_xor_of_its_children_is_noticed() {
    let at = |leaf| shape(1).positions_of(leaf, leaf).first.hash();
    let (mut low, mut high) = (Tree::new(shape(1)), Tree::new(shape(1)));
    low.update(at(0), ObjectId(1), None, Some(Version(1)));
    high.update(at(1), ObjectId(1), None, Some(Version(1)));
    let planted = |tree: &Tree| tree.leaves()[0] ^ tree.leaves()[1];
    assert_eq!(planted(&low), planted(&high), "an XOR does not tell one leaf from the other");
    assert_ne!(low.settle().root(), high.settle().root());
}

#[test]
fn figure_11_of_the_thesis() {
    let mut tree = Tree::new(shape(14));
    let (id, four, six) = (ObjectId(1), Some(Version(4)), Some(Version(6)));
    for (old, new, is_empty) in [(None, four, false), (four, six, false), (six, None, true)] {
        tree.update(77, id, old, new);
        assert_eq!(tree.settle().root() == 0, is_empty);
    }
}

#[test]
fn what_cannot_be_reshaped_says_why() {
    let one = Tree::new(shape(0));
    assert_eq!(one.split(), Err(ReshapeError::OneLeaf));
    assert_eq!(one.coarsened(1), Err(ReshapeError::NotCoarser { have: 0, asked: 1 }));
    assert_eq!(
        one.coarsened(1).expect_err("it has one leaf").to_string(),
        "a tree of 2^0 leaves cannot be coarsened to 2^1"
    );
    let half =
        |group| Tree::new(Shape::new(Subspace::of_group(group, 2).expect("it exists"), 24).expect("fits"));
    let error = Tree::merge(&half(0), &half(1)).expect_err("too many leaves");
    assert_eq!(
        error.to_string(),
        "the merged tree would have 2^25 leaves, but the limit is 2^24: coarsen both first"
    );
    let mut coarse = Tree::new(shape(3));
    let mut fine = Tree::new(shape(4));
    let error = fine.settle().difference(&coarse.settle()).expect_err("of two shapes").to_string();
    assert_eq!(
        error,
        "one tree has 2^4 leaves over positions 00000000 to ffffffff, the other 2^3 leaves over positions 00000000 \
         to ffffffff: coarsen the finer one, or split or merge"
    );
}
