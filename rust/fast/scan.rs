//! The pass over the tokens of a row: which edges between them need a closer look.

use crate::fast::Fast;
use crate::machine::{BORDER, Edge};
use crate::pairs::PairCache;

/// An edge that the tables do not settle, by the index of the token behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Suspect {
    pub(crate) edge: usize,
    /// The two tokens do not stay beside each other, should a pre-token go on here.
    pub(crate) bad_pair: bool,
}

/// Tokens whose edges are told in one word of bits.
const BLOCK: usize = 64;

impl Fast {
    /// The edges of `ids` that need a closer look, in order.
    pub(crate) fn scan(&self, ids: &[u32], cache: &mut PairCache, suspects: &mut Vec<Suspect>) {
        suspects.clear();
        let kinds = self.kinds.of_tokens();
        let mut before = BORDER;
        let (blocks, rest) = ids.as_chunks::<BLOCK>();
        for (block, block_ids) in blocks.iter().enumerate() {
            let mut open = 0u64;
            for (place, &id) in block_ids.iter().enumerate() {
                let kind = kinds[id as usize];
                open |= u64::from(self.kinds.is_open(before, kind)) << place;
                before = kind;
            }
            self.sift(ids, block * BLOCK, open, cache, suspects);
        }
        let mut open = 0u64;
        for (place, &id) in rest.iter().enumerate() {
            let kind = kinds[id as usize];
            open |= u64::from(self.kinds.is_open(before, kind)) << place;
            before = kind;
        }
        self.sift(ids, ids.len() - rest.len(), open, cache, suspects);
        if self.kinds.edge(before, BORDER) != Edge::Boundary {
            suspects.push(Suspect { edge: ids.len(), bad_pair: false });
        }
    }

    /// Of the edges whose bits are set, counted from `first`, take down those that need a closer look.
    #[inline]
    fn sift(&self, ids: &[u32], first: usize, mut open: u64, cache: &mut PairCache, suspects: &mut Vec<Suspect>) {
        let kinds = self.kinds.of_tokens();
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
                Edge::Pair if self.stay(left, right, cache) => {}
                Edge::Pair => suspects.push(Suspect { edge, bad_pair: true }),
                Edge::Unknown => suspects.push(Suspect { edge, bad_pair: false }),
            }
        }
    }

    /// Whether two tokens stay beside each other inside a pre-token.
    #[inline]
    pub(crate) fn stay(&self, left: u32, right: u32, cache: &mut PairCache) -> bool {
        cache.holds(left, right) || self.learn(left, right, cache)
    }

    /// As [`stay`](Self::stay), of a pair that the cache does not hold.
    #[cold]
    fn learn(&self, left: u32, right: u32, cache: &mut PairCache) -> bool {
        if cache.holds_bad(left, right) {
            return false;
        }
        let stay = self.pairs.fit(left, right);
        if stay {
            cache.store(left, right);
        } else {
            cache.store_bad(left, right);
        }
        stay
    }
}
