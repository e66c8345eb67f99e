//! The symbols that may take part at one side of every token, packed: see [`spine`](super::spine) for what they mean.

use super::merges::{ID_BITS, NEVER, RANK_BITS};

const ID_MASK: u64 = (1 << ID_BITS) - 1;
const TIME_MASK: u64 = (1 << RANK_BITS) - 1;
const LAST_SHIFT: u32 = ID_BITS + RANK_BITS;

/// An entry: the symbol's `last`, the earliest time of its merges across this edge, and the symbol.
#[inline]
fn pack(symbol: u32, earliest: u32, last: u32) -> u64 {
    u64::from(last) << LAST_SHIFT | u64::from(earliest) << ID_BITS | u64::from(symbol)
}

#[inline]
fn low_bits(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(NEVER)
}

/// The symbol of an entry.
#[inline]
pub(super) fn symbol(entry: u64) -> u32 {
    low_bits(entry & ID_MASK)
}

/// The earliest time of its merges.
#[inline]
pub(super) fn earliest(entry: u64) -> u32 {
    low_bits(entry >> ID_BITS & TIME_MASK)
}

/// The last time at which a merge can take it; that of two entries is that of the lesser one.
#[inline]
pub(super) fn last(entry: u64) -> u32 {
    low_bits(entry >> LAST_SHIFT)
}

/// Room for the entries of nearly all edges; the few longer ones are lists elsewhere.
const ROOM: usize = 4;

/// Entries, then zeros; or a mark and zeros.
type Edge = [u64; ROOM];

/// From here on entries are marks: no `last` is that large.
const MARKS: u64 = TIME_MASK << LAST_SHIFT;
/// The token is not self-canonical.
const NOT_CANONICAL: u64 = u64::MAX;
/// Only the general check can say.
const GENERAL: u64 = u64::MAX - 1;
/// All other marks are lists: the place of the first entry and, in these lowest bits, how many there are.
const LENGTH_BITS: u32 = 12;
/// Places are below this, so that no list's mark is one of the others.
const LISTS: usize = 1 << 28;

/// Which side of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A symbol at an edge of a token that it is not the whole of.
#[derive(Clone, Copy)]
pub(super) struct Life {
    pub(super) symbol: u32,
    pub(super) birth: u32,
    pub(super) death: u32,
    /// The greatest rank of the steps after its birth up to its death.
    pub(super) peak: u32,
}

/// One edge of all tokens.
pub(super) struct Edges {
    side: Side,
    /// The `last` of a token at its own edge.
    whole: u32,
    packed: Vec<Edge>,
    lists: Vec<u64>,
    /// What is being written down.
    draft: Vec<u64>,
}

impl Edges {
    /// No token is self-canonical yet.
    pub(super) fn new(side: Side, ids: usize, end: u32) -> Self {
        let mut none = [0; ROOM];
        none[0] = NOT_CANONICAL;
        let whole = last_at(side, end);
        Self { side, whole, packed: vec![none; ids], lists: Vec::new(), draft: Vec::new() }
    }

    #[inline]
    pub(super) fn is_self_canonical(&self, id: u32) -> bool {
        self.packed.get(id as usize).is_some_and(|edge| edge[0] != NOT_CANONICAL)
    }

    /// The entries of an edge, if they are few, and zeros.
    #[inline]
    pub(super) fn short(&self, id: u32) -> Option<&Edge> {
        self.packed.get(id as usize).filter(|edge| edge[0] < MARKS)
    }

    /// The entries of an edge, if they are all that can take part; there may be zeros after them.
    pub(super) fn entries(&self, id: u32) -> Option<&[u64]> {
        let edge = self.packed.get(id as usize)?;
        match edge[0] {
            NOT_CANONICAL | GENERAL => None,
            mark if mark >= MARKS => {
                let start = usize::try_from((mark & !MARKS) >> LENGTH_BITS).ok()?;
                let length = usize::try_from(mark & ((1 << LENGTH_BITS) - 1)).ok()?;
                self.lists.get(start..start + length)
            }
            _ => Some(edge),
        }
    }

    /// Leave the edge of a self-canonical token to the general check.
    pub(super) fn set_general(&mut self, id: u32) {
        self.packed[id as usize] = [0; ROOM];
        self.packed[id as usize][0] = GENERAL;
    }

    /// Write down the edge of an atom, or that of a token whose part there lives as `part` says. `earliest` has for every
    /// symbol a lower bound of the times of its merges across this edge.
    pub(super) fn set(&mut self, id: u32, part: Option<Life>, earliest: &[u32]) {
        self.draft.clear();
        if let Some(part) = part {
            if !self.draft_of(part.symbol) {
                return self.set_general(id);
            }
            // The life of the part itself goes on in its own edge and ends in this one.
            self.draft.retain(|entry| last(*entry) != self.whole);
            let (last, earliest) = (last_at(self.side, part.peak), earliest[part.symbol as usize]);
            if earliest <= last {
                if part.peak != part.death || part.birth > last {
                    return self.set_general(id);
                }
                self.draft.push(pack(part.symbol, earliest, last));
            }
        }
        let earliest = earliest[id as usize];
        if earliest != NEVER {
            self.draft.push(pack(id, earliest, self.whole));
        }
        self.write(id);
    }

    /// Let the whole token take part, although it has no merge across this edge.
    pub(super) fn add_whole(&mut self, id: u32) {
        if self.draft_of(id) && !self.draft.iter().any(|entry| last(*entry) == self.whole) {
            self.draft.push(pack(id, 0, self.whole));
            self.write(id);
        }
    }

    /// Drop what is known better now to take no part: `earliest` has for every symbol the earliest time of its merges.
    pub(super) fn tighten(&mut self, earliest: &[u32]) {
        for id in (0..).take(self.packed.len()) {
            if self.draft_of(id) {
                let time = |entry: u64| earliest[symbol(entry) as usize];
                self.draft.retain(|entry| time(*entry) <= last(*entry));
                for entry in &mut self.draft {
                    *entry = pack(symbol(*entry), time(*entry), last(*entry));
                }
                self.write(id);
            }
        }
    }

    /// Take the entries of an edge as the draft; false if they are not written down.
    fn draft_of(&mut self, id: u32) -> bool {
        let mut draft = std::mem::take(&mut self.draft);
        draft.clear();
        let entries = self.entries(id);
        draft.extend(entries.into_iter().flatten().take_while(|entry| **entry != 0));
        let is_there = entries.is_some();
        self.draft = draft;
        is_there
    }

    /// Write the draft down. A list that the edge had before stays behind: there are few.
    fn write(&mut self, id: u32) {
        let mut edge = [0; ROOM];
        if let Some(room) = edge.get_mut(..self.draft.len()) {
            room.copy_from_slice(&self.draft);
        } else if self.draft.len() < 1 << LENGTH_BITS && self.lists.len() < LISTS {
            edge[0] = MARKS | (self.lists.len() as u64) << LENGTH_BITS | self.draft.len() as u64;
            self.lists.extend_from_slice(&self.draft);
        } else {
            edge[0] = GENERAL;
        }
        self.packed[id as usize] = edge;
    }
}

/// The last time at which a merge can take a symbol that dies at `death`: at equal times the left token moves first.
fn last_at(side: Side, death: u32) -> u32 {
    match side {
        Side::Left => death,
        Side::Right => death - 1,
    }
}
