//! Tokens of a pre-token of which some do not stay beside each other, and what the merges make of them.

use std::ops::Range;

use crate::fast::Fast;
use crate::pairs::PairCache;

/// Sampled tokens of a pre-token and the tokens that take their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// What encoding makes of the tokens of one pre-token, and room to find out.
#[derive(Default)]
pub(crate) struct Mended {
    pub(crate) ids: Vec<u32>,
    /// In order and apart; all other tokens are the sampled ones.
    pub(crate) changes: Vec<Change>,
    bytes: Vec<u8>,
    symbols: Vec<u32>,
}

impl Mended {
    /// Put `symbols` in the place of the tokens from `kept` on, which are what was made of the sampled ones before `stop`.
    fn replace(&mut self, kept: usize, stop: usize) {
        let Self { ids, changes, symbols, .. } = self;
        let mut start = kept;
        while let Some(last) = changes.pop_if(|last| start < last.new.end) {
            start = start.min(last.new.start);
        }
        ids.truncate(kept);
        ids.extend_from_slice(symbols);
        // What lies behind the last change is as it was sampled.
        let (old, new) = changes.last().map_or((0, 0), |last| (last.old.end, last.new.end));
        changes.push(Change { old: old + (start - new)..stop, new: start..ids.len() });
    }
}

/// A pre-token is merged as a whole where its parts would be this many times as long together.
const MOST_MERGED: usize = 4;

impl Fast {
    /// Fill in what encoding makes of a pre-token of these tokens, several; no where a byte has no token.
    ///
    /// Only what stands around a pair that does not stay is merged anew, with what stands before it in steps that grow until it
    /// stays beside the result: when all is done all pairs stay, and such tokens are what the merges make ([`crate::pairs`]).
    pub(crate) fn mend(&self, tokens: &[u32], cache: &mut PairCache, mended: &mut Mended) -> bool {
        mended.ids.clear();
        mended.changes.clear();
        let length = self.texts.length(tokens);
        // No token is longer than that.
        if self.whole_words.is_some() && u16::try_from(length).is_ok() {
            self.join(tokens, &mut mended.bytes);
            if let Some(word) = self.whole_word(&mended.bytes) {
                mended.symbols.clear();
                mended.symbols.push(word);
                mended.replace(0, tokens.len());
                return true;
            }
        }
        let mut stay = |left: Option<&u32>, right: u32| left.is_none_or(|&left| self.merges_leave(left, right, cache));
        let (mut done, mut merged) = (0, 0);
        while let [next, ..] = tokens[done..] {
            if stay(mended.ids.last(), next) {
                mended.ids.push(next);
                done += 1;
                continue;
            }
            if self.are_one(mended, next, &mut stay) {
                done += 1;
                mended.replace(mended.ids.len() - 1, done);
                continue;
            }
            // Of a token in many pieces no two stay: they are merged at once.
            let pieces = tokens[done..].windows(2).take_while(|pair| !stay(pair.first(), pair[1])).count();
            let stop = done + 1 + pieces;
            let mut left = 1;
            loop {
                let Mended { ids, bytes, symbols, .. } = mended;
                let kept = ids.len() - left;
                self.join(&ids[kept..], bytes);
                self.append(&tokens[done..stop], bytes);
                merged += bytes.len();
                if merged > MOST_MERGED * length {
                    self.join(tokens, bytes);
                    let is_made = self.merge(bytes, symbols);
                    mended.replace(0, tokens.len());
                    return is_made;
                }
                if !self.merge(bytes, symbols) {
                    return false;
                }
                let stays = symbols.first().is_none_or(|&first| stay(ids[..kept].last(), first));
                if stays {
                    mended.replace(kept, stop);
                    done = stop;
                    break;
                }
                left = (2 * left).min(ids.len());
            }
        }
        true
    }

    /// Whether the last token and the next are two pieces of one, as most that do not stay are; then it is the symbol.
    fn are_one(&self, mended: &mut Mended, next: u32, stay: &mut impl FnMut(Option<&u32>, u32) -> bool) -> bool {
        let Mended { ids, bytes, symbols, .. } = mended;
        let Some((&last, before)) = ids.split_last() else { return false };
        self.join(&[last, next], bytes);
        symbols.clear();
        symbols.extend(self.words.find(&self.texts, bytes).filter(|&word| stay(before.last(), word)));
        !symbols.is_empty()
    }

    /// Make of bytes what encoding makes of a pre-token of them; no where one has no token.
    pub(crate) fn encode_whole(&self, bytes: &[u8], symbols: &mut Vec<u32>) -> bool {
        match self.whole_word(bytes) {
            Some(word) => {
                symbols.clear();
                symbols.push(word);
                true
            }
            None => self.merge(bytes, symbols),
        }
    }

    /// Whether two tokens stay beside each other in a pre-token that is no whole word. A forbidden pair is one that the merges
    /// leave alone.
    pub(crate) fn merges_leave(&self, left: u32, right: u32, cache: &mut PairCache) -> bool {
        self.pairs.stay(left, right, cache) || self.forbidden.contains(&(left, right))
    }

    /// The token that a pre-token of these bytes is whatever the merges make of it.
    pub(crate) fn whole_word(&self, bytes: &[u8]) -> Option<u32> {
        self.whole_words.as_ref()?.get(bytes).copied()
    }

    /// Make of bytes what the merges make of them; no where one has no token.
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

    /// Fill in the bytes of tokens.
    pub(crate) fn join(&self, ids: &[u32], bytes: &mut Vec<u8>) {
        bytes.clear();
        self.append(ids, bytes);
    }

    fn append(&self, ids: &[u32], bytes: &mut Vec<u8>) {
        for &id in ids {
            bytes.extend_from_slice(self.texts.bytes(id));
        }
    }
}
