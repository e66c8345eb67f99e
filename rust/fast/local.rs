//! Encoding a stretch of text by itself: pre-token by pre-token, and by the merges only where the sampled tokens do not stay.

use std::ops::Range;

use crate::ByteRange;
use crate::fast::Fast;
use crate::fast::scratch::Buffers;
use crate::machine::{Passage, START};
use crate::pairs::PairCache;
use crate::reencode::{EncodeTrace, PreToken};

/// A pre-token of a window and the sampled tokens that lie within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    bytes: ByteRange,
    /// `None` where a token reaches across one of its ends.
    tokens: Option<Range<usize>>,
}

/// A pre-token is merged as a whole where its parts would be this many times as long together.
const MOST_MERGED: usize = 4;

impl Fast {
    /// Go over the edges in front of the tokens of a window, state by state: whether a pre-token ends there. No where its text
    /// has to be looked at.
    ///
    /// A token that a boundary can be in front of has one there, or some later token has no place: so every edge is known in
    /// the end.
    fn walk(&self, ids: &[u32], mut edge: impl FnMut(usize, bool)) -> bool {
        let mut state = START;
        for (at, &id) in ids.iter().enumerate() {
            let passage = self.kinds.assumed_passage(self.kinds.of(id), state);
            let (Passage::Boundary(next) | Passage::Pair(next)) = passage else { return false };
            edge(at, at == 0 || passage == Passage::Boundary(next));
            state = next;
        }
        self.kinds.may_end(state) && self.kinds.stay_apart(ids)
    }

    /// Whether all neighbours within the pre-tokens of a window stay, for then it comes back; `None` where its tokens do not
    /// tell the pre-tokens. A pre-token that is a whole word of other tokens begins with a forbidden pair.
    pub(crate) fn tell(&self, ids: &[u32], cache: &mut PairCache) -> Option<bool> {
        let mut stay = true;
        let is_told = self.walk(ids, |at, is_boundary| {
            stay = stay && (is_boundary || self.pairs.stay(ids[at - 1], ids[at], cache));
        });
        is_told.then_some(stay)
    }

    /// Fill in the pre-tokens of a window whose tokens tell them.
    pub(crate) fn split_tokens(&self, ids: &[u32], buffers: &mut Buffers) {
        let Buffers { ends, pieces, .. } = buffers;
        pieces.clear();
        let mut first = 0;
        let mut piece = |end: usize| {
            let tokens = std::mem::replace(&mut first, end)..end;
            let start = if tokens.start == 0 { 0 } else { ends[tokens.start - 1] };
            pieces.push(Piece { bytes: start..ends[end - 1], tokens: Some(tokens) });
        };
        self.walk(ids, |at, is_boundary| {
            if is_boundary && at > 0 {
                piece(at);
            }
        });
        if !ids.is_empty() {
            piece(ids.len());
        }
    }

    /// Fill in the pre-tokens of the text in `buffers`.
    pub(crate) fn split_text(&self, text: &str, buffers: &mut Buffers) {
        let Buffers { ends, classes, chars, pieces, .. } = buffers;
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
            token += ends[token..].iter().take_while(|&&token_end| token_end <= end).count();
            let begins_here = start == if first == 0 { 0 } else { ends[first - 1] };
            let is_tiled = begins_here && token > first && ends[token - 1] == end;
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
        let Buffers { text, pieces, symbols, .. } = buffers;
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
            let is_made = match tokens {
                Some(tokens) if self.is_canonical(tokens, bytes, cache) => {
                    encoded.extend_from_slice(tokens);
                    true
                }
                Some(tokens) if tokens.len() > 1 => self.mend(tokens, bytes, cache, symbols, encoded),
                _ => {
                    let is_made = self.merge(bytes, symbols);
                    encoded.extend_from_slice(symbols);
                    is_made
                }
            };
            if !is_made {
                return false;
            }
            if encoded.len() > first + 1
                && let Some(&word) = self.whole_words.as_ref().and_then(|words| words.get(bytes))
            {
                encoded.truncate(first);
                encoded.push(word);
            }
            let mut end = range.start;
            ranges.extend(encoded[first..].iter().map(|&id| {
                let start = end;
                end += self.texts.length(&[id]);
                start..end
            }));
            // What the model saw is asked for only where the merges are not known by id.
            let tokens = first..encoded.len();
            pre_tokens.push(PreToken { range: range.clone(), tokens, normalized: String::new() });
        }
        true
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

    /// Put behind `encoded` what the merges make of a pre-token of these tokens, several, and bytes; no where a byte has no
    /// token.
    ///
    /// Only what stands around a pair that does not stay is merged anew, in steps that grow until the pairs at both its ends
    /// stay: then all pairs do, and such tokens are what the merges make ([`crate::pairs`]).
    fn mend(
        &self,
        tokens: &[u32],
        bytes: &[u8],
        cache: &mut PairCache,
        symbols: &mut Vec<u32>,
        encoded: &mut Vec<u32>,
    ) -> bool {
        let mut stay = |left: Option<&u32>, right: Option<&u32>| {
            left.zip(right).is_none_or(|(&left, &right)| self.pairs.stay(left, right, cache))
        };
        let first = encoded.len();
        let (mut rest, mut end, mut merged) = (tokens, 0, 0);
        while let [next, behind @ ..] = rest {
            if stay(encoded[first..].last(), Some(next)) {
                end += self.texts.length(&rest[..1]);
                encoded.push(*next);
                rest = behind;
                continue;
            }
            // Of a token in many pieces no two stay: they are merged at once.
            let pieces = rest.windows(2).take_while(|pair| !stay(pair.first(), pair.last())).count();
            let (mut left, mut right) = (1, 1 + pieces);
            loop {
                let kept = encoded.len() - left;
                let start = end - self.texts.length(&encoded[kept..]);
                let stop = end + self.texts.length(&rest[..right]);
                merged += stop - start;
                let is_dear = merged > MOST_MERGED * bytes.len();
                if !self.merge(if is_dear { bytes } else { &bytes[start..stop] }, symbols) {
                    return false;
                }
                if is_dear {
                    encoded.truncate(first);
                    encoded.extend_from_slice(symbols);
                    return true;
                }
                let stays_left = stay(encoded[first..kept].last(), symbols.first());
                let stays_right = stay(symbols.last(), rest.get(right));
                if stays_left && stays_right {
                    encoded.truncate(kept);
                    encoded.extend_from_slice(symbols);
                    (end, rest) = (stop, &rest[right..]);
                    break;
                }
                if !stays_left {
                    left = (2 * left).min(encoded.len() - first);
                }
                if !stays_right {
                    right = (2 * right).min(rest.len());
                }
            }
        }
        true
    }

    /// Make of bytes what the merges make of them; no where a byte has no token.
    fn merge(&self, bytes: &[u8], symbols: &mut Vec<u32>) -> bool {
        symbols.clear();
        if let Some(word) = self.words.find(&self.texts, bytes) {
            symbols.push(word);
            return true;
        }
        symbols.extend(bytes.iter().filter_map(|&byte| self.atoms[usize::from(byte)]));
        let is_whole = symbols.len() == bytes.len();
        if is_whole {
            self.pairs.encode(symbols);
        }
        is_whole
    }
}
