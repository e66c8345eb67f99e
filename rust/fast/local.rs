//! Encoding a stretch of text by itself: pre-token by pre-token, and by the merges only where the sampled tokens do not stay.

use crate::ByteRange;
use crate::fast::Fast;
use crate::fast::scratch::Buffers;
use crate::pairs::PairCache;
use crate::reencode::{EncodeTrace, PreToken};

/// A pre-token of a window and the sampled tokens that lie within it.
struct Piece<'w> {
    bytes: ByteRange,
    /// `None` where a token reaches across one of its ends.
    tokens: Option<&'w [u32]>,
}

impl Fast {
    /// Whether the sampled tokens `ids` are what encoding the text in `buffers` gives.
    pub(crate) fn stays(&self, ids: &[u32], cache: &mut PairCache, buffers: &mut Buffers) -> bool {
        self.split(buffers);
        self.pieces(ids, buffers).all(|piece| {
            piece.tokens.is_some_and(|tokens| self.is_canonical(tokens, &buffers.text[piece.bytes], cache))
        })
    }

    /// Fill in what encoding the text in `buffers` gives; no where a byte has no token.
    ///
    /// The sampled tokens `ids` are there to spare work: what stays is not encoded.
    pub(crate) fn encode_locally(
        &self,
        ids: &[u32],
        cache: &mut PairCache,
        buffers: &mut Buffers,
        trace: &mut EncodeTrace,
    ) -> bool {
        self.split(buffers);
        let mut symbols = std::mem::take(&mut buffers.symbols);
        let EncodeTrace { ids: encoded, ranges, pre_tokens, changed, located } = trace;
        encoded.clear();
        ranges.clear();
        pre_tokens.clear();
        changed.clear();
        *located = true;
        let mut is_encoded = true;
        for Piece { bytes: range, tokens } in self.pieces(ids, buffers) {
            let bytes = &buffers.text[range.clone()];
            let first = encoded.len();
            let is_bad = buffers.bad_edge.is_some_and(|edge| range.start < edge && edge < range.end);
            if let Some(tokens) = tokens.filter(|tokens| !is_bad && self.is_canonical(tokens, bytes, cache)) {
                encoded.extend_from_slice(tokens);
            } else {
                is_encoded &= self.encode_piece(bytes, &mut symbols);
                encoded.extend_from_slice(&symbols);
            }
            let mut end = range.start;
            ranges.extend(encoded[first..].iter().map(|&id| {
                let start = end;
                end += self.texts.bytes(id).len();
                start..end
            }));
            // What the model saw is asked for only where the merges are not known by id.
            pre_tokens.push(PreToken { range, tokens: first..encoded.len(), normalized: String::new() });
        }
        buffers.symbols = symbols;
        is_encoded
    }

    /// Fill in the classes and places of the characters of the text.
    fn split(&self, buffers: &mut Buffers) {
        let Buffers { text, classes, chars, .. } = buffers;
        classes.clear();
        chars.clear();
        let text = std::str::from_utf8(text).unwrap_or_default();
        for (at, c) in text.char_indices() {
            classes.push(self.splitter.class(c));
            chars.push(at);
        }
        chars.push(text.len());
    }

    fn pieces<'w>(&self, ids: &'w [u32], buffers: &'w Buffers) -> impl Iterator<Item = Piece<'w>> {
        let Buffers { ends, classes, chars, .. } = buffers;
        let mut at = 0;
        let mut token = 0;
        std::iter::from_fn(move || {
            if at == classes.len() {
                return None;
            }
            let start = chars[at];
            at = self.splitter.next_end(classes, at);
            let end = chars[at];
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
                let stay = |pair: &[u32]| {
                    // A forbidden pair is one that the merges leave alone: the rule below says what becomes of it.
                    self.pairs.stay(pair[0], pair[1], cache) || self.forbidden.contains(&(pair[0], pair[1]))
                };
                tokens.windows(2).all(stay) && !whole_words.as_ref().is_some_and(|words| words.contains_key(bytes))
            }
        }
    }

    /// Make the tokens of one pre-token; no where a byte has no token.
    fn encode_piece(&self, bytes: &[u8], symbols: &mut Vec<u32>) -> bool {
        symbols.clear();
        if let Some(word) = self.words.find(&self.texts, bytes) {
            symbols.push(word);
            return true;
        }
        symbols.extend(bytes.iter().filter_map(|&byte| self.atoms[usize::from(byte)]));
        if symbols.len() < bytes.len() {
            return false;
        }
        self.pairs.encode(symbols);
        if symbols.len() > 1
            && let Some(&word) = self.whole_words.as_ref().and_then(|words| words.get(bytes))
        {
            symbols.clear();
            symbols.push(word);
        }
        true
    }
}
