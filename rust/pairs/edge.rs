//! The symbols that may take part at one side of every token, packed: see [`spine`](super::spine) for what they mean.

use super::glance::{Glance, NOTHING_TOLD, Partners};
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

/// Room for the entries of nearly all edges; the others are lists elsewhere.
const ROOM: usize = 4;

/// Entries, then zeros; or a mark and zeros.
type Edge = [u64; ROOM];

/// All of one edge of a token, in one line of a cache: what a first look does not tell is there for the second.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line {
    edge: Edge,
    pub(super) glance: Glance,
}

impl Line {
    /// The entries of an edge and zeros, if that is how it is written down.
    #[inline]
    pub(super) fn entries(&self) -> Option<&Edge> {
        Some(&self.edge).filter(|edge| edge[0] < MARKS)
    }
}

/// From here on entries are marks: no `last` is that large.
const MARKS: u64 = TIME_MASK << LAST_SHIFT;
/// The token is not self-canonical.
const NOT_CANONICAL: u64 = u64::MAX;
/// Only the general check can say.
const GENERAL: u64 = u64::MAX - 1;
/// All other marks are lists: the place of the first life and, in these lowest bits, how many there are.
const LENGTH_BITS: u32 = 12;
/// Places are below this, so that no list's mark is one of the others.
const LISTS: usize = 1 << 28;

/// Which side of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A symbol at an edge of a token.
#[derive(Debug, Clone, Copy)]
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
    /// The time at which nothing merges any more.
    end: u32,
    lines: Vec<Line>,
    lists: Vec<Life>,
    /// What is being written down.
    draft: Vec<Life>,
}

impl Edges {
    /// No token is self-canonical yet.
    pub(super) fn new(side: Side, ids: usize, end: u32) -> Self {
        let mut none = [0; ROOM];
        none[0] = NOT_CANONICAL;
        let lines = vec![Line { edge: none, glance: NOTHING_TOLD }; ids];
        Self { side, end, lines, lists: Vec::new(), draft: Vec::new() }
    }

    #[inline]
    pub(super) fn is_self_canonical(&self, id: u32) -> bool {
        self.lines.get(id as usize).is_some_and(|line| line.edge[0] != NOT_CANONICAL)
    }

    /// What is written down of an edge, `None` for an id that there is not.
    #[inline]
    pub(super) fn line(&self, id: u32) -> Option<&Line> {
        self.lines.get(id as usize)
    }

    /// The entries of an edge and zeros, if that is how it is written down.
    fn entries(&self, id: u32) -> Option<&Edge> {
        self.line(id).and_then(Line::entries)
    }

    /// All that can take part at an edge, if it is written down at all. Symbols are born at `births`.
    pub(super) fn lives<'a>(&'a self, id: u32, births: &'a [u32]) -> Option<impl Iterator<Item = Life> + Clone + 'a> {
        let edge = &self.lines.get(id as usize)?.edge;
        let (entries, list): (&[u64], &[Life]) = match edge[0] {
            NOT_CANONICAL | GENERAL => return None,
            mark if mark >= MARKS => {
                let start = usize::try_from((mark & !MARKS) >> LENGTH_BITS).ok()?;
                let length = usize::try_from(mark & ((1 << LENGTH_BITS) - 1)).ok()?;
                (&[], self.lists.get(start..start + length)?)
            }
            _ => (edge, &[]),
        };
        let unpack = move |entry: &u64| {
            let death = last(*entry) + self.before_death();
            Life { symbol: symbol(*entry), birth: births[symbol(*entry) as usize], death, peak: death }
        };
        Some(entries.iter().take_while(|entry| **entry != 0).map(unpack).chain(list.iter().copied()))
    }

    /// Leave the edge of a self-canonical token to the general check.
    pub(super) fn set_general(&mut self, id: u32) {
        self.lines[id as usize].edge = [0; ROOM];
        self.lines[id as usize].edge[0] = GENERAL;
    }

    /// Write down the edge of an atom, or that of a token whose part there lives as `part` says. `least` has for every
    /// symbol a lower bound of the ranks of its merges across this edge.
    pub(super) fn set(&mut self, id: u32, part: Option<Life>, births: &[u32], least: &[u32]) {
        if let Some(edge) = self.entries_of(id, part, least) {
            self.lines[id as usize].edge = edge;
            return;
        }
        self.draft.clear();
        if let Some(part) = part {
            if !self.read(part.symbol, births) {
                return self.set_general(id);
            }
            // The life of the part itself goes on in its own edge and ends in this one.
            self.draft.retain(|life| life.death != self.end);
            if least[part.symbol as usize] <= part.peak - self.before_death() {
                self.draft.push(part);
            }
        }
        if least[id as usize] != NEVER {
            self.draft.push(self.whole(id, births));
        }
        self.write(id, |symbol| least[symbol as usize]);
    }

    /// The edge that [`Self::set`] writes down, if it is one of entries made out of entries, as nearly all are.
    fn entries_of(&self, id: u32, part: Option<Life>, least: &[u32]) -> Option<Edge> {
        let mut edge = [0; ROOM];
        let mut len = 0;
        if let Some(part) = part {
            edge = *self.entries(part.symbol)?;
            let goes_on = |entry: &&u64| **entry != 0 && last(**entry) != self.end - self.before_death();
            len = edge.iter().take_while(goes_on).count();
            edge[len..].fill(0);
            let bound = least[part.symbol as usize];
            if bound <= part.peak - self.before_death() {
                *edge.get_mut(len).filter(|_| self.is_plain(&part))? = self.entry(&part, bound);
                len += 1;
            }
        }
        if least[id as usize] != NEVER {
            *edge.get_mut(len)? = pack(id, least[id as usize], self.end - self.before_death());
        }
        Some(edge)
    }

    /// The entry of a plain life, with a lower bound of the times of its symbol's merges.
    fn entry(&self, life: &Life, earliest: u32) -> u64 {
        pack(life.symbol, earliest, life.death - self.before_death())
    }

    /// Let the whole token take part, although it has no merge across this edge.
    pub(super) fn add_whole(&mut self, id: u32, births: &[u32]) {
        self.lines[id as usize].glance = NOTHING_TOLD;
        if self.read(id, births) && !self.draft.iter().any(|life| life.death == self.end) {
            self.draft.push(self.whole(id, births));
            self.write(id, |_| 0);
        }
    }

    /// Fill in the glances at all edges that are written down as entries.
    pub(super) fn glance(&mut self, partners: &Partners) {
        for line in &mut self.lines {
            if let Some(entries) = line.entries() {
                let entries = entries.iter().take_while(|entry| **entry != 0);
                line.glance = Glance::at(entries.map(|entry| (symbol(*entry), last(*entry))), partners);
            }
        }
    }

    /// Drop what is known better now to take no part: `earliest` has for every symbol the least time of its merges.
    pub(super) fn tighten(&mut self, births: &[u32], earliest: &[u32]) {
        for id in (0..).take(self.lines.len()) {
            let edge = &mut self.lines[id as usize].edge;
            if edge[0] < MARKS {
                let mut len = 0;
                for entry in std::mem::take(edge).into_iter().take_while(|entry| *entry != 0) {
                    let time = earliest[symbol(entry) as usize];
                    if time <= last(entry) {
                        edge[len] = pack(symbol(entry), time, last(entry));
                        len += 1;
                    }
                }
            } else if self.read(id, births) {
                let mut draft = std::mem::take(&mut self.draft);
                draft.retain(|life| {
                    !self.is_plain(life) || earliest[life.symbol as usize] <= life.death - self.before_death()
                });
                self.draft = draft;
                self.write(id, |symbol| earliest[symbol as usize]);
            }
        }
    }

    fn whole(&self, id: u32, births: &[u32]) -> Life {
        Life { symbol: id, birth: births[id as usize], death: self.end, peak: self.end }
    }

    /// Take the lives at an edge as the draft; false if they are not written down.
    fn read(&mut self, id: u32, births: &[u32]) -> bool {
        let mut draft = std::mem::take(&mut self.draft);
        draft.clear();
        let lives = self.lives(id, births);
        let is_there = lives.is_some();
        draft.extend(lives.into_iter().flatten());
        self.draft = draft;
        is_there
    }

    /// Write the draft down, with lower bounds of the times of the symbols' merges. A list that the edge had before stays
    /// behind: there are few.
    fn write(&mut self, id: u32, earliest: impl Fn(u32) -> u32) {
        let mut edge = [0; ROOM];
        if self.draft.len() <= ROOM && self.draft.iter().all(|life| self.is_plain(life)) {
            for (entry, life) in edge.iter_mut().zip(&self.draft) {
                *entry = self.entry(life, earliest(life.symbol));
            }
        } else if self.draft.len() < 1 << LENGTH_BITS && self.lists.len() < LISTS {
            edge[0] = MARKS | (self.lists.len() as u64) << LENGTH_BITS | self.draft.len() as u64;
            self.lists.extend_from_slice(&self.draft);
        } else {
            edge[0] = GENERAL;
        }
        self.lines[id as usize].edge = edge;
    }

    /// Whether a life can be an entry: at its death a step is taken whose rank is that time.
    fn is_plain(&self, life: &Life) -> bool {
        life.peak == life.death && life.birth + self.before_death() <= life.death
    }

    /// How long before its death a symbol can be taken last: at equal times the left token moves first.
    #[inline]
    fn before_death(&self) -> u32 {
        match self.side {
            Side::Left => 0,
            Side::Right => 1,
        }
    }
}
