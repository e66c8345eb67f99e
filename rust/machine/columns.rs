//! What every token does to every state.

use std::collections::HashMap;

use super::states::{BAIL, Mark, START, States};

/// What a token does to one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Passage {
    /// A pre-token ends before the token.
    Boundary(u8),
    /// It may go on into the token: the pair has to be checked.
    Pair(u8),
    /// More has to be known.
    Unknown,
}

impl Passage {
    /// The state behind the token.
    #[inline]
    pub fn next(self) -> Option<u8> {
        match self {
            Self::Boundary(next) | Self::Pair(next) => Some(next),
            Self::Unknown => None,
        }
    }

    /// The same edge before several tokens that lead to `state` in the end.
    pub(crate) fn followed_to(self, state: u8) -> Self {
        match self {
            Self::Boundary(_) => Self::Boundary(state),
            Self::Pair(_) => Self::Pair(state),
            Self::Unknown => Self::Unknown,
        }
    }
}

/// What a token does to every state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    /// By state, a boundary only where there surely is one.
    pub passages: Box<[Passage]>,
    /// By state, a boundary wherever one can be.
    pub assumed: Box<[Passage]>,
}

/// Columns, each kept once.
pub struct Columns<'s> {
    states: &'s States,
    by_classes: HashMap<Box<[u8]>, usize>,
    by_content: HashMap<Column, usize>,
    all: Vec<Column>,
}

impl<'s> Columns<'s> {
    /// No columns yet.
    pub fn new(states: &'s States) -> Self {
        Self { states, by_classes: HashMap::new(), by_content: HashMap::new(), all: Vec::new() }
    }

    /// The number of the column of a token with these classes.
    pub fn of(&mut self, classes: &[u8]) -> usize {
        if let Some(&column) = self.by_classes.get(classes) {
            return column;
        }
        let states = 0..u8::try_from(self.states.count()).expect("states are numbered in a byte");
        let (passages, assumed) =
            states.map(|state| passages(self.states, state, classes)).unzip::<_, _, Vec<_>, Vec<_>>();
        let column = Column { passages: passages.into(), assumed: assumed.into() };
        let number = *self.by_content.entry(column.clone()).or_insert(self.all.len());
        if number == self.all.len() {
            self.all.push(column);
        }
        self.by_classes.insert(classes.into(), number);
        number
    }

    /// Whether a column says nothing about any state.
    pub fn is_unknown(&self, column: usize) -> bool {
        self.all[column].passages.iter().all(|&passage| passage == Passage::Unknown)
    }

    /// All columns by number.
    pub fn into_columns(self) -> Vec<Column> {
        self.all
    }
}

/// What a token does to a state, whatever follows: a boundary is before it only if there is no way round. The classes are those
/// of the characters that begin in it; `is_inside` if it begins inside one.
pub fn passage(states: &States, state: u8, is_inside: bool, classes: &[u8]) -> Passage {
    if is_inside {
        inside(states, state, classes).map_or(Passage::Unknown, Passage::Pair)
    } else {
        passages(states, state, classes).0
    }
}

/// That, and what it does if there is a boundary before it wherever one can be; tokens that follow have no passage where that
/// was wrong.
pub(super) fn passages(states: &States, state: u8, classes: &[u8]) -> (Passage, Passage) {
    let walk = |mark| walk(states, state, mark, classes);
    let boundary = walk(Mark::Boundary).map(Passage::Boundary);
    if state == START {
        let passage = boundary.unwrap_or(Passage::Unknown);
        return (passage, passage);
    }
    match boundary {
        Some(boundary) if walk(Mark::Inside).is_none() => (boundary, boundary),
        _ => {
            let open = walk(Mark::Open).map_or(Passage::Unknown, Passage::Pair);
            (open, boundary.unwrap_or(open))
        }
    }
}

/// The state behind a token, with a mark on the position before it.
fn walk(states: &States, state: u8, mark: Mark, classes: &[u8]) -> Option<u8> {
    let (&first, rest) = classes.split_first()?;
    inside(states, states.step(state, mark, first), rest)
}

/// The state behind characters that one token covers together with what is before them.
fn inside(states: &States, state: u8, classes: &[u8]) -> Option<u8> {
    let step = |state, &class| if state == BAIL { BAIL } else { states.step(state, Mark::Inside, class) };
    Some(classes.iter().fold(state, step)).filter(|&state| state != BAIL)
}
