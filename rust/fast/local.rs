//! Encoding a stretch of text by itself: pre-token by pre-token, and by the merges only where the sampled tokens do not stay.

use crate::fast::Fast;
use crate::pairs::PairCache;
use crate::reencode::{EncodeTrace, PreToken};
use crate::ByteRange;

/// Buffers for one window after the other.
#[derive(Default)]
pub(crate) struct Buffers {
    classes: Vec<u8>,
    /// Where every character begins, and the end of the last.
    chars: Vec<usize>,
    symbols: Vec<u32>,
}

/// A pre-token of a window and the sampled tokens that lie within it.
struct Piece<'w> {
    bytes: ByteRange,
    /// `None` where a token reaches across one of its ends.
    tokens: Option<&'w [u32]>,
}

impl Fast {
    /// Whether the sampled tokens `ids`, which end at `ends` of `text`, are what encoding `text` gives.
    pub(crate) fn stays(&self, ids: &[u32], ends: &[usize], text: &str, cache: &mut PairCache, buffers: &mut Buffers) -> bool {
        self.split(text, buffers);
        self.pieces(ids, ends, text, buffers)
            .all(|piece| piece.tokens.is_some_and(|tokens| self.is_canonical(tokens, &text.as_bytes()[piece.bytes], cache)))
    }

    /// What encoding `text` gives, where the sampled tokens `ids` end at `ends` of it; `None` where a byte has no token.
    ///
    /// `ids` and `ends` are only there to spare work: what stays is not encoded.
    pub(crate) fn encode_locally(
        &self,
        ids: &[u32],
        ends: &[usize],
        text: &str,
        cache: &mut PairCache,
        buffers: &mut Buffers,
    ) -> Option<EncodeTrace> {
        self.split(text, buffers);
        let mut symbols = std::mem::take(&mut buffers.symbols);
        let mut trace = EncodeTrace { located: true, ..EncodeTrace::default() };
        for Piece { bytes: range, tokens } in self.pieces(ids, ends, text, buffers) {
            let bytes = &text.as_bytes()[range.clone()];
            symbols.clear();
            match tokens.filter(|tokens| self.is_canonical(tokens, bytes, cache)) {
                Some(tokens) => symbols.extend_from_slice(tokens),
                None => self.encode_piece(bytes, &mut symbols)?,
            }
            let first = trace.ids.len();
            let mut at = range.start;
            for &id in &symbols {
                let end = at + self.texts.bytes(id).len();
                trace.ids.push(id);
                trace.ranges.push(at..end);
                at = end;
            }
            // What the model saw is asked for only where the merges are not known by id.
            trace.pre_tokens.push(PreToken { range, tokens: first..trace.ids.len(), normalized: String::new() });
        }
        buffers.symbols = symbols;
        Some(trace)
    }

    /// Fill in the classes and places of the characters of `text`.
    fn split(&self, text: &str, buffers: &mut Buffers) {
        buffers.classes.clear();
        buffers.chars.clear();
        for (at, c) in text.char_indices() {
            buffers.classes.push(self.splitter.class(c));
            buffers.chars.push(at);
        }
        buffers.chars.push(text.len());
    }

    fn pieces<'w>(
        &self,
        ids: &'w [u32],
        ends: &'w [usize],
        text: &'w str,
        buffers: &'w Buffers,
    ) -> impl Iterator<Item = Piece<'w>> {
        let mut at = 0;
        let mut token = 0;
        std::iter::from_fn(move || {
            let start = *buffers.chars.get(at).filter(|&&start| start < text.len())?;
            at = self.splitter.next_end(&buffers.classes, at);
            let end = buffers.chars[at];
            let first = token;
            token += ends[token..].iter().take_while(|&&token_end| token_end <= end).count();
            let begins_here = start == if first == 0 { 0 } else { ends[first - 1] };
            let is_tiled = begins_here && token > first && ends[token - 1] == end;
            Some(Piece { bytes: start..end, tokens: is_tiled.then(|| &ids[first..token]) })
        })
    }

    /// Whether a pre-token that consists of these tokens is encoded to them.
    fn is_canonical(&self, tokens: &[u32], bytes: &[u8], cache: &mut PairCache) -> bool {
        match (tokens, &self.whole_words) {
            ([token], _) => self.comes_back(*token),
            (tokens, whole_words) => {
                tokens.windows(2).all(|pair| self.stay(pair[0], pair[1], cache) || self.forbidden.contains(&(pair[0], pair[1])))
                    && !whole_words.as_ref().is_some_and(|words| words.contains_key(bytes))
            }
        }
    }

    fn encode_piece(&self, bytes: &[u8], symbols: &mut Vec<u32>) -> Option<()> {
        for &byte in bytes {
            symbols.push(self.atoms[usize::from(byte)]?);
        }
        self.pairs.encode(symbols);
        if symbols.len() > 1
            && let Some(&word) = self.whole_words.as_ref().and_then(|words| words.get(bytes))
        {
            symbols.clear();
            symbols.push(word);
        }
        Some(())
    }
}
