//! Pre-tokens that are one token: most are, and finding one takes less than making it.

use crate::fast::texts::Texts;

/// Tokens that the merges make of their bytes, by their bytes.
pub(crate) struct Words {
    /// Open addressing: one more than the id, or 0 for a free slot.
    slots: Vec<u32>,
    shift: u32,
}

impl Words {
    /// Of all of `ids`, whose bytes are distinct.
    pub(crate) fn new(texts: &Texts, ids: impl Iterator<Item = u32>) -> Self {
        let ids: Vec<u32> = ids.collect();
        let bits = (2 * ids.len()).next_power_of_two().trailing_zeros().max(1);
        let mut words = Self { slots: vec![0; 1 << bits], shift: u64::BITS - bits };
        for id in ids {
            let mut slot = words.first_slot(texts.bytes(id));
            while words.slots[slot] != 0 {
                slot = words.next_slot(slot);
            }
            words.slots[slot] = id + 1;
        }
        words
    }

    /// The token with these bytes.
    pub(crate) fn find(&self, texts: &Texts, bytes: &[u8]) -> Option<u32> {
        let mut slot = self.first_slot(bytes);
        loop {
            let id = self.slots[slot].checked_sub(1)?;
            if texts.bytes(id) == bytes {
                return Some(id);
            }
            slot = self.next_slot(slot);
        }
    }

    fn first_slot(&self, bytes: &[u8]) -> usize {
        usize::try_from(hash(bytes) >> self.shift).unwrap_or_default()
    }

    fn next_slot(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}

/// Multiply and rotate, eight bytes at a time (the idea of `FxHash`): these are no keys of a stranger.
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash, u64::from_le_bytes(last))
}
