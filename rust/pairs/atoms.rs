//! Which initial symbols every token is spelled with.

/// For every id the initial symbols that its text becomes before any merge, one list after the other.
///
/// One per byte for byte-level models, one per character or `<0xXX>` for the others. An atom's own list is itself; an
/// id that is no token of the model has an empty one.
#[derive(Debug, Clone, Default)]
pub struct Atoms {
    symbols: Vec<u32>,
    /// Where the list of each id ends in `symbols`.
    ends: Vec<u32>,
}

impl Atoms {
    /// No id yet, but room for `ids` of them.
    pub fn with_capacity(ids: usize) -> Self {
        Self { symbols: Vec::with_capacity(8 * ids), ends: Vec::with_capacity(ids) }
    }

    /// Add the list of the next id.
    ///
    /// # Panics
    ///
    /// If there are 2^32 symbols, far more than [`Pairs::new`](super::Pairs::new) has ids for.
    pub fn push(&mut self, symbols: impl IntoIterator<Item = u32>) {
        self.symbols.extend(symbols);
        self.ends.push(u32::try_from(self.symbols.len()).expect("a vocabulary has less than 2^32 bytes"));
    }

    /// How many ids there are, tokens or not: one more than the largest.
    pub fn ids(&self) -> usize {
        self.ends.len()
    }

    /// The atoms of `id`; empty if it is unknown.
    #[inline]
    pub fn of(&self, id: u32) -> &[u32] {
        let id = id as usize;
        let Some(&end) = self.ends.get(id) else { return &[] };
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.symbols[start as usize..end as usize]
    }
}
