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
}

/// What a token does to every state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    /// See [`passage`].
    pub passages: Box<[Passage]>,
    /// See [`assumed_passage`].
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
        let column = Column {
            passages: states.clone().map(|state| passage(self.states, state, classes)).collect(),
            assumed: states.map(|state| assumed_passage(self.states, state, classes)).collect(),
        };
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

/// What a token of these classes does to a state, whatever follows: a boundary is before it only if there is no way round.
pub fn passage(states: &States, state: u8, classes: &[u8]) -> Passage {
    let walk = |mark| walk(states, state, mark, classes);
    let is_boundary = state == START || walk(Mark::Inside).is_none();
    match walk(Mark::Boundary) {
        Some(next) if is_boundary => Passage::Boundary(next),
        _ if state == START => Passage::Unknown,
        _ => walk(Mark::Open).map_or(Passage::Unknown, Passage::Pair),
    }
}

/// What a token of these classes does to a state if there is a boundary before it wherever one can be; tokens that follow have
/// no passage where that was wrong.
pub fn assumed_passage(states: &States, state: u8, classes: &[u8]) -> Passage {
    match (walk(states, state, Mark::Boundary, classes), state) {
        (Some(next), _) => Passage::Boundary(next),
        (None, START) => Passage::Unknown,
        (None, _) => walk(states, state, Mark::Open, classes).map_or(Passage::Unknown, Passage::Pair),
    }
}

/// The state behind a token, with a mark on the position before it.
fn walk(states: &States, state: u8, mark: Mark, classes: &[u8]) -> Option<u8> {
    let (&first, rest) = classes.split_first()?;
    inside(states, states.step(state, mark, first), rest)
}

/// What a token does that begins inside a character; the classes are those of the characters behind that one.
pub fn passage_inside(states: &States, state: u8, classes: &[u8]) -> Passage {
    inside(states, state, classes).map_or(Passage::Unknown, Passage::Pair)
}

/// The state behind characters that one token covers together with what is before them.
fn inside(states: &States, state: u8, classes: &[u8]) -> Option<u8> {
    let step = |state, &class| if state == BAIL { BAIL } else { states.step(state, Mark::Inside, class) };
    Some(classes.iter().fold(state, step)).filter(|&state| state != BAIL)
}
