//! Tokens that behave alike, and what stands between two of them.

use std::collections::{HashMap, HashSet};

use super::columns::{Column, Columns, Passage, passage};
use super::states::{BAIL, START, States};

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
    /// What can be done to its last character.
    pub end: End,
    /// The text of an added token may begin in it.
    pub may_begin_added: bool,
}

impl Traits {
    /// Whether the normalizer may change something where a token follows one with the traits `before`.
    pub fn joins(self, before: Self) -> bool {
        match self.start {
            Start::Inert => false,
            Start::Reorders => before.end == End::Mark,
            Start::Composes => before.end != End::Inert,
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

/// What the characters behind a token can do to its last one when the text is normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum End {
    /// Nothing.
    #[default]
    Inert,
    /// Be joined with it.
    Joinable,
    /// It is a mark: they may change places with it, and be joined with what is before it.
    Mark,
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
    /// 0 where a pre-token surely ends, else 1.
    open: Box<Table<u8>>,
    /// The state behind the right one where it is one and the same whatever stands before both, else [`BAIL`].
    behind: Box<Table<u8>>,
    /// By kind and state: whether a text can be in that state behind such a token.
    usual: Vec<Box<[bool]>>,
    traits: Vec<Traits>,
    /// By kind: what such a token does to every state.
    columns: Vec<Option<Column>>,
    /// By state: whether the text may end there.
    may_end: Vec<bool>,
}

/// What is known of a token that is text only together with its neighbours.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// It begins inside a character.
    pub is_inside: bool,
    /// It ends inside a character.
    pub is_open: bool,
    /// The classes of the characters that begin in it.
    pub classes: Vec<u8>,
}

impl Fragment {
    /// What it does to a state.
    pub fn passage(&self, states: &States, state: u8) -> Passage {
        passage(states, state, self.is_inside, &self.classes)
    }
}

/// Assigns kinds token by token.
pub struct Builder<'s> {
    columns: Columns<'s>,
    fragments: HashSet<Fragment>,
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
            fragments: HashSet::new(),
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

    /// Some token is this fragment. Its kind is the opaque one, but tokens of other kinds may stand behind it.
    pub fn set_fragment(&mut self, fragment: Fragment) {
        self.fragments.insert(fragment);
    }

    /// Tabulate all pairs of kinds.
    pub fn finish(self, states: &States) -> Kinds {
        let columns = self.columns.into_columns();
        let count = usize::from(self.next);
        let mut kinds: Vec<Option<(&Column, Traits)>> = vec![None; count];
        for ((column, traits), kind) in self.kinds {
            kinds[usize::from(kind)] = Some((&columns[column], traits));
        }
        let states_left = states_behind(&kinds, &reached(states, &kinds, &self.fragments));
        let (mut edges, mut open, mut behind) = (table(Edge::Unknown), table(1), table(BAIL));
        for left in 0..self.next {
            let states_left = &states_left[usize::from(left)];
            for right in 0..self.next {
                let edge = edge(states, &kinds, states_left, left, right);
                edges[place(left, right)] = edge;
                open[place(left, right)] = u8::from(edge != Edge::Boundary);
                behind[place(left, right)] = state_behind(&kinds, states_left, left, right).unwrap_or(BAIL);
            }
        }
        let is_usual =
            |usual: Vec<u8>| (0..=u8::MAX).take(states.count()).map(|state| usual.contains(&state)).collect();
        let usual = states_left.into_iter().map(is_usual).collect();
        let traits = kinds.iter().map(|kind| kind.map_or_else(Traits::default, |(_, traits)| traits)).collect();
        let columns = kinds.iter().map(|kind| kind.map(|(column, _)| column.clone())).collect();
        let may_end = (0..=u8::MAX).take(states.count()).map(|state| states.may_end(state)).collect();
        Kinds { of_token: self.of_token, edges, open, behind, usual, traits, columns, may_end }
    }
}

/// The states that a text can be in behind any token.
///
/// Behind what the tokens do not tell the walk begins afresh, where the text falls apart.
fn reached(states: &States, kinds: &[Option<(&Column, Traits)>], fragments: &HashSet<Fragment>) -> Vec<u8> {
    // Behind whole characters, and inside one.
    let mut reached = [vec![START], Vec::new()];
    let mut done = [0; 2];
    while let Some(inside) = (0..2).find(|&inside| done[inside] < reached[inside].len()) {
        let state = reached[inside][done[inside]];
        let of_kinds =
            kinds.iter().flatten().filter(|_| inside == 0).map(|(column, _)| (0, column.passages[usize::from(state)]));
        let of_fragments = fragments
            .iter()
            .filter(|fragment| usize::from(fragment.is_inside) == inside)
            .map(|fragment| (usize::from(fragment.is_open), fragment.passage(states, state)));
        for (inside, passage) in of_kinds.chain(of_fragments) {
            if let Some(next) = passage.next()
                && !reached[inside].contains(&next)
            {
                reached[inside].push(next);
            }
        }
        done[inside] += 1;
    }
    let [behind, _] = reached;
    behind
}

/// Of the states that are `reached` at all, those that a text can be in behind a token of each kind.
fn states_behind(kinds: &[Option<(&Column, Traits)>], reached: &[u8]) -> Vec<Vec<u8>> {
    let behind = |kind: &Option<(&Column, Traits)>| {
        let Some((column, _)) = kind else { return vec![START] };
        let mut behind: Vec<u8> =
            reached.iter().filter_map(|&state| column.passages[usize::from(state)].next()).collect();
        behind.sort_unstable();
        behind.dedup();
        behind
    };
    kinds.iter().map(behind).collect()
}

/// The one state that a text is in behind two tokens, if it is one.
fn state_behind(kinds: &[Option<(&Column, Traits)>], states_left: &[u8], left: u8, right: u8) -> Option<u8> {
    if right == BORDER {
        return Some(START);
    }
    let (column, _) = kinds[usize::from(right)].filter(|_| left != OPAQUE)?;
    let mut behind = states_left.iter().map(|&state| column.passages[usize::from(state)].next());
    let first = behind.next()??;
    behind.all(|next| next == Some(first)).then_some(first)
}

/// What is known about the edge between two kinds; `behind` are the states that a text can be in behind the left one.
fn edge(states: &States, kinds: &[Option<(&Column, Traits)>], behind: &[u8], left: u8, right: u8) -> Edge {
    if left == OPAQUE || right == OPAQUE {
        return Edge::Unknown;
    }
    if right == BORDER {
        return if behind.iter().all(|&state| states.may_end(state)) { Edge::Boundary } else { Edge::Unknown };
    }
    let Some((column, traits)) = kinds[usize::from(right)] else { return Edge::Unknown };
    // Each text between added tokens is normalized by itself.
    let joins = kinds[usize::from(left)].is_some_and(|(_, before)| traits.joins(before));
    let passages = || behind.iter().map(|&state| column.passages[usize::from(state)]);
    if joins || traits.may_begin_added || passages().any(|passage| passage == Passage::Unknown) {
        Edge::Unknown
    } else if passages().all(|passage| matches!(passage, Passage::Boundary(_))) {
        Edge::Boundary
    } else {
        Edge::Pair
    }
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

    /// The state that a text is in behind two tokens of these kinds, where it is the same whatever stands before them.
    #[inline]
    pub fn state_behind(&self, left: u8, right: u8) -> Option<u8> {
        Some(self.behind[place(left, right)]).filter(|&state| state != BAIL)
    }

    /// Whether a text can be in this state behind a token of this kind if no boundary was assumed: then the tables hold for what
    /// follows.
    pub fn is_usual(&self, kind: u8, state: u8) -> bool {
        self.usual[usize::from(kind)][usize::from(state)]
    }

    /// Whether the normalizer may change something where a token of one kind follows one of another in a text.
    pub fn joins(&self, left: u8, right: u8) -> bool {
        self.traits(right).joins(self.traits(left))
    }

    /// What the tokens of a kind are besides their classes.
    pub fn traits(&self, kind: u8) -> Traits {
        self.traits[usize::from(kind)]
    }

    /// Whether the normalizer surely leaves the text of these tokens as it is.
    pub fn stay_apart(&self, ids: &[u32]) -> bool {
        let is_known = |&id: &u32| self.of(id) != OPAQUE;
        let joins = |pair: &[u32]| self.joins(self.of(pair[0]), self.of(pair[1]));
        ids.iter().all(is_known) && !ids.windows(2).any(joins)
    }

    /// Whether a token of this kind can stand where a text begins.
    pub fn begins(&self, kind: u8) -> bool {
        self.passage(kind, START) != Passage::Unknown
    }

    /// What a token of a kind does to a state.
    #[inline]
    pub fn passage(&self, kind: u8, state: u8) -> Passage {
        let column = self.columns[usize::from(kind)].as_ref();
        column.map_or(Passage::Unknown, |column| column.passages[usize::from(state)])
    }

    /// What a token of a kind does to a state if there is a boundary before it wherever one can be.
    #[inline]
    pub fn assumed_passage(&self, kind: u8, state: u8) -> Passage {
        let column = self.columns[usize::from(kind)].as_ref();
        column.map_or(Passage::Unknown, |column| column.assumed[usize::from(state)])
    }

    /// Whether a text may end in a state.
    pub fn may_end(&self, state: u8) -> bool {
        self.may_end[usize::from(state)]
    }
}
