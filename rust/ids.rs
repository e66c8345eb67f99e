//! The ids of a model's tokens by their strings.
//!
//! The reference has such a map, of strings that lie all over memory: looking up the three strings of every merge took a tenth of
//! the time of loading. This one compares strings that lie together.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Ids by string.
pub(crate) struct Ids<'s> {
    /// By id.
    strings: &'s [Option<&'s str>],
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<'s> Ids<'s> {
    /// Of strings by id, each of which is there once.
    pub(crate) fn new(strings: &'s [Option<&'s str>]) -> Self {
        let hasher = DefaultHashBuilder::default();
        let mut table = HashTable::with_capacity(strings.len());
        let hash = |string: Option<&str>| hasher.hash_one(string.unwrap_or_default());
        for (id, string) in (0..).zip(strings).filter(|(_, string)| string.is_some()) {
            table.insert_unique(hash(*string), id, |&id| hash(strings[id as usize]));
        }
        Self { strings, table, hasher }
    }

    /// The id of a string.
    #[inline]
    pub(crate) fn of(&self, string: &str) -> Option<u32> {
        let is_it = |id: &u32| self.strings[*id as usize] == Some(string);
        self.table.find(self.hasher.hash_one(string), is_it).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_string_has_the_id_of_its_place(
            strings in prop::collection::btree_set("[ab]{0,7}", 0..200),
            gap in 1..4usize,
            others in prop::collection::vec("[ab]{0,8}", 20),
        ) {
            let by_id: Vec<_> = strings.iter().flat_map(|string| {
                std::iter::once(Some(string.as_str())).chain(std::iter::repeat_n(None, gap - 1))
            }).collect();
            let ids = Ids::new(&by_id);
            for string in strings.iter().chain(&others) {
                let place = by_id.iter().position(|own| *own == Some(string));
                prop_assert_eq!(ids.of(string), place.map(|place| u32::try_from(place).unwrap()));
            }
        }
    }
}
