//! Tokens that behave alike, and what stands between two of them.

use std::collections::HashMap;

use super::columns::{Column, Columns, Passage};
use super::states::{START, States};

/// What has to be known about an edge between two tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// A pre-token surely ends here.
    Boundary,
    /// A pre-token may go on here, so the pair must be one that stays.
    Pair,
    /// The two tokens do not tell.
    Unknown,
}

/// What a token is besides its classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Traits {
    /// What its front can do to the character before it under the tokenizer's normalizer.
    pub start: Start,
    /// Its last character is a mark that others may be reordered with.
    pub ends_in_mark: bool,
    /// The text of an added token may begin in it.
    pub may_begin_added: bool,
}

impl Traits {
    /// Whether the normalizer may change something where a token follows one with the traits `before`.
    fn joins(self, before: Self) -> bool {
        match self.start {
            Start::Inert => false,
            Start::Reorders => before.ends_in_mark,
            Start::Composes => true,
        }
    }
}

/// What the first character of a token can do to the characters before it when the text is normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Start {
    /// Nothing.
    #[default]
    Inert,
    /// Change places with marks before it.
    Reorders,
    /// Be joined with what is before it.
    Composes,
}

/// The kind of added tokens: the text begins and ends there.
pub const BORDER: u8 = 0;
/// The kind of tokens of which nothing is known by themselves.
pub const OPAQUE: u8 = 1;

/// A value for every pair of kinds. All pairs of bytes have a place, so that no look-up needs a check; the rows that are in
/// use are a few kilobytes.
type Table<T> = [T; 1 << 16];

#[expect(clippy::unnecessary_box_returns, reason = "it does not fit a stack")]
fn table<T: Copy>(value: T) -> Box<Table<T>> {
    let values: Box<[T]> = vec![value; 1 << 16].into();
    values.try_into().unwrap_or_else(|_| unreachable!("the length is that of the type"))
}

/// Where a pair of kinds has its place in a table.
#[inline]
fn place(left: u8, right: u8) -> usize {
    usize::from(left) << 8 | usize::from(right)
}

/// A kind per token, and a table over pairs of them.
pub struct Kinds {
    of_token: Vec<u8>,
    edges: Box<Table<Edge>>,
    /// The same where no added token begins.
    plain_edges: Box<Table<Edge>>,
    /// 0 where a pre-token surely ends, else 1.
    open: Box<Table<u8>>,
    traits: Vec<Traits>,
    /// By kind and state: what such a token does to it.
    passages: Vec<Option<Column>>,
    /// By state: whether the text may end there.
    may_end: Vec<bool>,
}

/// Assigns kinds token by token.
pub struct Builder<'s> {
    columns: Columns<'s>,
    kinds: HashMap<(usize, Traits), u8>,
    /// The next number for a kind.
    next: u8,
    of_token: Vec<u8>,
}

impl<'s> Builder<'s> {
    /// For `tokens` tokens, all opaque, and one more id that stands for all outside the vocabulary.
    pub fn new(states: &'s States, tokens: usize) -> Self {
        Self {
            columns: Columns::new(states),
            kinds: HashMap::new(),
            next: OPAQUE + 1,
            of_token: vec![OPAQUE; tokens + 1],
        }
    }

    /// Token `id` is an added one.
    pub fn set_border(&mut self, id: u32) {
        self.of_token[id as usize] = BORDER;
    }

    /// Token `id` has these classes and traits; `None` where there are more kinds than a byte can number.
    pub fn set(&mut self, id: u32, classes: &[u8], traits: Traits) -> Option<()> {
        let column = self.columns.of(classes);
        if self.columns.is_unknown(column) {
            // It reaches across a boundary wherever it stands.
            return Some(());
        }
        let kind = *self.kinds.entry((column, traits)).or_insert(self.next);
        if kind == self.next {
            self.next = self.next.checked_add(1)?;
        }
        self.of_token[id as usize] = kind;
        Some(())
    }

    /// Tabulate all pairs of kinds.
    pub fn finish(self, states: &States) -> Kinds {
        let columns = self.columns.into_columns();
        let count = usize::from(self.next);
        let mut kinds: Vec<Option<(&Column, Traits)>> = vec![None; count];
        for ((column, traits), kind) in self.kinds {
            kinds[usize::from(kind)] = Some((&columns[column], traits));
        }
        let behind = states_behind(&kinds);
        let (mut edges, mut plain_edges, mut open) = (table(Edge::Unknown), table(Edge::Unknown), table(1));
        for left in 0..self.next {
            for right in 0..self.next {
                let (plain, edge) = edge(states, &kinds, &behind[usize::from(left)], left, right);
                plain_edges[place(left, right)] = plain;
                edges[place(left, right)] = edge;
                open[place(left, right)] = u8::from(edge != Edge::Boundary);
            }
        }
        let traits = kinds.iter().map(|kind| kind.map_or_else(Traits::default, |(_, traits)| traits)).collect();
        let passages = kinds.iter().map(|kind| kind.map(|(column, _)| column.clone())).collect();
        let may_end = (0..=u8::MAX).take(states.count()).map(|state| states.may_end(state)).collect();
        Kinds { of_token: self.of_token, edges, plain_edges, open, traits, passages, may_end }
    }
}

/// The states that a text can be in behind a token of each kind.
///
/// Behind an edge that the tables leave open the walk begins afresh, at the latest where the text falls apart.
fn states_behind(kinds: &[Option<(&Column, Traits)>]) -> Vec<Vec<u8>> {
    let mut reached = vec![START];
    let mut done = 0;
    while done < reached.len() {
        let state = usize::from(reached[done]);
        for (column, _) in kinds.iter().flatten() {
            if let Passage::Boundary(next) | Passage::Pair(next) = column[state]
                && !reached.contains(&next)
            {
                reached.push(next);
            }
        }
        done += 1;
    }
    let behind = |kind: &Option<(&Column, Traits)>| {
        let Some((column, _)) = kind else { return vec![START] };
        let next = |&state: &u8| match column[usize::from(state)] {
            Passage::Boundary(next) | Passage::Pair(next) => Some(next),
            Passage::Unknown => None,
        };
        let mut behind: Vec<u8> = reached.iter().filter_map(next).collect();
        behind.sort_unstable();
        behind.dedup();
        behind
    };
    kinds.iter().map(behind).collect()
}

/// What is known about the edge between two kinds: without and with added tokens that may begin in the right one.
fn edge(states: &States, kinds: &[Option<(&Column, Traits)>], behind: &[u8], left: u8, right: u8) -> (Edge, Edge) {
    if left == OPAQUE || right == OPAQUE {
        return (Edge::Unknown, Edge::Unknown);
    }
    if right == BORDER {
        let edge = if behind.iter().all(|&state| states.may_end(state)) { Edge::Boundary } else { Edge::Unknown };
        return (edge, edge);
    }
    let Some((column, traits)) = kinds[usize::from(right)] else { return (Edge::Unknown, Edge::Unknown) };
    // Each text between added tokens is normalized by itself.
    let joins = kinds[usize::from(left)].is_some_and(|(_, before)| traits.joins(before));
    let passages = || behind.iter().map(|&state| column[usize::from(state)]);
    let plain = if joins || passages().any(|passage| passage == Passage::Unknown) {
        Edge::Unknown
    } else if passages().all(|passage| matches!(passage, Passage::Boundary(_))) {
        Edge::Boundary
    } else {
        Edge::Pair
    };
    (plain, if traits.may_begin_added { Edge::Unknown } else { plain })
}

impl Kinds {
    /// The kind of a token; `id` is below the number of tokens, or that number itself for all outside the vocabulary.
    #[inline]
    pub fn of(&self, id: u32) -> u8 {
        self.of_token[id as usize]
    }

    /// The kinds of all tokens, and of all ids outside the vocabulary at the end.
    pub fn of_tokens(&self) -> &[u8] {
        &self.of_token
    }

    /// What is known about the edge between tokens of two kinds.
    #[inline]
    pub fn edge(&self, left: u8, right: u8) -> Edge {
        self.edges[place(left, right)]
    }

    /// 0 where a pre-token surely ends between tokens of two kinds, else 1.
    #[inline]
    pub fn is_open(&self, left: u8, right: u8) -> u8 {
        self.open[place(left, right)]
    }

    /// What the tokens of a kind are besides their classes.
    pub fn traits(&self, kind: u8) -> Traits {
        self.traits[usize::from(kind)]
    }

    /// Whether the normalizer surely leaves the text of these tokens as it is.
    pub fn stay_apart(&self, ids: &[u32]) -> bool {
        let is_known = |&id: &u32| self.of(id) != OPAQUE;
        let joins = |pair: &[u32]| self.traits(self.of(pair[1])).joins(self.traits(self.of(pair[0])));
        ids.iter().all(is_known) && !ids.windows(2).any(joins)
    }

    /// Whether a token of this kind can stand where a text begins.
    pub fn begins(&self, kind: u8) -> bool {
        self.passage(kind, START) != Passage::Unknown
    }

    /// What a token of a kind does to a state.
    #[inline]
    pub fn passage(&self, kind: u8, state: u8) -> Passage {
        self.passages[usize::from(kind)].as_ref().map_or(Passage::Unknown, |column| column[usize::from(state)])
    }

    /// Whether a text may end in a state.
    pub fn may_end(&self, state: u8) -> bool {
        self.may_end[usize::from(state)]
    }

    /// What is known about an edge at which no added token begins.
    pub fn plain_edge(&self, left: u8, right: u8) -> Edge {
        self.plain_edges[place(left, right)]
    }
}
