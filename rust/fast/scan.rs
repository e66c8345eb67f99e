//! The pass over the tokens of a row: which edges between them need a closer look.
//!
//! # What was tried and did not help
//!
//! The pass costs about one load of a kind, one load of a bit, and a shift per token. In a study of this design, on one core
//! of an AMD Zen 4, these were measured against it:
//!
//! - bytes joined, checked for UTF-8, turned into classes and split, pairs cached: the branches of the splitter are the cost,
//!   some seven times this pass. Class strings kept per token instead of bytes gain nothing.
//! - the sequential machine, `state = step[state][kind]`, for every token: each look-up waits for the one before. It looks at
//!   suspicious windows before their text is looked at, a tenth faster than the text at once, and it is an oracle of the tests.
//! - an index appended without a branch for each open edge; two passes over a buffer of kinds; two masks (pair, unknown) for 64
//!   tokens; two bits per token in one word: all slower than one mask of what is no sure boundary, with a second look-up only
//!   for the bits that are set. Most words have few.
//! - AVX-512 gathers: no faster than loads one by one.
//! - huge pages for the tables, and building for the machine at hand: nothing to 15 %, and the latter ships to nobody.
//!
//! Two things cost more than expected here: a table look-up that the compiler could not inline, and ids compared with a limit
//! that it loaded anew for each.

use std::iter::Peekable;

use crate::fast::Fast;
use crate::machine::{BORDER, Edge};
use crate::pairs::{PairCache, Waiting};

/// Tokens whose edges are told in one word of bits.
const BLOCK: usize = 64;

/// Edges of a row, each by the token behind it.
#[derive(Default)]
pub(crate) struct Scanned {
    /// Those that need a closer look.
    pub(crate) suspects: Vec<usize>,
    /// Those whose pairs are to be asked.
    waiting: Waiting,
    /// Those of them that do not fit.
    misfits: Vec<usize>,
}

impl Fast {
    /// The edges of `ids` that need a closer look, in order, each by the token behind it.
    pub(crate) fn scan(&self, ids: &[u32], cache: &mut PairCache, found: &mut Scanned) {
        self.scan_rows(ids, std::iter::empty(), cache, found);
        if ids.last().is_some_and(|&id| self.kinds.is_open(self.kinds.of(id), BORDER) != 0) {
            found.suspects.push(ids.len());
        }
    }

    /// The same of several rows end to end, whose ends are no edges: the edge before each of `starts`, which are in order, is
    /// none, nor is what ends the last row.
    pub(super) fn scan_rows(
        &self,
        ids: &[u32],
        starts: impl Iterator<Item = usize>,
        cache: &mut PairCache,
        found: &mut Scanned,
    ) {
        found.suspects.clear();
        found.waiting.clear();
        found.misfits.clear();
        let mut before = BORDER;
        let mut starts = starts.peekable();
        let (blocks, rest) = ids.as_chunks::<BLOCK>();
        for (block, block_ids) in blocks.iter().enumerate() {
            let open = self.open_edges(&mut before, block_ids);
            self.sift(ids, block * BLOCK, open, &mut starts, cache, found);
            if found.waiting.are_many() {
                self.ask(ids, cache, found);
            }
        }
        let open = self.open_edges(&mut before, rest);
        self.sift(ids, ids.len() - rest.len(), open, &mut starts, cache, found);
        self.ask(ids, cache, found);
        if !found.misfits.is_empty() {
            found.suspects.append(&mut found.misfits);
            #[expect(clippy::stable_sort_primitive, reason = "two lists in order: it sees that, and merges them")]
            found.suspects.sort();
        }
    }

    /// Ask the pairs of the edges that wait: those that do not fit are suspects, and stand in no order to the others.
    fn ask(&self, ids: &[u32], cache: &mut PairCache, found: &mut Scanned) {
        let Scanned { misfits, waiting, .. } = found;
        self.pairs.misfits(ids, waiting, cache, |edge| misfits.push(edge));
    }

    /// A bit for each edge before these tokens, [`BLOCK`] at most, that is no sure boundary.
    #[inline]
    fn open_edges(&self, before: &mut u8, ids: &[u32]) -> u64 {
        let kinds = self.kinds.of_tokens();
        let mut open = 0u64;
        for (place, &id) in ids.iter().enumerate() {
            let kind = kinds[id as usize];
            open |= u64::from(self.kinds.is_open(*before, kind)) << place;
            *before = kind;
        }
        open
    }

    /// Of the edges whose bits are set, counted from `first`, take down those that need a closer look, and apart those whose
    /// pairs are not remembered.
    #[inline]
    fn sift(
        &self,
        ids: &[u32],
        first: usize,
        mut open: u64,
        starts: &mut Peekable<impl Iterator<Item = usize>>,
        cache: &PairCache,
        found: &mut Scanned,
    ) {
        let kinds = self.kinds.of_tokens();
        while let Some(start) = starts.next_if(|&start| start < first + BLOCK) {
            open &= !(1 << (start - first));
        }
        while open != 0 {
            let edge = first + open.trailing_zeros() as usize;
            open &= open - 1;
            let right = ids[edge];
            let (left, before) = match edge.checked_sub(1) {
                Some(at) => (ids[at], kinds[ids[at] as usize]),
                None => (right, BORDER),
            };
            match self.kinds.edge(before, kinds[right as usize]) {
                Edge::Boundary => {}
                Edge::Pair => match cache.recall(left, right) {
                    Some(true) => {}
                    Some(false) => found.suspects.push(edge),
                    None => self.pairs.wait(ids, edge, &mut found.waiting),
                },
                Edge::Unknown => found.suspects.push(edge),
            }
        }
    }
}
