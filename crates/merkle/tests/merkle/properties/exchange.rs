//! Compares the results of exchanges with the difference of the trees themselves.

use proptest::prelude::*;
use towtank_merkle::exchange::{ExchangeError, Form, Found, Message, Session, Side, Turn, answer, converse};
use towtank_merkle::{Shape, Sketch, Subspace, Tree};

use super::oracle::{self, Objects, many, steps};

fn shape(leaf_bits: u8) -> Shape {
    Shape::new(Subspace::WHOLE, leaf_bits).expect("few enough leaves")
}

fn sketch_of(objects: &Objects, cells: usize) -> Sketch {
    let mut sketch = Sketch::new(cells);
    objects.iter().for_each(|object| sketch.update(object.hash, object.id, None, Some(object.version)));
    sketch
}

proptest! {
    #[test]
    fn both_forms_find_the_difference(left in steps(150), right in steps(150), leaf_bits in 0..12_u8, stride in 1..9_u8) {
        let (mut ours, mut theirs) = (Tree::new(shape(leaf_bits)), Tree::new(shape(leaf_bits)));
        Objects::default().run(&left, &mut ours);
        Objects::default().run(&right, &mut theirs);
        let want = oracle::difference(&ours, &theirs);
        let want = if want.is_empty() { Found::Nothing } else { Found::Ranges(want) };
        for form in [Form::Whole, Form::Levels { stride }] {
            let sides = [&mut ours, &mut theirs].map(|tree| Side { tree: tree.settle(), sketch: None });
            let (found, tally) = converse(sides[0], sides[1], form).expect("it goes through");
            prop_assert_eq!(&found, &want, "{:?}", form);
            prop_assert!(tally.messages >= 2);
        }
    }

    #[test]
    fn a_sketch_names_the_objects(left in steps(60), right in steps(60), cells in 0..200_u32) {
        let (mut ours, mut theirs, mut ignored) = (Objects::default(), Objects::default(), Tree::new(shape(0)));
        ours.run(&left, &mut ignored);
        theirs.run(&right, &mut ignored);
        let (our_sketch, their_sketch) = (sketch_of(&ours, 2_000), sketch_of(&theirs, 2_000));
        let (mut our_tree, mut their_tree) = (ours.tree(shape(6)), theirs.tree(shape(6)));
        let our_side = Side { tree: our_tree.settle(), sketch: Some(&our_sketch) };
        let their_side = Side { tree: their_tree.settle(), sketch: Some(&their_sketch) };
        let (found, _) = converse(our_side, their_side, Form::Sketch { cells }).expect("it goes through");
        let want: Vec<_> = ours.differing(&theirs).into_keys().collect();
        match found {
            Found::Nothing => prop_assert!(want.is_empty()),
            Found::Objects(objects) => {
                let mut named: Vec<_> = objects.iter().map(|object| (object.hash, object.id)).collect();
                named.sort_unstable();
                prop_assert_eq!(named, want);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn any_message_is_answered_or_refused(leaf_bits in 0..8_u8, left in steps(20), depth in 0..9_u8, stride in 0..9_u8,
        parents in prop::collection::vec(any::<u32>(), 0..4), digests in prop::collection::vec(any::<u64>(), 0..40))
    {
        let mut tree = Tree::new(shape(leaf_bits));
        Objects::default().run(&left, &mut tree);
        let shape = tree.shape();
        let side = Side { tree: tree.settle(), sketch: None };
        // A message that decoding would reject.
        let _ = answer(side, &Message::Nodes { shape, depth, stride, parents, digests });
    }
}

#[test]
fn matching_roots_end_it_in_two_messages() {
    let (mut ours, mut theirs) = (many(1000, 1).tree(shape(10)), many(1000, 1).tree(shape(10)));
    for form in [Form::Whole, Form::LEVELS] {
        let sides = [&mut ours, &mut theirs].map(|tree| Side { tree: tree.settle(), sketch: None });
        let (found, tally) = converse(sides[0], sides[1], form).expect("it goes through");
        assert_eq!((found, tally.messages, tally.bytes), (Found::Nothing, 2, 34 + 15));
    }
}

#[test]
fn a_planted_descent_that_skips_right_children_is_noticed() {
    let (ours, mut theirs) = (many(2000, 1), many(2000, 1));
    theirs.versions.values_mut().step_by(50).for_each(|version| version.0 += 1);
    let (mut our_tree, mut their_tree) = (ours.tree(shape(8)), theirs.tree(shape(8)));
    let want = oracle::difference(&our_tree, &their_tree);
    let sides = [&mut our_tree, &mut their_tree].map(|tree| Side { tree: tree.settle(), sketch: None });
    let (mut session, head) = Session::open(sides[0], Form::Levels { stride: 1 }).expect("it opens");
    let found_with = |session: &mut Session, spoil: &dyn Fn(&mut Message)| {
        let mut to_them = head.clone();
        loop {
            let mut reply = answer(sides[1], &to_them).expect("it answers").reply.expect("it is not the end");
            spoil(&mut reply);
            match session.receive(sides[0], &reply).expect("it fits") {
                Turn { found: Some(found), .. } => return found,
                Turn { reply, .. } => to_them = reply.expect("it goes on"),
            }
        }
    };
    assert_eq!(found_with(&mut session, &|_| ()), Found::Ranges(want.clone()));
    let skips_right = |message: &mut Message| {
        if let Message::Nodes { depth, stride, parents, digests, .. } = message {
            for (parent, pair) in parents.iter().zip(digests.chunks_exact_mut(1 << *stride)) {
                let right = ((*parent as usize) << *stride) + 1;
                pair[1] = sides[0].tree.nodes_at(*depth + *stride)[right];
            }
        }
    };
    assert_ne!(found_with(&mut session, &skips_right), Found::Ranges(want));
}

#[test]
fn too_few_cells_are_reported_and_levels_find_it() {
    let (ours, theirs) = (many(3000, 1), many(3000, 2));
    let (our_sketch, their_sketch) = (sketch_of(&ours, 100), sketch_of(&theirs, 300));
    let (mut our_tree, mut their_tree) = (ours.tree(shape(8)), theirs.tree(shape(8)));
    let our_side = Side { tree: our_tree.settle(), sketch: Some(&our_sketch) };
    let their_side = Side { tree: their_tree.settle(), sketch: Some(&their_sketch) };
    for (ours, theirs) in [(our_side, their_side), (their_side, our_side)] {
        let (found, tally) = converse(ours, theirs, Form::Sketch { cells: 10 }).expect("it goes through");
        assert_eq!(found, Found::Overflow);
        assert!(tally.bytes < 300 * 32 + 1000, "{tally:?}");
        let (found, _) = converse(ours, theirs, Form::LEVELS).expect("it goes through");
        assert!(matches!(found, Found::Ranges(_)));
    }
}

#[test]
fn a_planted_sketch_that_missed_a_write_is_not_believed() {
    let (ours, mut theirs) = (many(300, 1), many(300, 1));
    theirs.versions.values_mut().next().expect("it has objects").0 += 1;
    let (mut our_tree, mut their_tree) = (ours.tree(shape(6)), theirs.tree(shape(6)));
    let stale = sketch_of(&ours, 50);
    let our_side = Side { tree: our_tree.settle(), sketch: Some(&stale) };
    let their_side = Side { tree: their_tree.settle(), sketch: Some(&stale) };
    let (found, _) = converse(our_side, their_side, Form::Sketch { cells: 4 }).expect("it goes through");
    assert_eq!(found, Found::Overflow, "the roots differ, so something must");
}

#[test]
fn what_does_not_fit_is_refused() {
    let (mut ours, mut theirs) = (Tree::new(shape(3)), Tree::new(shape(4)));
    let ours = Side { tree: ours.settle(), sketch: None };
    let theirs = Side { tree: theirs.settle(), sketch: None };
    assert!(matches!(converse(ours, theirs, Form::Whole), Err(ExchangeError::Shapes(_))));
    assert_eq!(converse(ours, ours, Form::Sketch { cells: 4 }), Err(ExchangeError::NoSketch));
    assert_eq!(answer(ours, &Message::HeadMatch), Err(ExchangeError::Unexpected));
    let ask = Message::AskCells { from: 0, count: 1 };
    assert_eq!(
        answer(ours, &ask).expect_err("it keeps none").to_string(),
        "the peer requests a sketch, but none is kept: compare the trees"
    );
    let (mut session, _) = Session::open(ours, Form::Whole).expect("it opens");
    assert_eq!(session.receive(ours, &ask), Err(ExchangeError::Unexpected));
}
