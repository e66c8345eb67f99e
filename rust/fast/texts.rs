//! The texts of all tokens as the splitter sees them: classes of characters.

use std::sync::Arc;

use crate::split::Splitter;
use crate::surfaces::Surfaces;

/// No class: the token does not begin, or end, with a whole character.
pub(crate) const NO_CLASS: u8 = u8::MAX;

/// Bytes and classes of all tokens.
pub(crate) struct Texts {
    bytes: Arc<Surfaces>,
    lengths: Vec<u16>,
    classes: Vec<u8>,
    /// Where the classes of each id end.
    ends: Vec<u32>,
    /// The classes of the first and of the last character, or [`NO_CLASS`].
    outer: Vec<(u8, u8)>,
}

impl Texts {
    /// Of ids `0..=count`; `None` for tokens that are longer than any real one.
    pub(crate) fn new(count: u32, bytes: &Arc<Surfaces>, splitter: &Splitter) -> Option<Self> {
        let room = count as usize + 1;
        let mut texts = Self {
            bytes: Arc::clone(bytes),
            lengths: Vec::with_capacity(room),
            classes: Vec::with_capacity(8 * room),
            ends: Vec::with_capacity(room),
            outer: Vec::with_capacity(room),
        };
        for id in 0..=count {
            let bytes = bytes.get(id).unwrap_or_default();
            let start = texts.classes.len();
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            texts.classes.extend(text.chars().map(|c| splitter.class(c)));
            let classes = &texts.classes[start..];
            let outer = classes.first().copied().zip(classes.last().copied());
            texts.outer.push(outer.unwrap_or((NO_CLASS, NO_CLASS)));
            texts.lengths.push(u16::try_from(bytes.len()).ok()?);
            texts.ends.push(u32::try_from(texts.classes.len()).ok()?);
        }
        Some(texts)
    }

    /// The bytes of a token; none for an id outside the vocabulary.
    #[inline]
    pub(crate) fn bytes(&self, id: u32) -> &[u8] {
        self.bytes.get(id).unwrap_or_default()
    }

    /// The number of bytes of tokens.
    pub(crate) fn length(&self, ids: &[u32]) -> usize {
        ids.iter().map(|&id| usize::from(self.lengths[id as usize])).sum()
    }

    /// The classes of a token's first and last characters, or [`NO_CLASS`].
    pub(crate) fn outer_classes(&self, id: u32) -> (u8, u8) {
        self.outer[id as usize]
    }

    /// The classes of a token's characters; empty where it is no text by itself.
    pub(crate) fn classes(&self, id: u32) -> &[u8] {
        let index = id as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.classes[start as usize..self.ends[index] as usize]
    }
}
