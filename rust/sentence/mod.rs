//! The verdict without encoding again, for BPE tokenizers that spell spaces as `▁` and split a text at added tokens only.
//!
//! A text falls into added tokens and the *segments* between them, and each segment is encoded as a whole: it is what
//! encoding gives iff every two neighbours in it are ([`crate::pairs`]). So one pass over the tokens ([`scan`]) finds
//! the pairs that do not stay, and the places where the text of an added token may begin, where a run of byte tokens
//! spells a character that has a token, or where the encoder puts a space in front. Around each of them as many tokens as
//! it takes are encoded again ([`window`]): until the pairs at both edges stay, for then they are encoded by themselves as
//! they are within the row. What the reference would say of the row is put together from these windows
//! (`crate::windows`).

mod assemble;
mod build;
mod kinds;
mod repair;
mod scan;
mod shape;
#[cfg(test)]
mod tests;
mod trie;
mod window;

use std::sync::Arc;

use kinds::{Crossings, Kinds, Letters};
use trie::Trie;

use crate::pairs::Pairs;
use crate::surfaces::Surfaces;

/// What the fast engine knows of one tokenizer.
pub struct Sentence {
    kinds: Kinds,
    crossings: Crossings,
    pairs: Pairs,
    surfaces: Arc<Surfaces>,
    /// The texts that are added tokens wherever they stand.
    added: Trie,
    letters: Letters,
    /// The encoder puts the space marker in front of every segment, and the decoder cuts off a space in front of the text.
    has_prefix: bool,
    /// There are added tokens whose texts are not found, but spelled by the model: those that hold the space marker.
    has_spelled_added: bool,
    /// Bytes of every token, or [`LONG`].
    lengths: Box<[u8]>,
}

/// More bytes than are told in one.
const LONG: u8 = u8::MAX;

impl Sentence {
    /// Whether a token comes back when it is all of a segment.
    pub(crate) fn comes_back(&self, id: u32) -> bool {
        !self.kinds.of(id).is_byte() && self.pairs.is_self_canonical(id)
    }

    /// The bytes of a token; none for an id outside the vocabulary.
    #[inline]
    fn bytes(&self, id: u32) -> &[u8] {
        self.surfaces.get(id).unwrap_or_default()
    }

    /// The bytes of tokens end to end.
    fn length(&self, ids: &[u32]) -> usize {
        let lengths = ids.iter().map(|&id| match self.lengths[id as usize] {
            LONG => self.bytes(id).len(),
            len => usize::from(len),
        });
        lengths.sum()
    }
}
