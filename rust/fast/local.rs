//! Encoding a window's text by itself, pre-token by pre-token: where the tokens do not tell what its pre-tokens are.

use std::ops::Range;

use crate::ByteRange;
use crate::fast::Fast;
use crate::fast::scratch::Buffers;
use crate::pairs::PairCache;
use crate::reencode::{EncodeTrace, PreToken};

/// A pre-token of a window and the sampled tokens that lie within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    bytes: ByteRange,
    /// `None` where a token reaches across one of its ends.
    tokens: Option<Range<usize>>,
}

impl Fast {
    /// Fill in the pre-tokens of a text; its tokens lie at `ranges`, which are nothing where tokens are no parts of the text.
    pub(crate) fn split_text(&self, text: &str, ranges: &[ByteRange], buffers: &mut Buffers) {
        let Buffers { classes, chars, pieces, .. } = buffers;
        classes.clear();
        chars.clear();
        pieces.clear();
        for (at, c) in text.char_indices() {
            classes.push(self.splitter.class(c));
            chars.push(at);
        }
        chars.push(text.len());
        let (mut at, mut token) = (0, 0);
        while at < classes.len() {
            let start = chars[at];
            at = self.splitter.next_end(classes, at);
            let end = chars[at];
            let first = token;
            token += ranges[token..].iter().take_while(|range| range.end <= end).count();
            let is_tiled = token > first && ranges[first].start == start && ranges[token - 1].end == end;
            pieces.push(Piece { bytes: start..end, tokens: is_tiled.then_some(first..token) });
        }
    }

    /// Whether the sampled tokens `ids` are what encoding the pre-tokens in `buffers` gives.
    pub(crate) fn stays(&self, ids: &[u32], cache: &mut PairCache, buffers: &Buffers) -> bool {
        buffers.pieces.iter().all(|Piece { bytes, tokens }| {
            let tokens = tokens.as_ref().map(|tokens| &ids[tokens.clone()]);
            tokens.is_some_and(|tokens| self.is_canonical(tokens, &buffers.text[bytes.clone()], cache))
        })
    }

    /// Fill in what encoding the pre-tokens in `buffers` gives; no where a byte has no token.
    ///
    /// The sampled tokens `ids` are there to spare work: what stays is not encoded.
    pub(crate) fn encode_locally(
        &self,
        ids: &[u32],
        cache: &mut PairCache,
        buffers: &mut Buffers,
        trace: &mut EncodeTrace,
    ) -> bool {
        let Buffers { text, pieces, mended, .. } = buffers;
        let EncodeTrace { ids: encoded, ranges, pre_tokens, changed, located } = trace;
        encoded.clear();
        ranges.clear();
        pre_tokens.clear();
        changed.clear();
        *located = true;
        for Piece { bytes: range, tokens } in pieces.iter() {
            let bytes = &text[range.clone()];
            let tokens = tokens.as_ref().map(|tokens| &ids[tokens.clone()]);
            let first = encoded.len();
            match tokens {
                Some(tokens) if self.is_canonical(tokens, bytes, cache) => encoded.extend_from_slice(tokens),
                Some(tokens) if tokens.len() > 1 && self.mend(tokens, cache, mended) => {
                    encoded.extend_from_slice(&mended.ids);
                }
                _ if self.encode_whole(bytes, &mut mended.ids) => encoded.extend_from_slice(&mended.ids),
                _ => return false,
            }
            self.lay_out(range.start, &encoded[first..], ranges);
            // What the model saw is asked for only where the merges are not known by id.
            let tokens = first..encoded.len();
            pre_tokens.push(PreToken { range: range.clone(), tokens, normalized: String::new() });
        }
        true
    }

    /// Whether a pre-token that consists of these tokens is encoded to them.
    fn is_canonical(&self, tokens: &[u32], bytes: &[u8], cache: &mut PairCache) -> bool {
        if let [token] = tokens {
            return self.comes_back(*token);
        }
        tokens.windows(2).all(|pair| self.merges_leave(pair[0], pair[1], cache)) && self.whole_word(bytes).is_none()
    }
}
