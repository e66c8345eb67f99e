//! A small table in front of the merges: most pairs that are asked for do not merge in time, and it says so in one look.

use crate::prefetch::prefetch;

/// Per slot of the hash the least rank and a tag of what fell into it.
pub(super) struct Filter {
    /// `bucket << TAG_BITS | tag`
    slots: Box<[u16]>,
    /// Ranks shifted by this are buckets.
    shift: u32,
}

const TAG_BITS: u32 = 7;
const TAG_MASK: u16 = (1 << TAG_BITS) - 1;
/// The tag of a slot into which several pairs fell.
const ANY: u16 = 0;
/// Nothing fell into the slot: a bucket that no rank has.
const EMPTY: u16 = u16::MAX;
const LAST_BUCKET: u32 = (1 << (u16::BITS - TAG_BITS)) - 2;

impl Filter {
    /// For `count` pairs whose ranks are at most `last_rank`.
    pub(super) fn new(count: usize, last_rank: usize) -> Self {
        let mut shift = 0;
        while last_rank >> shift > LAST_BUCKET as usize {
            shift += 1;
        }
        Self { slots: vec![EMPTY; (2 * count + 1).next_power_of_two()].into_boxed_slice(), shift }
    }

    pub(super) fn insert(&mut self, hash: u64, rank: u32) {
        let new = u16::try_from(rank >> self.shift).unwrap_or(EMPTY) << TAG_BITS | tag(hash);
        let at = self.slot(hash);
        let old = self.slots[at];
        self.slots[at] = match old {
            EMPTY => new,
            _ if (old ^ new) & TAG_MASK == 0 => old.min(new),
            _ => (old.min(new) & !TAG_MASK) | ANY,
        };
    }

    /// Whether a pair of this hash may have a rank of `limit` or less; `limit` is no more than the last rank.
    #[inline]
    pub(super) fn may_hold(&self, hash: u64, limit: u32) -> bool {
        let slot = self.slots[self.slot(hash)];
        let found = slot & TAG_MASK;
        u32::from(slot >> TAG_BITS) <= limit >> self.shift && (found == tag(hash) || found == ANY)
    }

    /// Have the slot of this hash ready.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[self.slot(hash)]);
    }

    #[inline]
    fn slot(&self, hash: u64) -> usize {
        usize::try_from(hash & 0xFFFF_FFFF).unwrap_or(0) & (self.slots.len() - 1)
    }
}

#[inline]
fn tag(hash: u64) -> u16 {
    u16::try_from(hash >> (u64::BITS - TAG_BITS)).unwrap_or(0).max(ANY + 1)
}
