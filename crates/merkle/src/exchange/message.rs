//! The messages of an exchange between two replicas, and their encoding.

use crate::codec::{
    DecodeError, Kind, Reader, Writer, read_ascending, read_ranges, write_ascending, write_ranges,
};
use crate::sketch::{read_cells, write_cells};
use crate::{Cell, PositionRange, Shape, Tree};

/// How the difference is found if the roots differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Form {
    /// All leaves in one message.
    Whole,
    /// From the root down, into subtrees that differ.
    Levels {
        /// How many levels one message descends, from 1 to 8: more levels take fewer messages and more bytes.
        stride: u8,
    },
    /// By cells of a sketch, until there are enough.
    Sketch {
        /// How many cells the first message holds: about 1.4 for each object expected to differ.
        cells: u32,
    },
}

impl Form {
    /// Level by level, four at a time.
    pub const LEVELS: Form = Form::Levels { stride: 4 };
}

/// The most levels that one message descends.
pub(super) const STRIDE_MAX: u8 = 8;

/// A message of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Opens an exchange with the sender's root.
    Head {
        /// The shape of the sender's tree.
        shape: Shape,
        /// Its root.
        root: u64,
        /// How to continue if the receiver's root differs.
        form: Form,
    },
    /// The receiver's root is equal: nothing differs.
    HeadMatch,
    /// The sender's whole tree.
    Whole(Box<Tree>),
    /// The digests below the nodes known to differ so far.
    Nodes {
        /// The shape of the sender's tree.
        shape: Shape,
        /// The depth of the nodes that differ.
        depth: u8,
        /// How many levels below those nodes the digests are.
        stride: u8,
        /// The indices of those nodes at their depth, in order.
        parents: Vec<u32>,
        /// The sender's digests, 2^stride per node.
        digests: Vec<u64>,
    },
    /// Ends the exchange: these ranges differ.
    Differ {
        /// The shape of the sender's tree.
        shape: Shape,
        /// The ranges, in order and merged.
        ranges: Vec<PositionRange>,
    },
    /// Asks for cells of the receiver's sketch.
    AskCells {
        /// The index of the first cell.
        from: u32,
        /// The most cells to send.
        count: u32,
    },
    /// Cells of the sender's sketch; empty if it has no more.
    Cells {
        /// The index of the first cell.
        from: u32,
        /// The cells.
        cells: Vec<Cell>,
    },
}

impl Message {
    /// The message as bytes, versioned and checksummed.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(Kind::Message, 64);
        match self {
            Message::Head { shape, root, form } => {
                writer.byte(1);
                writer.shape(*shape);
                writer.u64(*root);
                write_form(&mut writer, *form);
            }
            Message::HeadMatch => writer.byte(2),
            Message::Whole(tree) => {
                writer = Writer::new(Kind::Message, 8 + 8 * tree.leaves().len());
                writer.byte(3);
                writer.shape(tree.shape());
                writer.u64s(tree.leaves());
            }
            Message::Nodes { shape, depth, stride, parents, digests } => {
                writer = Writer::new(Kind::Message, 16 + 5 * parents.len() + 8 * digests.len());
                writer.byte(4);
                writer.shape(*shape);
                writer.byte(*depth);
                writer.byte(*stride);
                write_ascending(&mut writer, parents);
                writer.u64s(digests);
            }
            Message::Differ { shape, ranges } => {
                writer.byte(5);
                writer.shape(*shape);
                write_ranges(&mut writer, *shape, ranges);
            }
            Message::AskCells { from, count } => {
                writer.byte(6);
                writer.u32(*from);
                writer.u32(*count);
            }
            Message::Cells { from, cells } => {
                writer = Writer::new(Kind::Message, 8 + Cell::BYTES * cells.len());
                writer.byte(7);
                writer.u32(*from);
                write_cells(&mut writer, cells);
            }
        }
        writer.finish()
    }

    /// Decodes a message from [`Message::encode`]'s bytes.
    ///
    /// # Errors
    ///
    /// If the bytes are not a valid encoding of a message.
    pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        let mut reader = Reader::new(Kind::Message, bytes)?;
        let message = match reader.byte()? {
            1 => {
                let (shape, root) = (reader.shape()?, reader.u64()?);
                Message::Head { shape, root, form: read_form(&mut reader)? }
            }
            2 => Message::HeadMatch,
            3 => {
                let shape = reader.shape()?;
                let leaves = reader.u64s(shape.leaves())?;
                Message::Whole(Box::new(Tree::of_leaves(shape, leaves)))
            }
            4 => read_nodes(&mut reader)?,
            5 => {
                let shape = reader.shape()?;
                Message::Differ { shape, ranges: read_ranges(&mut reader, shape)? }
            }
            6 => Message::AskCells { from: reader.u32()?, count: reader.u32()? },
            7 => {
                let from = reader.u32()?;
                return Ok(Message::Cells { from, cells: read_cells(reader)? });
            }
            _ => return Err(DecodeError::Impossible { what: "the kind of message" }),
        };
        reader.finish()?;
        Ok(message)
    }
}

fn write_form(writer: &mut Writer, form: Form) {
    let (kind, number) = match form {
        Form::Whole => (0, 0),
        Form::Levels { stride } => (1, u32::from(stride)),
        Form::Sketch { cells } => (2, cells),
    };
    writer.byte(kind);
    writer.u32(number);
}

fn read_form(reader: &mut Reader<'_>) -> Result<Form, DecodeError> {
    match (reader.byte()?, reader.u32()?) {
        (0, 0) => Ok(Form::Whole),
        (1, stride) if (1..=u32::from(STRIDE_MAX)).contains(&stride) => {
            Ok(Form::Levels { stride: stride as u8 })
        }
        (2, cells) => Ok(Form::Sketch { cells }),
        _ => Err(DecodeError::Impossible { what: "the form of an exchange" }),
    }
}

fn read_nodes(reader: &mut Reader<'_>) -> Result<Message, DecodeError> {
    let impossible = DecodeError::Impossible { what: "the depth of nodes" };
    let shape = reader.shape()?;
    let (depth, stride) = (reader.byte()?, reader.byte()?);
    let below = depth.checked_add(stride).ok_or(impossible)?;
    if below > shape.leaf_bits() || !(1..=STRIDE_MAX).contains(&stride) {
        return Err(impossible);
    }
    let parents = read_ascending(reader, 1 << depth)?;
    let digests = reader.u64s(parents.len() << stride)?.collect();
    Ok(Message::Nodes { shape, depth, stride, parents, digests })
}
