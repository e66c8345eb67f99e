//! A memory of two tokens that are text only together, as most characters are for which there is no token.

use crate::machine::Passage;

const SLOT_BITS: u32 = 12;
const ID_BITS: u32 = 20;
/// A slot: the key, then this bit, then whether the pair with the token before has to stay, then the state.
const STORED: u64 = 1 << 9;
const PAIR: u64 = 1 << 8;
const KEY_SHIFT: u32 = 16;

/// What two tokens do to a state, 32 kibibytes of it: newer ones take the place of older ones. Four times as much room gained
/// nothing.
///
/// It is exact: a slot holds the state and both ids, of 20 bits each, as the tables over pairs take no more.
pub(crate) struct Together {
    slots: Box<[u64]>,
}

fn key(state: u8, [first, second]: [u32; 2]) -> u64 {
    (u64::from(state) << ID_BITS | u64::from(first)) << ID_BITS | u64::from(second)
}

fn slot(key: u64) -> usize {
    usize::try_from(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - SLOT_BITS)).unwrap_or_default()
}

impl Together {
    /// What the tokens do to the state; `None` where that was not stored, or something else has taken its place.
    pub(crate) fn recall(&self, state: u8, tokens: [u32; 2]) -> Option<Passage> {
        let key = key(state, tokens);
        let found = self.slots[slot(key)];
        if found >> KEY_SHIFT != key || found & STORED == 0 {
            return None;
        }
        let next = found.to_le_bytes()[0];
        Some(if found & PAIR == 0 { Passage::Boundary(next) } else { Passage::Pair(next) })
    }

    /// Remember what they do to it.
    pub(crate) fn store(&mut self, state: u8, tokens: [u32; 2], passage: Passage) {
        let key = key(state, tokens);
        let value = match passage {
            Passage::Boundary(next) => u64::from(next),
            Passage::Pair(next) => PAIR | u64::from(next),
            Passage::Unknown => return,
        };
        self.slots[slot(key)] = key << KEY_SHIFT | STORED | value;
    }

    /// Forget all: they were those of another vocabulary.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(0);
    }
}

impl Default for Together {
    fn default() -> Self {
        Self { slots: vec![0; 1 << SLOT_BITS].into() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const LAST: u32 = (1 << ID_BITS) - 1;

    proptest! {
        #[test]
        fn what_is_recalled_was_stored_last_for_its_tokens_and_state(
            entries in prop::collection::vec(
                (0u8..3, prop_oneof![0u32..3, LAST - 2..=LAST], 0u32..3, any::<(bool, u8)>()), 1..200
            ),
        ) {
            let mut together = Together::default();
            let mut stored = HashMap::new();
            for (state, first, second, (is_pair, next)) in entries {
                let passage = if is_pair { Passage::Pair(next) } else { Passage::Boundary(next) };
                together.store(state, [first, second], passage);
                stored.insert(slot(key(state, [first, second])), (state, [first, second], passage));
            }
            for state in 0..3 {
                for first in (0..3).chain(LAST - 2..=LAST) {
                    for tokens in (0..3).map(|second| [first, second]) {
                        let own = stored.get(&slot(key(state, tokens)));
                        let expected = own.filter(|own| (own.0, own.1) == (state, tokens)).map(|own| own.2);
                        prop_assert_eq!(together.recall(state, tokens), expected);
                    }
                }
            }
            together.clear();
            prop_assert!(stored.values().all(|&(state, tokens, _)| together.recall(state, tokens).is_none()));
        }
    }
}
