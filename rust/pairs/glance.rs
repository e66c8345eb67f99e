//! A glance at two tokens, which tells of most pairs that fit that they do.
//!
//! Every symbol is one of a few bits. If none of the symbols at the right edge of one token has a partner, in time for its own
//! last, with the bit of a symbol at the left edge of the next, no merge crosses between them; nor if it is so the other way
//! round. Two thirds of all pairs that are asked for the first time are told so by one look at each token, where the edges
//! and the filter would be four.

use super::edge::{Edges, last, symbol};
use super::merges::{Merge, Merges};

/// Bits of symbols; the two above them are every token's own and every token's partners, so that a token with all bits is told
/// nothing about, whatever stands beside it.
const SYMBOL_BITS: u32 = 62;
const OWN: u64 = 1 << SYMBOL_BITS;
const PARTNERS: u64 = OWN << 1;

/// One edge of a token.
#[derive(Clone, Copy)]
struct Glance {
    /// The bits of its symbols.
    own: u64,
    /// The bits of all that they merge with in time.
    partners: u64,
}

const NOTHING_TOLD: Glance = Glance { own: u64::MAX, partners: u64::MAX };

/// Both edges of all tokens.
pub(super) struct Glances {
    right: Vec<Glance>,
    left: Vec<Glance>,
}

impl Glances {
    /// For the edges of all tokens, and the merges of the vocabulary in the order of their ranks.
    pub(super) fn new(right: &Edges, left: &Edges, list: &[Merge], merges: &Merges) -> Self {
        let mut timed: Vec<(u32, Merge)> =
            (1..).zip(list).filter_map(|(rank, merge)| Some((merges.time(rank)?, *merge))).collect();
        timed.sort_by_key(|(time, _)| *time);
        let ids = right.ids();
        let of_left = Partners::new(ids, timed.iter().map(|(time, merge)| (*time, merge.left, merge.right)));
        let of_right = Partners::new(ids, timed.iter().map(|(time, merge)| (*time, merge.right, merge.left)));
        Self { right: glances(right, &of_left), left: glances(left, &of_right) }
    }

    /// Whether two tokens fit, as far as a glance tells; no says nothing.
    #[inline]
    pub(super) fn tell(&self, left: u32, right: u32) -> bool {
        let (Some(left), Some(right)) = (self.right.get(left as usize), self.left.get(right as usize)) else {
            return false;
        };
        left.partners & right.own == 0 || left.own & right.partners == 0
    }

    /// Tell nothing about two tokens any more.
    pub(super) fn forbid(&mut self, left: u32, right: u32) {
        self.right[left as usize] = NOTHING_TOLD;
        self.left[right as usize] = NOTHING_TOLD;
    }
}

fn glances(edges: &Edges, partners: &Partners) -> Vec<Glance> {
    let glance = |id| {
        let Some(entries) = edges.entries(id) else { return NOTHING_TOLD };
        let mut glance = Glance { own: OWN, partners: PARTNERS };
        for &entry in entries.iter().take_while(|entry| **entry != 0) {
            glance.own |= bit(symbol(entry));
            glance.partners |= partners.until(symbol(entry), last(entry));
        }
        glance
    };
    (0..).take(edges.ids()).map(glance).collect()
}

/// Ids that follow each other are far apart, as those of symbols alike often do.
#[inline]
fn bit(symbol: u32) -> u64 {
    let spread = u64::from(symbol.wrapping_mul(0x9E37_79B9));
    1 << ((spread * u64::from(SYMBOL_BITS)) >> 32)
}

/// Of all symbols the bits of what they merge with on one side, by time.
struct Partners {
    /// Where the merges of each symbol begin, and the end of the last.
    starts: Vec<u32>,
    times: Vec<u32>,
    /// The bits of the partner of a merge and of all before it of the same symbol.
    bits: Vec<u64>,
}

impl Partners {
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
    fn until(&self, symbol: u32, last: u32) -> u64 {
        let [start, end] = [self.starts[symbol as usize], self.starts[symbol as usize + 1]].map(|place| place as usize);
        let count = self.times[start..end].partition_point(|time| *time <= last);
        if count == 0 { 0 } else { self.bits[start + count - 1] }
    }
}
