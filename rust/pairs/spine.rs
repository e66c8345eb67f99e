//! When which symbol is at the edge of a token while its atoms are merged, and whether two edges meet a merge.
//!
//! # Two runs side by side
//!
//! Let `l` and `r` be self-canonical. As long as no merge crosses the edge between them, the run of both interleaves
//! their own runs: the next step is the one of lesser rank, of equal ones that of `l`. Give every step the greatest rank
//! of its own run up to it, its *time*. Steps of a run whose rank is below their time come at once after the step that
//! the time is from, for the other run waits with a rank that is not less. So the order of all steps is that of
//! (time, `l` before `r`, place in the run), whatever the order of the ranks.
//!
//! A symbol x is the right edge of `l` from its birth to its death, the times of the steps that make and consume it (0
//! for an atom, the end for `l` itself); y likewise the left edge of `r`. They meet iff each is born before the other
//! dies: birth(x) <= death(y), for at equal times `l` moves first, and birth(y) < death(x).
//!
//! The merge (x, y) of rank c comes first at some moment while they meet iff c is less than the rank of the next step
//! of `l` and not more than that of `r`. Only the lesser of both matters, which is the step that is taken; so it comes
//! first iff while they meet `l` takes a step of rank > c or `r` one of rank >= c, or both runs end. If death(x) >
//! birth(x), then the step that death(x) is the rank of lies between them, and if x dies first, after the birth of y
//! too (a block of steps of one time and one side is never interrupted): the condition is c < death(x), and what `r`
//! does meanwhile adds nothing. Likewise c <= death(y) if y dies first. The respective other condition then follows.
//! So x and y merge iff, with last(x) = death(x) - 1 and last(y) = death(y),
//!
//! ```text
//! max(birth(x), birth(y)) <= min(last(x), last(y))  and  c <= min(last(x), last(y))
//! ```
//!
//! If death(x) = birth(x), the greatest rank of the steps from birth to death stands for death(x) in the condition on c
//! and only there. Such a symbol can live only if ranks are out of order. It is not written down: where one may take
//! part, the token is left to the general check.
//!
//! A symbol none of whose merges is in time, because the least rank it has on that side is greater than its `last`, takes
//! no part and is dropped. One or two are left on either side of a real token.

use super::merges::{ID_BITS, Merges, NEVER, RANK_BITS};
use super::run::Step;

/// What may take part at one edge of a token: up to four of (last, birth, symbol), then zeros.
pub(super) type Edge = [u64; 4];

/// In the first place: the token is not self-canonical.
const NOT_CANONICAL: u64 = u64::MAX;
/// In the first place: only the general check can say.
const GENERAL: u64 = u64::MAX - 1;

const ID_MASK: u64 = (1 << ID_BITS) - 1;
const RANK_MASK: u64 = (1 << RANK_BITS) - 1;
const LAST_SHIFT: u32 = ID_BITS + RANK_BITS;

fn pack(symbol: u32, birth: u32, last: u32) -> u64 {
    u64::from(last) << LAST_SHIFT | u64::from(birth) << ID_BITS | u64::from(symbol)
}

#[inline]
fn low_bits(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(NEVER)
}

#[inline]
fn symbol(entry: u64) -> u32 {
    low_bits(entry & ID_MASK)
}

#[inline]
fn birth(entry: u64) -> u64 {
    entry >> ID_BITS & RANK_MASK
}

#[inline]
fn last(entry: u64) -> u32 {
    low_bits(entry >> LAST_SHIFT)
}

/// What the spines say about a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// No merge crosses the edge.
    Fit,
    /// One does, or a token is not self-canonical.
    NoFit,
    /// Ask the general check.
    Unknown,
}

/// The symbol of an edge while a token's run is followed.
#[derive(Clone, Copy)]
pub(super) struct Life {
    pub(super) symbol: u32,
    pub(super) birth: u32,
    pub(super) death: u32,
    /// The greatest rank of the steps after its birth up to its death.
    pub(super) peak: u32,
}

/// Which edge of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// The edges of all tokens.
pub(super) struct Spines {
    /// The left edges of tokens.
    left: Vec<Edge>,
    /// The right edges of tokens.
    right: Vec<Edge>,
}

impl Spines {
    /// No token is self-canonical yet.
    pub(super) fn new(ids: usize) -> Self {
        let none = [NOT_CANONICAL, 0, 0, 0];
        Self { left: vec![none; ids], right: vec![none; ids] }
    }

    #[inline]
    pub(super) fn is_self_canonical(&self, id: u32) -> bool {
        self.left.get(id as usize).is_some_and(|edge| edge[0] != NOT_CANONICAL)
    }

    /// Whether both edges of a self-canonical token are written down.
    pub(super) fn is_plain(&self, id: u32) -> bool {
        [&self.left, &self.right].iter().all(|edges| edges[id as usize][0] < GENERAL)
    }

    pub(super) fn edge(&self, side: Side, id: u32) -> &Edge {
        match side {
            Side::Left => &self.left[id as usize],
            Side::Right => &self.right[id as usize],
        }
    }

    pub(super) fn set(&mut self, side: Side, id: u32, edge: Edge) {
        match side {
            Side::Left => self.left[id as usize] = edge,
            Side::Right => self.right[id as usize] = edge,
        }
    }

    #[inline]
    pub(super) fn ask(&self, merges: &Merges, left: u32, right: u32) -> Answer {
        let (Some(left), Some(right)) = (self.right.get(left as usize), self.left.get(right as usize)) else {
            return Answer::NoFit;
        };
        let mark = left[0].max(right[0]);
        if mark >= GENERAL {
            return if mark == NOT_CANONICAL { Answer::NoFit } else { Answer::Unknown };
        }
        if meet(merges, left, right) { Answer::NoFit } else { Answer::Fit }
    }

    /// Let the whole token take part at one edge, whatever its merges are.
    pub(super) fn add_whole(&mut self, side: Side, id: u32, end: u32) {
        let mut builder = Builder::from(*self.edge(side, id));
        let whole = symbol_at_end(side, end);
        if !builder.edge.iter().any(|entry| *entry != 0 && last(*entry) == whole) {
            // All that its birth could do is to keep it from meeting a symbol that dies earlier.
            builder.push(side, Life { symbol: id, birth: 0, death: end, peak: end });
        }
        self.set(side, id, builder.edge);
    }
}

/// The `last` of the whole token.
fn symbol_at_end(side: Side, end: u32) -> u32 {
    match side {
        Side::Left => end,
        Side::Right => end - 1,
    }
}

/// Whether a merge crosses between the right edge of one token and the left edge of the next.
#[inline]
pub(super) fn meet(merges: &Merges, left: &Edge, right: &Edge) -> bool {
    for &x in left.iter().take_while(|entry| **entry != 0) {
        for &y in right.iter().take_while(|entry| **entry != 0) {
            let until = last(x.min(y));
            if birth(x).max(birth(y)) <= u64::from(until) && merges.merges_until(symbol(x), symbol(y), until) {
                return true;
            }
        }
    }
    false
}

/// An edge while it is written down.
pub(super) struct Builder {
    pub(super) edge: Edge,
    len: usize,
}

impl From<Edge> for Builder {
    fn from(edge: Edge) -> Self {
        let len = edge.iter().take_while(|entry| **entry != 0).count();
        Self { edge, len }
    }
}

impl Builder {
    /// The lives that an edge has before its token's end.
    pub(super) fn before_end(edge: &Edge, side: Side, end: u32) -> Self {
        let mut builder = Self { edge: [0; 4], len: 0 };
        for &entry in edge.iter().filter(|entry| **entry != 0 && last(**entry) != symbol_at_end(side, end)) {
            builder.edge[builder.len] = entry;
            builder.len += 1;
        }
        builder
    }

    /// Write down a life, if the symbol's least rank on that side lets it take part.
    pub(super) fn push_if(&mut self, side: Side, life: Life, least: u32) {
        if least <= Self::last(side, life) {
            self.push(side, life);
        }
    }

    fn push(&mut self, side: Side, life: Life) {
        let last = Self::last(side, life);
        if self.edge[0] >= GENERAL {
            return;
        }
        if life.peak != life.death || life.birth > last || self.len == self.edge.len() {
            self.edge = [GENERAL, 0, 0, 0];
            return;
        }
        self.edge[self.len] = pack(life.symbol, life.birth, last);
        self.len += 1;
    }

    fn last(side: Side, life: Life) -> u32 {
        match side {
            Side::Left => life.peak,
            Side::Right => life.peak - 1,
        }
    }

    /// The lives at one edge in a whole run.
    pub(super) fn follow(side: Side, steps: &[Step], end: u32, least: impl Fn(u32) -> u32) -> Edge {
        let mut builder = Self { edge: [0; 4], len: 0 };
        let at = |step: &Step| if side == Side::Left { step.first } else { step.last };
        let mut life = Life { symbol: at(&steps[0]), birth: 0, death: end, peak: 0 };
        let mut time = 0;
        for step in &steps[1..] {
            time = time.max(step.rank);
            life.peak = life.peak.max(step.rank);
            if at(step) != life.symbol {
                builder.push_if(side, Life { death: time, ..life }, least(life.symbol));
                life = Life { symbol: at(step), birth: time, death: end, peak: 0 };
            }
        }
        builder.push_if(side, Life { peak: end, ..life }, least(life.symbol));
        builder.edge
    }
}
