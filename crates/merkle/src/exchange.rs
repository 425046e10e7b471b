//! How two replicas find their difference: messages in, messages out, no I/O.
//!
//! One side opens a [`Session`] and sends its root. The other side replies with [`answer`], which keeps no
//! state. If the roots match, the exchange ends. If not, depending on the form, the other side sends its
//! whole tree; or both send each other what lies below the nodes that differ, down to the leaves; or the
//! other side sends cells of its sketch until they suffice. With whole trees and sketches only the opener
//! learns the difference; level by level, both do.
//!
//! Trees and sketches must not change while they are compared: give both sides copies, or block writes until
//! the exchange ends.

mod message;

pub use message::{Form, Message};

use crate::settled::Runs;
use crate::{DecodeError, Decoder, Differing, Outcome, PositionRange, Settled, Shape, ShapesDiffer, Sketch};

/// The result of an exchange.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Found {
    /// The roots match.
    Nothing,
    /// Objects in these ranges differ; the ranges may also hold objects that do not.
    Ranges(Vec<PositionRange>),
    /// These objects differ, and no others.
    Objects(Vec<Differing>),
    /// There are more differences than the cells of the sketches can resolve, or the sketches do not belong
    /// to the trees: compare the trees.
    Overflow,
}

/// What a side does after a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The message to send, if any.
    pub reply: Option<Message>,
    /// What is known now; if present, the exchange has ended for this side.
    pub found: Option<Found>,
}

impl Turn {
    fn reply(message: Message) -> Turn {
        Turn { reply: Some(message), found: None }
    }

    fn found(found: Found) -> Turn {
        Turn { reply: None, found: Some(found) }
    }
}

/// Why a message cannot be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The trees have different shapes.
    #[error(transparent)]
    Shapes(#[from] ShapesDiffer),
    /// A message that is not valid at this point of the exchange.
    #[error("an unexpected message arrived: restart the exchange")]
    Unexpected,
    /// The other side asks for a sketch and this side keeps none.
    #[error("the peer requests a sketch, but none is kept: compare the trees")]
    NoSketch,
    /// Bytes that do not decode to a message.
    #[error("a message cannot be decoded: {0}")]
    Decode(#[from] DecodeError),
}

/// The summaries that one side has.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its tree.
    pub tree: Settled<'a>,
    /// Its sketch, if it keeps one.
    pub sketch: Option<&'a Sketch>,
}

/// Answers a message. This is all that the side which did not open an exchange needs.
///
/// # Errors
///
/// If the message does not fit what this side has.
pub fn answer(side: Side<'_>, message: &Message) -> Result<Turn, ExchangeError> {
    match message {
        Message::Head { shape, root, form } => {
            check_shape(side.tree, *shape)?;
            if *root == side.tree.root() {
                return Ok(Turn { reply: Some(Message::HeadMatch), found: Some(Found::Nothing) });
            }
            Ok(match *form {
                Form::Whole => Turn::reply(Message::Whole(Box::new(side.tree.to_tree()))),
                Form::Levels { stride } => go_down(side.tree, 0, stride, vec![0]),
                Form::Sketch { cells } => Turn::reply(cells_of(side, 0, cells)?),
            })
        }
        Message::Nodes { shape, .. } => {
            check_shape(side.tree, *shape)?;
            compare_nodes(side.tree, message)
        }
        Message::Differ { shape, ranges } => {
            check_shape(side.tree, *shape)?;
            Ok(Turn::found(Found::Ranges(ranges.clone())))
        }
        Message::AskCells { from, count } => Ok(Turn::reply(cells_of(side, *from, *count)?)),
        Message::HeadMatch | Message::Whole(_) | Message::Cells { .. } => Err(ExchangeError::Unexpected),
    }
}

fn check_shape(tree: Settled<'_>, theirs: Shape) -> Result<(), ShapesDiffer> {
    let ours = tree.shape();
    if ours == theirs { Ok(()) } else { Err(ShapesDiffer { ours, theirs }) }
}

fn cells_of(side: Side<'_>, from: u32, count: u32) -> Result<Message, ExchangeError> {
    let all = side.sketch.ok_or(ExchangeError::NoSketch)?.cells();
    let first = (from as usize).min(all.len());
    let end = first.saturating_add(count as usize).min(all.len());
    Ok(Message::Cells { from, cells: all[first..end].to_vec() })
}

/// Sends the digests `stride` levels below the nodes that differ; at the leaves, sends which leaves differ.
fn go_down(tree: Settled<'_>, depth: u8, stride: u8, parents: Vec<u32>) -> Turn {
    let shape = tree.shape();
    let stride = stride.min(shape.leaf_bits() - depth);
    if stride == 0 || parents.is_empty() {
        let mut runs = Runs::new(shape);
        parents.iter().for_each(|leaf| runs.add(*leaf as usize, *leaf as usize + 1));
        let ranges = runs.finish();
        let reply = Some(Message::Differ { shape, ranges: ranges.clone() });
        return Turn { reply, found: Some(Found::Ranges(ranges)) };
    }
    let below = tree.nodes_at(depth + stride);
    let of_parent = |parent: &u32| &below[(*parent as usize) << stride..(*parent as usize + 1) << stride];
    let digests = parents.iter().flat_map(of_parent).copied().collect();
    Turn::reply(Message::Nodes { shape, depth, stride, parents, digests })
}

fn compare_nodes(tree: Settled<'_>, message: &Message) -> Result<Turn, ExchangeError> {
    let Message::Nodes { depth, stride, parents, digests, .. } = message else {
        return Err(ExchangeError::Unexpected);
    };
    // Decoding has checked this, but the caller may have built the message without decoding it.
    let depth_below = depth.checked_add(*stride).filter(|depth| *depth <= tree.shape().leaf_bits());
    let depth_below = depth_below.ok_or(ExchangeError::Unexpected)?;
    if !parents.is_sorted_by(|left, right| left < right) {
        return Err(ExchangeError::Unexpected);
    }
    let ours = tree.nodes_at(depth_below);
    let mut differing = Vec::new();
    for (parent, theirs) in parents.iter().zip(digests.chunks_exact(1 << stride)) {
        for (child, theirs) in theirs.iter().enumerate() {
            let node = ((*parent as usize) << stride) + child;
            if ours.get(node).ok_or(ExchangeError::Unexpected)? != theirs {
                differing.push(node as u32);
            }
        }
    }
    Ok(go_down(tree, depth_below, *stride, differing))
}

/// The state of the side that opens an exchange.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, PartialEq, Eq)]
pub struct Session {
    form: Form,
    decoder: Decoder,
}

impl Session {
    /// Opens an exchange; the message returned is for the other side.
    ///
    /// # Errors
    ///
    /// If a sketch is to be compared and this side keeps none.
    pub fn open(side: Side<'_>, form: Form) -> Result<(Session, Message), ExchangeError> {
        let form = match form {
            Form::Levels { stride } => Form::Levels { stride: stride.clamp(1, message::STRIDE_MAX) },
            // With less than one cell nothing can be decided.
            Form::Sketch { cells } => Form::Sketch { cells: cells.max(1) },
            Form::Whole => Form::Whole,
        };
        if matches!(form, Form::Sketch { .. }) && side.sketch.is_none() {
            return Err(ExchangeError::NoSketch);
        }
        let head = Message::Head { shape: side.tree.shape(), root: side.tree.root(), form };
        Ok((Session { form, decoder: Decoder::new() }, head))
    }

    /// Handles a message from the other side.
    ///
    /// # Errors
    ///
    /// If it does not fit what was sent.
    pub fn receive(&mut self, side: Side<'_>, message: &Message) -> Result<Turn, ExchangeError> {
        match (self.form, message) {
            (_, Message::HeadMatch) => Ok(Turn::found(Found::Nothing)),
            (Form::Whole, Message::Whole(tree)) => {
                let mut theirs = tree.clone();
                let ranges = side.tree.difference(&theirs.settle())?;
                Ok(Turn::found(Found::Ranges(ranges)))
            }
            (Form::Levels { .. }, Message::Nodes { .. } | Message::Differ { .. }) => answer(side, message),
            (Form::Sketch { .. }, Message::Cells { from, cells }) => self.take_cells(side, *from, cells),
            _ => Err(ExchangeError::Unexpected),
        }
    }

    fn take_cells(
        &mut self,
        side: Side<'_>,
        from: u32,
        theirs: &[crate::Cell],
    ) -> Result<Turn, ExchangeError> {
        let have = self.decoder.cells();
        if from as usize != have {
            return Err(ExchangeError::Unexpected);
        }
        let ours = side.sketch.ok_or(ExchangeError::NoSketch)?.cells();
        let ours = &ours[have.min(ours.len())..];
        self.decoder.extend(ours, theirs);
        let now = self.decoder.cells();
        Ok(match self.decoder.outcome() {
            Outcome::Complete => match self.decoder.objects() {
                // The roots differ, so sketches that agree were not kept up to date with the trees.
                none if none.is_empty() => Turn::found(Found::Overflow),
                objects => Turn::found(Found::Objects(objects)),
            },
            Outcome::NeedsMore if now > have && ours.len() > now - have => {
                Turn::reply(Message::AskCells { from: now as u32, count: more_cells(now) })
            }
            _ => Turn::found(Found::Overflow),
        })
    }
}

/// How many cells each later request asks for: a fifth of those received, so that on average a tenth is not
/// needed.
fn more_cells(have: usize) -> u32 {
    (have / 5).max(4) as u32
}

/// What an exchange cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages, in both directions.
    pub messages: u64,
    /// Bytes of the encoded messages.
    pub bytes: u64,
}

/// Runs a whole exchange between two sides, encoding and decoding each message, and counts its cost.
///
/// # Errors
///
/// As for [`answer`] and [`Session::receive`].
pub fn converse(ours: Side<'_>, theirs: Side<'_>, form: Form) -> Result<(Found, Tally), ExchangeError> {
    let mut tally = Tally::default();
    let mut carry = |message: Message| {
        let bytes = message.encode();
        tally.messages += 1;
        tally.bytes += bytes.len() as u64;
        Message::decode(&bytes)
    };
    let (mut session, head) = Session::open(ours, form)?;
    let mut to_them = Some(head);
    let mut found = None;
    while let Some(message) = to_them.take() {
        let turn = answer(theirs, &carry(message)?)?;
        if let Some(reply) = turn.reply {
            let turn = session.receive(ours, &carry(reply)?)?;
            found = found.or(turn.found);
            to_them = turn.reply;
        }
    }
    Ok((found.ok_or(ExchangeError::Unexpected)?, tally))
}
