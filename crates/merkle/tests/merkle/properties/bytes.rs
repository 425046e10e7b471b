//! Encodings: they decode to what was encoded, and no input makes a reader panic or allocate much memory.

use proptest::prelude::*;
use towtank_merkle::exchange::{Form, Message};
use towtank_merkle::{Bitmap, DecodeError, PositionRange, Shape, Sketch, SkipSet, Subspace, Tree, restore};

use super::oracle::{Objects, steps};

fn shape() -> impl Strategy<Value = Shape> {
    (0..40_u32, 0..7_u8).prop_map(|(group, leaf_bits)| {
        let space = Subspace::of_group(group, 40).expect("it exists");
        Shape::new(space, leaf_bits).expect("few enough leaves")
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    (shape(), steps(60)).prop_map(|(shape, steps)| {
        let mut objects = Objects::default();
        objects.run(&steps, &mut Tree::new(Shape::new(Subspace::WHOLE, 0).expect("one leaf")));
        objects.tree(shape)
    })
}

fn message() -> impl Strategy<Value = Message> {
    let form = prop_oneof![
        Just(Form::Whole),
        (1..=8_u8).prop_map(|stride| Form::Levels { stride }),
        any::<u32>().prop_map(|cells| Form::Sketch { cells }),
    ];
    let nodes = (0..5_u8, 1..=4_u8, prop::collection::btree_set(0..16_u32, 0..16), any::<u64>());
    prop_oneof![
        (shape(), any::<u64>(), form).prop_map(|(shape, root, form)| Message::Head { shape, root, form }),
        Just(Message::HeadMatch),
        tree().prop_map(|tree| Message::Whole(Box::new(tree))),
        nodes.prop_map(|(depth, stride, parents, seed)| {
            let shape = Shape::new(Subspace::WHOLE, 12).expect("few enough leaves");
            let parents: Vec<u32> = parents.into_iter().filter(|node| *node < 1 << depth).collect();
            let digests = (0..parents.len() << stride).map(|at| seed.wrapping_mul(at as u64)).collect();
            Message::Nodes { shape, depth, stride, parents, digests }
        }),
        (shape(), any::<u64>()).prop_map(|(shape, pattern)| {
            let mut differing = SkipSet::new();
            let leaves = (0..shape.leaves().min(64)).filter(|leaf| pattern >> leaf & 1 == 1);
            leaves.for_each(|leaf| differing.insert(shape.positions_of(leaf, leaf)));
            let ranges: Vec<PositionRange> = differing.iter().collect();
            Message::Differ { shape, ranges }
        }),
        (any::<u32>(), any::<u32>()).prop_map(|(from, count)| Message::AskCells { from, count }),
        (any::<u32>(), steps(20), 0..30_usize).prop_map(|(from, steps, cells)| {
            let mut sketch = Sketch::new(cells);
            Objects::default().run(&steps, &mut sketch);
            Message::Cells { from, cells: sketch.cells().to_vec() }
        }),
    ]
}

/// Calls every reader; none may panic.
fn read_by_all(bytes: &[u8]) {
    let _ = Tree::decode(bytes);
    let _ = Message::decode(bytes);
    let _ = Sketch::decode(bytes);
    let _ = Bitmap::decode(bytes);
    let _ = restore::<Tree>(bytes, bytes);
    let _ = restore::<Sketch>(bytes, bytes);
    let image = Tree::new(Shape::new(Subspace::WHOLE, 4).expect("few leaves")).encode();
    let _ = restore::<Tree>(&image, bytes);
}

/// Appends a correct checksum, so that readers parse the bytes before it.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len().saturating_sub(8);
    let towtank_merkle::ObjectId(checksum) = towtank_merkle::ObjectId::of_name(&bytes[..end]);
    bytes.truncate(end);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

proptest! {
    #[test]
    fn trees_read_back(mut tree in tree()) {
        prop_assert_eq!(Tree::decode(&tree.encode()), Ok(tree.clone()));
        prop_assert_eq!(tree.encode(), tree.settle().encode());
    }

    #[test]
    fn messages_read_back(message in message()) {
        prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn sketches_read_back(steps in steps(40), cells in 0..100_usize) {
        let mut sketch = Sketch::new(cells);
        Objects::default().run(&steps, &mut sketch);
        prop_assert_eq!(Sketch::decode(&sketch.encode()), Ok(sketch));
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0..7_u8) {
        read_by_all(&bytes);
        read_by_all(&sealed([b"TTMK\x01".as_slice(), &[kind], &bytes].concat()));
    }

    #[test]
    fn changed_messages_are_answered(
        message in message(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = message.encode();
        for (at, value) in changes {
            let place = at.index(bytes.len());
            bytes[place] = value;
        }
        read_by_all(&bytes);
        if bytes != message.encode() {
            prop_assert!(Message::decode(&bytes).is_err());
        }
        read_by_all(&sealed(bytes.clone()));
        bytes.truncate(cut.index(bytes.len()));
        read_by_all(&sealed(bytes));
    }
}

#[test]
fn a_short_encoding_cannot_ask_for_a_large_tree() {
    // The header names 2^24 leaves and no leaf follows: refused before anything is allocated.
    let claimed = sealed([b"TTMK\x01\x01".as_slice(), &[0, 24, 0, 0, 0, 0], &[0; 8]].concat());
    assert_eq!(Tree::decode(&claimed), Err(DecodeError::Short { have: 0, need: 8 << 24 }));
    let nodes = sealed(
        [b"TTMK\x01\x03\x04".as_slice(), &[0, 24, 0, 0, 0, 0, 20, 4, 0xff, 0xff, 0x3f], &[0; 8]].concat(),
    );
    assert!(matches!(Message::decode(&nodes), Err(DecodeError::Impossible { .. })));
}

#[test]
fn each_fault_has_its_own_words() {
    let bytes = Tree::new(Shape::new(Subspace::WHOLE, 2).expect("few leaves")).encode();
    let with = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        bytes
    };
    let message = |bytes: &[u8]| Tree::decode(bytes).expect_err("it is damaged").to_string();
    assert_eq!(message(b"TT"), "it has 2 bytes, but needs 6: its end is missing");
    assert_eq!(message(&with(0, b'X')), "it does not start like a Merkle encoding: wrong file, or damaged");
    assert!(message(&with(4, 9)).starts_with("it has version 9, but this program reads version 1"));
    assert_eq!(message(&with(5, 4)), "its kind is 4, not 1");
    assert!(message(&with(20, 1)).starts_with("the checksum does not match"));
    assert_eq!(message(&sealed(with(7, 30))), "the number of leaves is impossible");
    assert_eq!(message(&sealed(with(7, 1))), "16 bytes are left over");
}
