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
        for (block, block_ids) in ids.chunks(BLOCK).enumerate() {
            let mut open = 0u64;
            for (place, &id) in block_ids.iter().enumerate() {
                let kind = kinds[id as usize];
                open |= u64::from(self.kinds.is_open(before, kind)) << place;
                before = kind;
            }
            while open != 0 {
                let edge = block * BLOCK + open.trailing_zeros() as usize;
                open &= open - 1;
                let left = if edge == 0 { BORDER } else { kinds[ids[edge - 1] as usize] };
                match self.kinds.edge(left, kinds[ids[edge] as usize]) {
                    Edge::Boundary => {}
                    Edge::Pair if self.stay(ids[edge - 1], ids[edge], cache) => {}
                    Edge::Pair => suspects.push(Suspect { edge, bad_pair: true }),
                    Edge::Unknown => suspects.push(Suspect { edge, bad_pair: false }),
                }
            }
        }
        if self.kinds.edge(before, BORDER) != Edge::Boundary {
            suspects.push(Suspect { edge: ids.len(), bad_pair: false });
        }
    }

    /// Whether two tokens stay beside each other inside a pre-token.
    pub(crate) fn stay(&self, left: u32, right: u32, cache: &mut PairCache) -> bool {
        cache.holds(left, right) || {
            let stay = self.pairs.fit(left, right);
            if stay {
                cache.store(left, right);
            }
            stay
        }
    }
}
