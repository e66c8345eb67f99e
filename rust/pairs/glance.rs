//! A glance at two tokens, which tells of most pairs that fit that they do.
//!
//! Every symbol is one of some bits. If none of the symbols at the right edge of one token has a partner, in time for its own
//! last, with the bit of a symbol at the left edge of the next, no merge crosses between them; nor if it is so the other way
//! round.

use super::merges::{Merge, Merges};

/// Bits of symbols; the two above them are every token's own and every token's partners, so that a token with all bits is told
/// nothing about, whatever stands beside it.
const SYMBOL_BITS: u32 = 126;
const OWN: u128 = 1 << SYMBOL_BITS;
const PARTNERS: u128 = OWN << 1;

/// One edge of a token.
#[derive(Clone, Copy)]
pub(super) struct Glance {
    /// The bits of its symbols.
    own: u128,
    /// The bits of all that they merge with in time.
    partners: u128,
}

/// Of an edge with other symbols than those of its entries, or of a token that is not self-canonical.
pub(super) const NOTHING_TOLD: Glance = Glance { own: u128::MAX, partners: u128::MAX };

impl Glance {
    /// At these symbols, each with its last.
    pub(super) fn at(symbols: impl Iterator<Item = (u32, u32)>, partners: &Partners) -> Self {
        let mut glance = Self { own: OWN, partners: PARTNERS };
        for (symbol, last) in symbols {
            glance.own |= bit(symbol);
            glance.partners |= partners.until(symbol, last);
        }
        glance
    }

    /// Whether a token with this right edge and one with that left edge fit, as far as a glance tells; no says nothing.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "a branch would be a guess that is often wrong")]
    pub(super) fn tells(&self, behind: &Self) -> bool {
        (self.partners & behind.own == 0) | (self.own & behind.partners == 0)
    }
}

/// Ids that follow each other are far apart, as those of symbols alike often do.
#[inline]
fn bit(symbol: u32) -> u128 {
    let spread = u64::from(symbol.wrapping_mul(0x9E37_79B9));
    1 << ((spread * u64::from(SYMBOL_BITS)) >> 32)
}

/// Of all symbols the bits of what they merge with on one side, by time.
pub(super) struct Partners {
    /// Where the merges of each symbol begin, and the end of the last.
    starts: Vec<u32>,
    times: Vec<u32>,
    /// The bits of the partner of a merge and of all before it of the same symbol.
    bits: Vec<u128>,
}

impl Partners {
    /// Of left symbols and of right ones, for the merges of a vocabulary in the order of their ranks.
    pub(super) fn of_both(ids: usize, list: &[Merge], merges: &Merges) -> [Self; 2] {
        let mut timed: Vec<(u32, Merge)> =
            (1..).zip(list).filter_map(|(rank, merge)| Some((merges.time(rank)?, *merge))).collect();
        timed.sort_by_key(|(time, _)| *time);
        [
            Self::new(ids, timed.iter().map(|(time, merge)| (*time, merge.left, merge.right))),
            Self::new(ids, timed.iter().map(|(time, merge)| (*time, merge.right, merge.left))),
        ]
    }

    /// From the time of each merge, the symbol and its partner, in the order of time.
    fn new(ids: usize, merges: impl Iterator<Item = (u32, u32, u32)> + Clone) -> Self {
        let mut starts = vec![0; ids + 1];
        for (_, symbol, _) in merges.clone() {
            starts[symbol as usize + 1] += 1;
        }
        for id in 0..ids {
            starts[id + 1] += starts[id];
        }
        let count = starts[ids] as usize;
        let (mut times, mut bits) = (vec![0; count], vec![0; count]);
        let mut next = starts.clone();
        for (time, symbol, partner) in merges {
            let place = next[symbol as usize] as usize;
            next[symbol as usize] += 1;
            let before = if place == starts[symbol as usize] as usize { 0 } else { bits[place - 1] };
            times[place] = time;
            bits[place] = before | bit(partner);
        }
        Self { starts, times, bits }
    }

    /// The bits of what a symbol merges with up to a time.
    fn until(&self, symbol: u32, last: u32) -> u128 {
        let [start, end] = [self.starts[symbol as usize], self.starts[symbol as usize + 1]].map(|place| place as usize);
        let count = self.times[start..end].partition_point(|time| *time <= last);
        if count == 0 { 0 } else { self.bits[start + count - 1] }
    }
}
