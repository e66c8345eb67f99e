//! What is known of a few ids, by id, asked of every id of a row.

use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Values of a few ids. These stand together nearly everywhere, so most other ids need no hash to be told from them.
pub(crate) struct FewIds<T> {
    by_id: HashMap<u32, T>,
    /// From the least of them to the greatest.
    range: RangeInclusive<u32>,
}

impl<T> FewIds<T> {
    /// The value of an id, if it is one of them.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        if self.range.contains(&id) { self.by_id.get(&id) } else { None }
    }

    /// All of them.
    pub(crate) fn by_id(&self) -> &HashMap<u32, T> {
        &self.by_id
    }
}

impl<T> FromIterator<(u32, T)> for FewIds<T> {
    fn from_iter<I: IntoIterator<Item = (u32, T)>>(values: I) -> Self {
        let by_id: HashMap<u32, T> = values.into_iter().collect();
        let range = by_id.keys().min().copied().unwrap_or(1)..=by_id.keys().max().copied().unwrap_or(0);
        Self { by_id, range }
    }
}
