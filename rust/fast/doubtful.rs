//! Added tokens whose own text does not tell whether they are found in a row.
//!
//! Some take the white space on a side with them, or are found only where no word goes on. Of some the text begins that of
//! another one, which is found if it is there; and under a normalizer some are looked for behind all others, in what it makes of
//! the text. Between neighbours that change nothing ([`Neighbours`]) such a token is found as any other, and all is proven of it
//! that is proven of those. Rows where it has others, and rows that spell its text, are the reference's.

use std::collections::HashSet;

use tokenizers::AddedToken;

use crate::fast::Fast;
use crate::fast::added::AddedTexts;
use crate::fast::neighbours::Neighbours;
use crate::fast::normal::Normal;
use crate::few_ids::FewIds;
use crate::machine::BORDER;
use crate::tokenizer::Tokenizer;

/// So many times a text of one is compared with that of another, byte by byte; beyond that, neighbours tell nothing.
const MOST_COMPARED: usize = 1 << 20;

/// The added tokens of a tokenizer that are not found by their text alone.
pub(crate) struct Doubtful {
    texts: AddedTexts,
    /// By id what may not stand beside it; `None` where its neighbours do not tell whether it is found.
    neighbours: FewIds<Option<Neighbours>>,
}

impl Doubtful {
    pub(crate) fn new(tokenizer: &Tokenizer, normal: &Normal) -> Self {
        let all: Vec<&AddedToken> = tokenizer.added_tokens().values().map(|added| &added.token).collect();
        let nested = nested(all.iter().map(|token| token.content.as_str()).collect());
        let is_doubtful = |token: &AddedToken, looks_beside: bool| {
            looks_beside || normal.precedes(token) || nested.contains(token.content.as_str())
        };
        let doubtful = || {
            let added = tokenizer.added_tokens().iter().map(|(&id, added)| (id, &added.token, added.looks_beside()));
            added.filter(|(_, token, looks_beside)| is_doubtful(token, *looks_beside))
        };
        let bytes: usize = all.iter().map(|token| token.content.len()).sum();
        let is_told = doubtful().count().saturating_mul(bytes) <= MOST_COMPARED;
        let neighbours = |token: &AddedToken| if is_told { Neighbours::of(token, &all, normal) } else { None };
        Self {
            texts: AddedTexts::new(doubtful().map(|(_, token, _)| token.content.as_bytes())),
            neighbours: doubtful().map(|(id, token, _)| (id, neighbours(token))).collect(),
        }
    }

    /// Whether it is one of them.
    pub(crate) fn holds(&self, id: u32) -> bool {
        self.neighbours.get(id).is_some()
    }

    /// Where such tokens stand among others.
    pub(crate) fn among<'i>(&'i self, ids: &'i [u32]) -> impl Iterator<Item = usize> + 'i {
        self.with_neighbours(ids).map(|(at, _)| at)
    }

    fn with_neighbours<'i>(&'i self, ids: &'i [u32]) -> impl Iterator<Item = (usize, Option<&'i Neighbours>)> + 'i {
        let ids = if self.neighbours.by_id().is_empty() { &[] } else { ids };
        ids.iter().enumerate().filter_map(|(at, &id)| Some((at, self.neighbours.get(id)?.as_ref())))
    }

    /// Whether a text holds that of such a token.
    pub(crate) fn is_spelled(&self, text: &str) -> bool {
        self.texts.reach(text.as_bytes(), text.len()).is_some()
    }
}

impl Fast {
    /// Whether all doubtful tokens of a row are found as others are; no where that is not told.
    pub(crate) fn finds_doubtful(&self, ids: &[u32]) -> bool {
        self.doubtful.with_neighbours(ids).all(|(at, neighbours)| {
            let before = ids[..at].last().map(|&id| self.texts.bytes(id));
            let behind = ids.get(at + 1).map(|&id| self.texts.bytes(id));
            let is_found = self.kind_before(ids, at) == BORDER;
            neighbours.is_some_and(|neighbours| neighbours.leave_it(before, is_found, behind, &self.normal))
        })
    }
}

/// The texts of which one begins another, of both sorts.
fn nested(mut texts: Vec<&str>) -> HashSet<&str> {
    texts.sort_unstable();
    let mut nested = HashSet::new();
    let mut outer = None;
    for text in texts {
        // In order: what a text begins stands together behind it.
        match outer.filter(|outer| text.starts_with(*outer)) {
            Some(outer) => nested.extend([outer, text]),
            None => outer = Some(text),
        }
    }
    nested
}
