//! The primary's side of an exchange of trees or sketches.

use towtank_merkle::exchange::{Form, Message, Session, Side, Turn as Answer};
use towtank_merkle::{Sketch, Tree};

use crate::{Config, Discovery};

/// The primary's side of an exchange of trees or sketches.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Exchanging {
    pub(super) by: Discovery,
    session: Session,
    pub(super) tree: Tree,
    pub(super) sketch: Option<Sketch>,
}

impl Exchanging {
    pub(super) fn open(
        config: &Config,
        by: Discovery,
        mut tree: Tree,
        sketch: Option<Sketch>,
    ) -> (Exchanging, Message) {
        let form = match by {
            Discovery::Merkle => Form::Whole,
            Discovery::Sketch => Form::Sketch { cells: config.sketch_first_cells },
            _ => Form::LEVELS,
        };
        let side = Side { tree: tree.settle(), sketch: sketch.as_ref() };
        let (session, head) = Session::open(side, form).expect("a sketch is kept where one is compared");
        (Exchanging { by, session, tree, sketch }, head)
    }

    /// None if the answer cannot be decoded or does not fit.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Option<Answer> {
        let message = Message::decode(bytes).ok()?;
        let side = Side { tree: self.tree.settle(), sketch: self.sketch.as_ref() };
        self.session.receive(side, &message).ok()
    }
}
