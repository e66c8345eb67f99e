//! Which symbols are at the edge of a token while its atoms are merged, how long, and whether two edges meet a merge.
//!
//! # Two runs side by side
//!
//! Let `l` and `r` be self-canonical. As long as no merge crosses the edge between them, the run of both interleaves
//! their own runs: the next step is the one of lesser rank, of equal ones that of `l`. Give every step the greatest rank
//! of its own run up to it, its *time*. A step whose rank is below its time comes at once after the step that the time is
//! from, for the other run waits with a rank that is not less. So the order of all steps is that of (time, `l` before
//! `r`, place in the run), whatever the order of the ranks; and a step has the same time in the run of both.
//!
//! A symbol x is the right edge of `l` from its birth to its death, the times of the steps that make and consume it: 0
//! for an atom, the end for `l` itself. Likewise y at the left edge of `r`. They meet iff each is born before the other
//! dies: birth(x) <= death(y), for at equal times `l` moves first, and birth(y) < death(x).
//!
//! The merge (x, y) of rank c comes first at some moment while they meet iff c is less than the rank of the next step of
//! `l` and not more than that of `r`. Only the lesser of both matters, the step that is taken; so it comes first iff,
//! while they meet, `l` takes a step of rank > c or `r` one of rank >= c, or both runs end. Let x die first, and
//! death(x) > birth(x). Then the step that has death(x) for its rank lies between them, and after the birth of y, since
//! steps of one time and one side follow each other: the condition is c < death(x), and what `r` does meanwhile adds
//! nothing. If y dies first it is c <= death(y). Either way the other condition follows.
//!
//! A symbol is born at the time at which its own run ends, wherever it occurs. So let the *time* of the merge (x, y) be
//! the greatest of c, birth(x) and birth(y), which is the birth of its product. With last(x) = death(x) - 1 and last(y) =
//! death(y) all conditions are one:
//!
//! ```text
//! time(x, y) <= min(last(x), last(y))
//! ```
//!
//! If death(x) = birth(x), the greatest rank of the steps from birth to death, the *peak*, stands for death(x) in the
//! condition on c and only there. That takes ranks out of order, as of the runs of blanks in a few vocabularies. The
//! edges of such tokens are lists with all numbers, for the conditions one by one.
//!
//! A symbol none of whose merges is in time, because the earliest of those on that side is after its `last`, takes no
//! part and is dropped. One or two are left at the edge of a real token.
//!
//! # What was tried and did not help
//!
//! In a study of this design: the general check on both logs, step by step, takes ten times as long; all symbols of an edge
//! and a bitmap as a filter three times; misses put aside and asked later with the table prefetched as long; tokens that no
//! merge can cross, marked as such, are one pair in two hundred.
//!
//! Measured here, where a core's share of the third-level cache is some 4 MB: of source code two pairs of a hundred tokens are
//! not held by the memory of pairs, and asking these takes a third of all time, for the lines of both edges and of the filter
//! come from main memory. So an edge fills one line, with a glance (see there) that tells of two or three pairs in four. Fewer
//! bits in tables of their own took a tenth longer; bits by the time of merges as well tell less. These gained nothing: edges
//! numbered so that equal ones are one (nine of ten pairs are as different as before); the search without branches; entries
//! skipped whose symbol the other edge's glance does not take, which reads the filter less; the lines in huge pages (with all
//! of a process in these, `GLIBC_TUNABLES=glibc.malloc.hugetlb=1`, a pass takes a twentieth less).
//!
//! The pairs of a row that are not remembered are asked together (`many`), so that memory brings the lines of several at once: a
//! twentieth of a first pass over source code, up to a seventh over many scripts. Two entries per edge in 16 bytes and no glance
//! take half as long again with that, since the filter is read more; 62 bits for a glance in a table of its own a tenth to a
//! quarter longer.
//!
//! And the lines are fetched ahead ([`prefetch`](crate::prefetch)): with those of edges that wait a first pass takes an eighth
//! less, with the slots of the filter another twentieth, with those of the merges one thirtieth over many scripts. Asking when 64
//! wait, not at the end of a row, is a fifth of rows of a million tokens. With that, these gained nothing: the memory of pairs
//! fetched ahead, a block of tokens early; four times its size (it does where text comes again, and loses as much where it is
//! new); no branch on what it holds, in two shapes; no branch on which symbols meet; both edges of a token in neighbouring lines;
//! pairs that wait marked as such in the memory, so that none waits twice (two in five of source code do, and cost next to
//! nothing, for their lines are near).

use super::edge::{Edges, Life, Line, Side, earliest, last, symbol};
use super::merges::Merges;
use crate::prefetch::prefetch;

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

/// Two symbols that are at an edge between two tokens at the same time, and until when a merge can take them.
#[derive(Clone, Copy)]
pub(super) struct Meeting {
    left: u32,
    right: u32,
    until: u32,
}

impl Meeting {
    /// Have ready what tells whether a merge may take them.
    #[inline]
    pub(super) fn prefetch(&self, merges: &Merges) {
        merges.prefetch(self.left, self.right);
    }

    /// Whether a merge may take them; if so, have ready what tells whether one does.
    #[inline]
    pub(super) fn may_merge(&self, merges: &Merges) -> bool {
        merges.may_merge_until(self.left, self.right, self.until)
    }

    /// Whether a merge takes them.
    #[inline]
    pub(super) fn merges(&self, merges: &Merges) -> bool {
        merges.merges_until(self.left, self.right, self.until)
    }
}

/// The edges of all tokens.
pub(super) struct Spines {
    pub(super) left: Edges,
    pub(super) right: Edges,
    /// By id the time at which a self-canonical token's run ends.
    pub(super) births: Vec<u32>,
}

impl Spines {
    /// No token is self-canonical yet. `end` is the time at which nothing merges any more.
    pub(super) fn new(ids: usize, end: u32) -> Self {
        let [left, right] = [Side::Left, Side::Right].map(|side| Edges::new(side, ids, end));
        Self { left, right, births: vec![0; ids] }
    }

    /// Have ready what tells of a pair.
    #[inline]
    pub(super) fn prefetch(&self, left: u32, right: u32) {
        self.right.line(left).into_iter().chain(self.left.line(right)).for_each(prefetch);
    }

    /// Whether a glance tells that a pair fits; no says nothing.
    #[inline]
    pub(super) fn tell(&self, left: u32, right: u32) -> bool {
        let (left, right) = (self.right.line(left), self.left.line(right));
        left.zip(right).is_some_and(|(left, right)| left.glance.tells(&right.glance))
    }

    #[inline]
    pub(super) fn ask(&self, merges: &Merges, left: u32, right: u32) -> Answer {
        let (Some(left_line), Some(right_line)) = (self.right.line(left), self.left.line(right)) else {
            return Answer::NoFit;
        };
        if left_line.glance.tells(&right_line.glance) {
            return Answer::Fit;
        }
        match meetings(left_line, right_line) {
            Some(mut meetings) => {
                if meetings.any(|meeting| meeting.merges(merges)) {
                    Answer::NoFit
                } else {
                    Answer::Fit
                }
            }
            None => self.ask_others(merges, left, right),
        }
    }

    /// The symbols of which one merge would be enough for a pair not to fit; `None` where entries do not tell.
    #[inline]
    pub(super) fn meetings(&self, left: u32, right: u32) -> Option<impl Iterator<Item = Meeting>> {
        meetings(self.right.line(left)?, self.left.line(right)?)
    }

    /// Let both whole tokens take part, although they have no merge.
    pub(super) fn forbid(&mut self, left: u32, right: u32) {
        self.right.add_whole(left, &self.births);
        self.left.add_whole(right, &self.births);
    }

    #[cold]
    fn ask_others(&self, merges: &Merges, left: u32, right: u32) -> Answer {
        if !self.right.is_self_canonical(left) || !self.left.is_self_canonical(right) {
            return Answer::NoFit;
        }
        match (self.right.lives(left, &self.births), self.left.lives(right, &self.births)) {
            (Some(left), Some(right)) => live_together(merges, left, &right),
            _ => Answer::Unknown,
        }
    }
}

/// The symbols that meet at the right edge of one token and the left edge of the next.
#[inline]
fn meetings<'a>(left: &'a Line, right: &'a Line) -> Option<impl Iterator<Item = Meeting> + 'a> {
    let (left, right) = (left.entries()?, right.entries()?);
    let of = |edge: &'a [u64]| edge.iter().copied().take_while(|entry| *entry != 0);
    let meeting = |x: u64, y: u64| {
        let until = last(x.min(y));
        (earliest(x).max(earliest(y)) <= until).then(|| Meeting { left: symbol(x), right: symbol(y), until })
    };
    Some(of(left).flat_map(move |x| of(right).filter_map(move |y| meeting(x, y))))
}

/// Whether a merge crosses between edges of which one is a list.
fn live_together(
    merges: &Merges,
    left: impl Iterator<Item = Life>,
    right: &(impl Iterator<Item = Life> + Clone),
) -> Answer {
    for x in left {
        for y in right.clone() {
            if x.birth <= y.death && y.birth < x.death {
                let rank = merges.rank(x.symbol, y.symbol);
                if rank < x.peak && rank <= y.peak {
                    return Answer::NoFit;
                }
            }
        }
    }
    Answer::Fit
}
