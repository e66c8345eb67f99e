//! Added tokens whose own text does not tell whether they are found in a row.
//!
//! Some take the white space on a side with them, or are found only where no word goes on. Between other neighbours such a token
//! is found as any other, and all is proven of it that is proven of those; which neighbours it has is told by the tokens on both
//! sides of it. Of others more has a say: those of which one begins another, since the longer one is found if it is there, and
//! those that are looked for only after the normalizer has been at work, behind all that are not.
//!
//! Rows in which that matters are the reference's: rows that hold a token of the second sort, or one of the first between
//! neighbours that matter, and rows that spell the text of one.

use std::collections::HashSet;

use tokenizers::AddedToken;

use crate::fast::normal::Normal;
use crate::fast::texts::Texts;
use crate::few_ids::FewIds;
use crate::tokenizer::Tokenizer;

/// The added tokens of a tokenizer that are not found by their text alone.
pub(crate) struct Doubtful(FewIds<Doubt>);

struct Doubt {
    token: AddedToken,
    /// The tokens on both sides of it tell whether it is found.
    is_told_by_neighbours: bool,
}

impl Doubtful {
    pub(crate) fn new(tokenizer: &Tokenizer, normal: &Normal) -> Self {
        let all = tokenizer.added_tokens();
        let nested = nested(all.values().map(|added| added.token.content.as_str()).collect());
        let doubt = |token: &AddedToken, looks_beside| {
            let is_behind_others = token.normalized && !matches!(normal, Normal::Identity);
            let is_told_by_neighbours = !is_behind_others && !nested.contains(token.content.as_str());
            (looks_beside || !is_told_by_neighbours).then(|| Doubt { token: token.clone(), is_told_by_neighbours })
        };
        Self(all.iter().filter_map(|(&id, added)| Some((id, doubt(&added.token, added.looks_beside())?))).collect())
    }

    /// Where such tokens stand among others.
    pub(crate) fn among<'i>(&'i self, ids: &'i [u32]) -> impl Iterator<Item = usize> + 'i {
        self.doubts(ids).map(|(at, _)| at)
    }

    fn doubts<'i>(&'i self, ids: &'i [u32]) -> impl Iterator<Item = (usize, &'i Doubt)> + 'i {
        let ids = if self.0.by_id().is_empty() { &[] } else { ids };
        ids.iter().enumerate().filter_map(|(at, &id)| Some((at, self.0.get(id)?)))
    }

    /// Whether all such tokens of a row are found as others are; no where that is not told.
    pub(crate) fn are_found(&self, ids: &[u32], texts: &Texts) -> bool {
        let text = |&id: &u32| std::str::from_utf8(texts.bytes(id)).unwrap_or_default();
        self.doubts(ids).all(|(at, Doubt { token, is_told_by_neighbours })| {
            let before = ids[..at].last().map(|id| text(id).chars().next_back());
            let behind = ids.get(at + 1).map(|id| text(id).chars().next());
            let mut strips = [(before, token.lstrip), (behind, token.rstrip)].into_iter();
            *is_told_by_neighbours
                && strips.all(|(neighbour, is_stripped)| {
                    let leaves =
                        |c: char| !(is_stripped && c.is_whitespace() || token.single_word && may_be_of_word(c));
                    neighbour.is_none_or(|c| c.is_some_and(leaves))
                })
        })
    }

    /// Whether a text holds that of such a token.
    pub(crate) fn is_spelled(&self, text: &str) -> bool {
        self.0.by_id().values().any(|doubt| text.contains(&doubt.token.content))
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

/// Whether the reference may take a character for one of a word; what is not ASCII is taken for one.
fn may_be_of_word(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || c == '_'
}
