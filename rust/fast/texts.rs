//! The texts of all tokens as the splitter sees them: classes of characters.

use std::sync::Arc;

use crate::split::Splitter;
use crate::surfaces::Surfaces;

/// Bytes and classes of all tokens.
pub(crate) struct Texts {
    bytes: Arc<Surfaces>,
    classes: Vec<u8>,
    /// Where the classes of each id end.
    ends: Vec<u32>,
}

impl Texts {
    /// Of ids `0..=count`.
    pub(crate) fn new(count: u32, bytes: &Arc<Surfaces>, splitter: &Splitter) -> Self {
        let mut texts = Self { bytes: Arc::clone(bytes), classes: Vec::new(), ends: Vec::new() };
        for id in 0..=count {
            let text = std::str::from_utf8(texts.bytes(id)).unwrap_or_default();
            let classes: Vec<u8> = text.chars().map(|c| splitter.class(c)).collect();
            texts.classes.extend(classes);
            texts.ends.push(u32::try_from(texts.classes.len()).expect("a vocabulary has less than 4 GiB of text"));
        }
        texts
    }

    /// The bytes of a token; none for an id outside the vocabulary.
    #[inline]
    pub(crate) fn bytes(&self, id: u32) -> &[u8] {
        self.bytes.get(id).unwrap_or_default()
    }

    /// The classes of a token's characters; empty where it is no text by itself.
    pub(crate) fn classes(&self, id: u32) -> &[u8] {
        let index = id as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.classes[start as usize..self.ends[index] as usize]
    }
}
