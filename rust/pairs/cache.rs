//! A memory of pairs, and whether they fit.
//!
//! In a study of this design half as many slots lost a tenth where text comes again. Twice as many gain a tenth there on one
//! thread, and lose more than that with two, which share the third-level cache. Two, four, eight or sixteen places per slot
//! gained nothing, though of eight, compared in one look, a third fewer pairs are asked again; a bitmap of all pairs of the
//! lowest ids in front held less than a quarter of the pairs that are asked; a Bloom filter is not exact: a false hit is a
//! missed drift. One memory for all threads (its slots atomic) takes two of them a twentieth less where text is new, since what
//! one has learnt the other need not ask, and as much more where it comes again, for a line that one writes the other has to
//! fetch. Such a memory behind each thread's own, asked for what that does not hold, gains two threads nothing: a line that the
//! other core has written costs what one from main memory does; and one thread takes a twentieth more.

use super::Pairs;
use super::merges::ID_BITS;

const KEY_MASK: u64 = (1 << (2 * ID_BITS)) - 1;
const SLOT_BITS: u32 = 17;
const SLOTS: usize = 1 << SLOT_BITS;
const TAG_BITS: u32 = 2 * ID_BITS - SLOT_BITS;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// A tag is stored with this bit, so that an empty slot, 0, is none.
const STORED: u32 = 1 << TAG_BITS;
/// And with this one if the pair does not fit.
const MISFIT: u32 = STORED << 1;

/// Odd, therefore with an inverse modulo 2^40; the upper bits of a product depend on all bits of the key.
const FACTOR: u64 = 0x9E_3779_B97F;

/// A memory of pairs for one thread, half a mebibyte: a newer pair takes the place of an older one.
///
/// It is exact. The hash is a bijection of the key, so the number of a slot and the tag in it are together the whole
/// key: what is found was stored. Pairs that do not fit are few, and come again: drift repeats itself.
pub struct PairCache {
    /// Whose pairs these are.
    owner: Option<u64>,
    /// `SLOTS` of them.
    tags: Box<[u32]>,
}

/// Slot and stored tag of a pair that fits; None if an id is too large.
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

impl PairCache {
    /// An empty memory.
    pub fn new() -> Self {
        Self { owner: None, tags: vec![0; SLOTS].into_boxed_slice() }
    }

    /// Be about these pairs from now on; those of other ones are forgotten, and then the answer is yes.
    pub fn serve(&mut self, pairs: &Pairs) -> bool {
        let is_new = self.owner != Some(pairs.serial);
        if is_new {
            self.clear();
            self.owner = Some(pairs.serial);
        }
        is_new
    }

    /// Whether a pair fits; `None` if it was not stored, or another one has taken its place.
    #[inline]
    pub fn recall(&self, left: u32, right: u32) -> Option<bool> {
        let (slot, tag) = place(left, right)?;
        match self.tags[slot] ^ tag {
            0 => Some(true),
            MISFIT => Some(false),
            _ => None,
        }
    }

    /// Remember whether a pair fits.
    #[inline]
    pub fn store(&mut self, left: u32, right: u32, fits: bool) {
        if let Some((slot, tag)) = place(left, right) {
            self.tags[slot] = if fits { tag } else { tag | MISFIT };
        }
    }

    /// Forget all pairs: those of another vocabulary, or before one was forbidden.
    pub fn clear(&mut self) {
        self.tags.fill(0);
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
        fn what_is_recalled_was_stored_last(
            operations in prop::collection::vec(
                (0usize..3, prop_oneof![0..3u64, Just(TAG_MASK)], any::<Option<bool>>()), 1..200
            ),
        ) {
            let mut cache = PairCache::new();
            let mut stored = HashMap::new();
            for (slot, tag, store) in operations {
                let (left, right) = pair(slot as u64, tag);
                if let Some(fits) = store {
                    cache.store(left, right, fits);
                    stored.insert(slot, (tag, fits));
                }
                let expected = stored.get(&slot).filter(|(stored, _)| *stored == tag).map(|(_, fits)| *fits);
                prop_assert_eq!(cache.recall(left, right), expected);
            }
            cache.clear();
            let pairs = stored.into_iter().map(|(slot, (tag, _))| pair(slot as u64, tag));
            prop_assert!(pairs.into_iter().all(|(left, right)| cache.recall(left, right).is_none()));
        }
    }

    #[test]
    fn large_ids_are_not_remembered() {
        let mut cache = PairCache::new();
        for (left, right) in [(1 << ID_BITS, 0), (0, 1 << ID_BITS), (u32::MAX, u32::MAX)] {
            cache.store(left, right, true);
            assert_eq!(cache.recall(left, right), None);
        }
        assert_eq!(cache.recall(0, 0), None);
    }
}
