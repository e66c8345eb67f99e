//! What two neighbouring symbols merge into, and how early: a hash table that is asked a few times per pair of tokens.

use super::filter::Filter;
use crate::prefetch::prefetch;

/// One line of the list of merges; its rank is its place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// The left symbol.
    pub left: u32,
    /// The right symbol.
    pub right: u32,
    /// What both become.
    pub product: u32,
}

/// Bits of an id, here and in the spines.
pub(super) const ID_BITS: u32 = 20;
/// Bits of a rank, here and in the spines.
pub(super) const RANK_BITS: u32 = 22;
/// The rank of a pair that does not merge: later than all others.
pub(super) const NEVER: u32 = u32::MAX;

/// Ids are below this. One is left over, which [`key`] gives to all ids that are not.
pub(crate) const ID_LIMIT: u32 = (1 << ID_BITS) - 1;
const RANK_MASK: u64 = (1 << RANK_BITS) - 1;

/// Both ids in one number; that of an unknown id is no merge's.
#[inline]
fn key(left: u32, right: u32) -> u64 {
    u64::from(left.min(ID_LIMIT)) << ID_BITS | u64::from(right.min(ID_LIMIT))
}

/// The table, open addressing with linear probing. Ranks count from 1, so that 0 is "before the first merge".
pub(super) struct Merges {
    /// `key << RANK_BITS | rank`, or 0.
    slots: Box<[u64]>,
    used: usize,
    /// By rank; what is not in the table has no meaning here.
    products: Vec<u32>,
    /// By rank, see [`spine`](super::spine).
    times: Vec<u32>,
    filter: Filter,
}

impl Merges {
    /// An empty table for the merges of `list`, of which at most `count` will be inserted.
    pub(super) fn with_room(list: &[Merge], count: usize) -> Self {
        // One more at both ends: ranks count from 1, and the last is for pairs that are forbidden.
        let ranks = list.len() + 2;
        let products = std::iter::once(NEVER).chain(list.iter().map(|merge| merge.product)).collect();
        Self {
            slots: slots(count),
            used: 0,
            products,
            times: vec![NEVER; ranks],
            filter: Filter::new(count, ranks - 1),
        }
    }

    /// Insert a merge that ends at `time`; if its pair is there already, the new rank replaces the old one.
    pub(super) fn insert(&mut self, left: u32, right: u32, rank: u32, time: u32) {
        let key = key(left, right);
        self.times[rank as usize] = time;
        self.filter.insert(hash(key), time);
        // Two thirds full at most: room for the probes to end soon.
        if 3 * (self.used + 1) > 2 * self.slots.len() {
            let old = std::mem::replace(&mut self.slots, slots(2 * (self.used + 1)));
            self.used = 0;
            for slot in old.into_iter().filter(|slot| *slot != 0) {
                self.place(slot);
            }
        }
        self.place(key << RANK_BITS | u64::from(rank));
    }

    fn place(&mut self, new: u64) {
        let mask = self.slots.len() - 1;
        let mut at = self.first_slot(hash(new >> RANK_BITS));
        while self.slots[at] != 0 && self.slots[at] >> RANK_BITS != new >> RANK_BITS {
            at = (at + 1) & mask;
        }
        self.used += usize::from(self.slots[at] == 0);
        self.slots[at] = new;
    }

    /// The rank of a pair, or [`NEVER`].
    #[inline]
    pub(super) fn rank(&self, left: u32, right: u32) -> u32 {
        let key = key(left, right);
        self.find(key, hash(key))
    }

    /// Whether a pair merges at the time `limit` or earlier: asks the filter first, since most do not.
    #[inline]
    pub(super) fn merges_until(&self, left: u32, right: u32, limit: u32) -> bool {
        self.may_merge_until(left, right, limit) && self.time(self.rank(left, right)).is_some_and(|time| time <= limit)
    }

    /// Have ready what [`merges_until`](Self::merges_until) reads first of a pair.
    #[inline]
    pub(super) fn prefetch(&self, left: u32, right: u32) {
        self.filter.prefetch(hash(key(left, right)));
    }

    /// Whether a pair may merge at the time `limit` or earlier; if so, have ready what tells for sure.
    #[inline]
    pub(super) fn may_merge_until(&self, left: u32, right: u32, limit: u32) -> bool {
        let hash = hash(key(left, right));
        let may_hold = self.filter.may_hold(hash, limit);
        if may_hold {
            prefetch(&self.slots[self.first_slot(hash)]);
        }
        may_hold
    }

    #[inline]
    fn find(&self, key: u64, hash: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = self.first_slot(hash);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return NEVER;
            }
            if slot >> RANK_BITS == key {
                return u32::try_from(slot & RANK_MASK).unwrap_or(NEVER);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn first_slot(&self, hash: u64) -> usize {
        usize::try_from(hash >> 32).unwrap_or(0) & (self.slots.len() - 1)
    }

    /// The time of the merge of this rank; `None` if it was never inserted.
    pub(super) fn time(&self, rank: u32) -> Option<u32> {
        self.times.get(rank as usize).copied().filter(|time| *time != NEVER)
    }

    /// What the merge of this rank makes.
    #[inline]
    pub(super) fn product(&self, rank: u32) -> u32 {
        self.products[rank as usize]
    }

    /// The rank of a pair that must not be left side by side although no merge takes it: after all merges.
    #[inline]
    pub(super) fn forbidden(&self) -> u32 {
        u32::try_from(self.products.len()).unwrap_or(NEVER)
    }

    /// The death of a symbol that no merge consumes: after all ranks.
    #[inline]
    pub(super) fn end(&self) -> u32 {
        self.forbidden() + 1
    }
}

fn slots(count: usize) -> Box<[u64]> {
    vec![0; (count + count / 2 + 1).next_power_of_two()].into_boxed_slice()
}

/// Multiply, fold, multiply: ids are small and neighbours, all bits of the result must depend on all of the key's.
#[inline]
fn hash(key: u64) -> u64 {
    let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}
