//! The bytes of every id in one flat table: a look-up by index, without hashing.

use std::collections::HashMap;

/// Ids up to this many times their number are looked up by index; a file may number its tokens up to `u32::MAX`.
const SPARSE: usize = 4;

/// Bytes that may be read beyond the end of any surface.
pub(crate) const WIDTH: usize = 8;

/// Where the bytes of one id lie.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    /// [`UNKNOWN`] for an id outside the vocabulary.
    len: u32,
}

const UNKNOWN: u32 = u32::MAX;
const NOWHERE: Place = Place { start: 0, len: UNKNOWN };

/// A byte string per id.
pub(crate) struct Surfaces {
    /// By id.
    places: Vec<Place>,
    /// The ids that lie too far apart for an index.
    beyond: HashMap<u32, Place>,
    bytes: Vec<u8>,
}

impl Surfaces {
    /// Lay out one byte string for each of the ids, which are distinct and rise.
    pub(crate) fn new<S: AsRef<[u8]>>(ids: &[u32], surfaces: impl IntoIterator<Item = S>) -> Self {
        let dense = ids.partition_point(|&id| id as usize <= SPARSE * ids.len());
        let len = ids[..dense].last().map_or(0, |&last| last as usize + 1);
        let mut table = Self { places: vec![NOWHERE; len], beyond: HashMap::new(), bytes: Vec::new() };
        for (&id, surface) in ids.iter().zip(surfaces) {
            let number = |value: usize| u32::try_from(value).expect("a vocabulary has less than 4 GiB of text");
            let place = Place { start: number(table.bytes.len()), len: number(surface.as_ref().len()) };
            table.bytes.extend_from_slice(surface.as_ref());
            match table.places.get_mut(id as usize) {
                Some(slot) => *slot = place,
                None => {
                    table.beyond.insert(id, place);
                }
            }
        }
        table.bytes.extend([0; WIDTH]);
        table.bytes.shrink_to_fit();
        table
    }

    /// The bytes of an id, `None` outside the vocabulary.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&[u8]> {
        let place = self.place(id)?;
        Some(&self.bytes[place.start as usize..][..place.len as usize])
    }

    /// The bytes of an id with [`WIDTH`] or more others behind them, and how many are its own; none of them for an id outside
    /// the vocabulary.
    #[inline]
    pub(crate) fn get_wide(&self, id: u32) -> (&[u8], usize) {
        self.place(id).map_or((&self.bytes, 0), |place| (&self.bytes[place.start as usize..], place.len as usize))
    }

    /// Whether an id is in the vocabulary.
    #[inline]
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.place(id).is_some()
    }

    /// Whether every id has at least one byte.
    pub(crate) fn are_filled(&self) -> bool {
        self.places.iter().chain(self.beyond.values()).all(|place| place.len > 0)
    }

    #[inline]
    fn place(&self, id: u32) -> Option<Place> {
        let place = self.places.get(id as usize).or_else(|| self.beyond.get(&id));
        place.copied().filter(|place| place.len != UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_id_has_its_bytes_and_no_other_has_any(
            entries in prop::collection::btree_map(
                prop_oneof![0u32..40, any::<u32>(), Just(u32::MAX)], prop::collection::vec(any::<u8>(), 0..4), 0..20
            ),
            others in prop::collection::vec(prop_oneof![0u32..200, any::<u32>()], 0..20),
        ) {
            let entries: BTreeMap<u32, Vec<u8>> = entries;
            let ids: Vec<u32> = entries.keys().copied().collect();
            let table = Surfaces::new(&ids, entries.values());
            for id in others.into_iter().chain(ids) {
                prop_assert_eq!(table.get(id), entries.get(&id).map(Vec::as_slice));
                prop_assert_eq!(table.contains(id), entries.contains_key(&id));
                let (wide, len) = table.get_wide(id);
                prop_assert_eq!(&wide[..len], table.get(id).unwrap_or_default());
                prop_assert!(wide.len() >= len + WIDTH);
            }
            prop_assert_eq!(table.are_filled(), entries.values().all(|bytes| !bytes.is_empty()));
        }
    }

    #[test]
    fn an_id_far_away_costs_no_memory() {
        let table = Surfaces::new(&[0, u32::MAX], ["a", "b"]);
        assert_eq!((table.places.len(), table.get(u32::MAX)), (1, Some(&b"b"[..])));
        assert!(!table.contains(1));
    }
}
