//! Added tokens that look at what stands beside them: those that take the white space on a side with them, and those that are
//! found only where no word goes on.
//!
//! Between other neighbours such a token is found as any other, and all is proven of it that is proven of those. Which neighbours
//! it has is told by the tokens on both sides of it. Rows where it has others, and rows that spell its text, are the reference's.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use tokenizers::AddedToken;

use crate::fast::texts::Texts;
use crate::tokenizer::Tokenizer;

/// The added tokens of a tokenizer that look at what stands beside them.
pub(crate) struct Beside {
    tokens: HashMap<u32, AddedToken>,
    /// From the least of their ids to the greatest.
    ids: RangeInclusive<u32>,
}

impl Beside {
    pub(crate) fn new(tokenizer: &Tokenizer) -> Self {
        let looking = tokenizer.added_tokens().iter().filter(|(_, added)| added.looks_beside());
        let tokens: HashMap<u32, AddedToken> = looking.map(|(&id, added)| (id, added.token.clone())).collect();
        let ids = tokens.keys().min().copied().unwrap_or(1)..=tokens.keys().max().copied().unwrap_or(0);
        Self { tokens, ids }
    }

    /// Such tokens among others, each with its place.
    pub(crate) fn among<'i>(&'i self, ids: &'i [u32]) -> impl Iterator<Item = (usize, &'i AddedToken)> + 'i {
        let ids = if self.tokens.is_empty() { &[] } else { ids };
        let near = ids.iter().enumerate().filter(|(_, id)| self.ids.contains(id));
        near.filter_map(|(at, id)| Some((at, self.tokens.get(id)?)))
    }

    /// Whether all such tokens of a row have neighbours that change nothing; no where that is not told.
    pub(crate) fn are_alone(&self, ids: &[u32], texts: &Texts) -> bool {
        let text = |&id: &u32| std::str::from_utf8(texts.bytes(id)).unwrap_or_default();
        self.among(ids).all(|(at, token)| {
            let before = ids[..at].last().map(|id| text(id).chars().next_back());
            let behind = ids.get(at + 1).map(|id| text(id).chars().next());
            let strips = [(before, token.lstrip), (behind, token.rstrip)];
            strips.into_iter().all(|(neighbour, is_stripped)| {
                let leaves = |c: char| !(is_stripped && c.is_whitespace() || token.single_word && may_be_of_word(c));
                neighbour.is_none_or(|c| c.is_some_and(leaves))
            })
        })
    }

    /// Whether a text holds that of such a token.
    pub(crate) fn is_spelled(&self, text: &str) -> bool {
        self.tokens.values().any(|token| text.contains(&token.content))
    }
}

/// Whether the reference may take a character for one of a word; what is not ASCII is taken for one.
fn may_be_of_word(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || c == '_'
}
