//! A memory of pairs that fit, and of some that do not.
//!
//! In a study of this design half as many slots lost a tenth where text comes again, and twice as many gained nothing, for the
//! check is fast and the memory would leave the second-level cache. Two places per slot gained nothing either; a bitmap of
//! all pairs of the lowest ids in front held less than a quarter of the pairs that are asked; a Bloom filter is not exact: a
//! false hit is a missed drift.

use super::Pairs;

/// Ids of pairs that can be remembered have this many bits.
const ID_BITS: u32 = 24;
const KEY_MASK: u64 = (1 << (2 * ID_BITS)) - 1;
const SLOT_BITS: u32 = 17;
const SLOTS: usize = 1 << SLOT_BITS;
const TAG_BITS: u32 = 2 * ID_BITS - SLOT_BITS;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// A tag is stored with this bit, so that an empty slot, 0, is none.
const STORED: u32 = 1 << TAG_BITS;

/// Pairs that do not fit are few, and come again: drift repeats itself.
const BAD_BITS: u32 = 13;

/// Odd, therefore with an inverse modulo 2^48; the upper bits of a product depend on all bits of the key.
const FACTOR: u64 = 0x9E37_79B9_7F4B;

/// A memory of pairs that fit, for one thread, half a mebibyte: a newer pair takes the place of an older one.
///
/// It is exact. The hash is a bijection of the key, so the number of a slot and the tag in it are together the whole
/// key: what is found was stored.
pub struct PairCache {
    /// Whose pairs these are.
    owner: Option<u64>,
    /// `SLOTS` of them.
    tags: Box<[u32]>,
    /// Whole pairs that do not fit, one more than each; 0 is none.
    bad: Box<[u64]>,
}

/// Slot and stored tag of a pair; None if an id is too large.
#[inline]
fn place(left: u32, right: u32) -> Option<(usize, u32)> {
    if (left | right) >> ID_BITS != 0 {
        return None;
    }
    let key = u64::from(left) << ID_BITS | u64::from(right);
    let hash = key.wrapping_mul(FACTOR) & KEY_MASK;
    let slot = usize::try_from(hash >> TAG_BITS).ok()?;
    let tag = u32::try_from(hash & TAG_MASK).ok()?;
    Some((slot, tag | STORED))
}

/// Slot and stored key of a pair that does not fit.
#[inline]
fn bad_place(left: u32, right: u32) -> (usize, u64) {
    // Two ids of 32 bits that are both the largest are no pair of a vocabulary.
    let key = (u64::from(left) << 32 | u64::from(right)).wrapping_add(1);
    let slot = usize::try_from(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - BAD_BITS)).unwrap_or_default();
    (slot % (1 << BAD_BITS), key)
}

impl PairCache {
    /// An empty memory.
    pub fn new() -> Self {
        Self { owner: None, tags: vec![0; SLOTS].into_boxed_slice(), bad: vec![0; 1 << BAD_BITS].into_boxed_slice() }
    }

    /// Be about these pairs from now on; those of other ones are forgotten.
    pub fn serve(&mut self, pairs: &Pairs) {
        if self.owner != Some(pairs.serial) {
            self.clear();
            self.owner = Some(pairs.serial);
        }
    }

    /// Whether this pair was stored, and no other one has taken its place.
    #[inline]
    pub fn holds(&self, left: u32, right: u32) -> bool {
        place(left, right).is_some_and(|(slot, tag)| self.tags[slot] == tag)
    }

    /// Remember a pair.
    #[inline]
    pub fn store(&mut self, left: u32, right: u32) {
        if let Some((slot, tag)) = place(left, right) {
            self.tags[slot] = tag;
        }
    }

    /// Whether this pair was stored as one that does not fit, and no other one has taken its place.
    #[inline]
    pub fn holds_bad(&self, left: u32, right: u32) -> bool {
        let (slot, key) = bad_place(left, right);
        self.bad[slot] == key
    }

    /// Remember a pair that does not fit.
    pub fn store_bad(&mut self, left: u32, right: u32) {
        let (slot, key) = bad_place(left, right);
        self.bad[slot] = key;
    }

    /// Forget all pairs: those of another vocabulary, or before one was forbidden.
    pub fn clear(&mut self) {
        self.tags.fill(0);
        self.bad.fill(0);
    }
}

impl Default for PairCache {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// The pair of a slot and a tag: the hash undone.
    fn pair(slot: u64, tag: u64) -> (u32, u32) {
        // Newton: each step doubles the number of right bits.
        let inverse =
            (0..6).fold(FACTOR, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(FACTOR.wrapping_mul(inverse))));
        let key = (slot << TAG_BITS | tag).wrapping_mul(inverse) & KEY_MASK;
        (u32::try_from(key >> ID_BITS).unwrap(), u32::try_from(key & ((1 << ID_BITS) - 1)).unwrap())
    }

    proptest! {
        #[test]
        fn slot_and_tag_are_the_whole_pair(slot in 0..SLOTS, tag in 0..=TAG_MASK) {
            let (left, right) = pair(slot as u64, tag);
            prop_assert_eq!(place(left, right), Some((slot, u32::try_from(tag).unwrap() | STORED)));
        }

        #[test]
        fn what_is_held_was_stored_last(
            operations in prop::collection::vec((0usize..3, prop_oneof![0..3u64, Just(TAG_MASK)], any::<bool>()), 1..200),
        ) {
            let mut cache = PairCache::new();
            let mut stored = HashMap::new();
            for (slot, tag, store) in operations {
                let (left, right) = pair(slot as u64, tag);
                if store {
                    cache.store(left, right);
                    stored.insert(slot, tag);
                }
                prop_assert_eq!(cache.holds(left, right), stored.get(&slot) == Some(&tag));
            }
            cache.clear();
            prop_assert!(stored.into_iter().map(|(slot, tag)| pair(slot as u64, tag)).all(|(l, r)| !cache.holds(l, r)));
        }
    }

    proptest! {
        #[test]
        fn a_bad_pair_is_held_until_another_takes_its_place(pairs in prop::collection::vec((0u32..50, 0u32..50), 1..300)) {
            let mut cache = PairCache::new();
            let mut stored = HashMap::new();
            for (left, right) in pairs {
                let slot = bad_place(left, right).0;
                prop_assert_eq!(cache.holds_bad(left, right), stored.get(&slot) == Some(&(left, right)));
                cache.store_bad(left, right);
                stored.insert(slot, (left, right));
                prop_assert!(!cache.holds(left, right));
            }
        }
    }

    #[test]
    fn large_ids_are_not_remembered() {
        let mut cache = PairCache::new();
        for (left, right) in [(1 << ID_BITS, 0), (0, 1 << ID_BITS), (u32::MAX, u32::MAX)] {
            cache.store(left, right);
            assert!(!cache.holds(left, right));
        }
        assert!(!cache.holds(0, 0));
    }
}
