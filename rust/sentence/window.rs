//! Encoding some tokens of a row again, by themselves.
//!
//! A window may end wherever a text of an added token cannot go across: all texts that begin in front of it end there too,
//! and those that begin in it have to end in it. Inside a segment the pairs at its edges have to stay, for then all pairs
//! do, and what encoding the window gives is what encoding the row gives there.

use std::ops::Range;

use super::Sentence;
use super::kinds::Kind;
use super::scan::NotProven;
use super::trie::{Target, has};
use crate::decode::DecodeTrace;
use crate::pairs::PairCache;
use crate::reencode::{EncodeTrace, PreToken};
use crate::sources::SPACE_MARKER;
use crate::windows::Redone;

/// What encoding takes.
#[derive(Default)]
pub(super) struct Work {
    pub(super) cache: PairCache,
    /// Bytes that were encoded.
    pub(super) encoded: usize,
}

/// Why a window cannot be encoded by itself.
enum Stop {
    NotProven,
    /// Something in it depends on what is in front.
    Before,
    /// Something in it depends on what follows, as far as this token.
    Behind(usize),
}

impl From<NotProven> for Stop {
    fn from(_: NotProven) -> Self {
        Self::NotProven
    }
}

impl Sentence {
    /// Encode `tokens` of a row; the window grows until that can be done by itself.
    pub(super) fn redo(&self, ids: &[u32], mut tokens: Range<usize>, work: &mut Work) -> Result<Redone, NotProven> {
        let mut step = 1;
        loop {
            tokens = self.with_whole_byte_runs(ids, tokens);
            // In steps that grow, so that all attempts together cost no more than a few times the last.
            match self.encode_window(ids, &tokens, work) {
                Ok(redone) => return Ok(redone),
                Err(Stop::NotProven) => return Err(NotProven),
                Err(Stop::Before) => {
                    let segment = ids[..tokens.start].iter().rev().take_while(|&&id| !self.kinds.of(id).is_hard());
                    tokens.start -= segment.take(step).count();
                }
                Err(Stop::Behind(last)) => tokens.end = (tokens.end + step).max(last + 1).min(ids.len()),
            }
            step *= 2;
        }
    }

    fn with_whole_byte_runs(&self, ids: &[u32], tokens: Range<usize>) -> Range<usize> {
        let is_inside_run = |at: usize| {
            at > 0 && at < ids.len() && [ids[at - 1], ids[at]].iter().all(|&id| self.kinds.of(id).is_byte())
        };
        let start = (0..=tokens.start).rev().find(|&at| !is_inside_run(at)).unwrap_or(0);
        let end = (tokens.end..=ids.len()).find(|&at| !is_inside_run(at)).unwrap_or(ids.len());
        start..end
    }

    fn encode_window(&self, ids: &[u32], tokens: &Range<usize>, work: &mut Work) -> Result<Redone, Stop> {
        let decoded = self.decode_window(ids, tokens)?;
        let text = decoded.text.as_str();
        work.encoded += text.len();
        let mut trace = EncodeTrace { located: true, ..EncodeTrace::default() };
        let is_hard = |id: &u32| self.kinds.of(*id).is_hard();
        let (before, behind) = (ids[..tokens.start].last(), ids.get(tokens.end));
        let begins = before.is_none_or(is_hard);
        let ends = behind.is_none_or(is_hard);

        let mut segment = 0;
        let mut at = 0;
        while at < text.len() {
            let (mut found, goes_on_with) = self.added.walk(&text.as_bytes()[at..]);
            if let Some(&byte) = behind.and_then(|&id| self.bytes(id).first())
                && has(&goes_on_with, byte)
            {
                found = self.added.find(&self.text_from(text.as_bytes()[at..].to_vec(), &ids[tokens.end..]));
            }
            let Some(found) = found else {
                at += 1;
                continue;
            };
            let Target::Token(id) = found.target else { return Err(Stop::NotProven) };
            let end = at + found.len;
            if end > text.len() {
                return Err(Stop::Behind(self.token_at(ids, tokens.end, end - text.len())));
            }
            self.encode_segment(text, segment..at, begins || segment > 0, &mut trace)?;
            trace.pre_tokens.push(PreToken {
                range: at..end,
                tokens: trace.ids.len()..trace.ids.len() + 1,
                normalized: String::new(),
            });
            trace.ids.push(id);
            trace.ranges.push(at..end);
            (at, segment) = (end, end);
        }
        let ends_in_added = segment == text.len() && segment > 0;
        if !ends_in_added {
            self.encode_segment(text, segment..text.len(), begins || segment > 0, &mut trace)?;
        }
        if let Some(&before) = before.filter(|_| !begins) {
            let first_is_added = trace.pre_tokens.first().is_some_and(|first| self.is_added_pre_token(&trace, first));
            let stays = match trace.ids.first() {
                Some(&first) if !first_is_added => self.pairs.stay(before, first, &mut work.cache),
                _ => !(self.kinds.of(before).has(Kind::ALONE) || tokens.start == 1 && self.is_cut_off(before)),
            };
            if !stays {
                return Err(Stop::Before);
            }
        }
        if let Some(&behind) = behind.filter(|_| !ends) {
            let stays = match trace.ids.last() {
                Some(&last) if !ends_in_added => self.pairs.stay(last, behind, &mut work.cache),
                Some(_) => !self.has_prefix && !self.kinds.of(behind).has(Kind::ALONE),
                // Whether a space is put in front depends on whether there is a segment.
                None => false,
            };
            if !stays {
                return Err(Stop::Behind(tokens.end));
            }
        }
        Ok(Redone { tokens: tokens.clone(), decoded, encoded: trace })
    }

    /// `text` and what follows it, as far as the text of an added token may reach.
    fn text_from(&self, mut text: Vec<u8>, ids: &[u32]) -> Vec<u8> {
        let len = text.len() + self.added.longest();
        for &id in ids {
            if text.len() >= len {
                break;
            }
            text.extend_from_slice(self.bytes(id));
        }
        text
    }

    /// Whether nothing is left of a row that is this token.
    fn is_cut_off(&self, id: u32) -> bool {
        self.has_prefix && self.bytes(id) == b" "
    }

    fn is_added_pre_token(&self, trace: &EncodeTrace, pre_token: &PreToken) -> bool {
        pre_token.tokens.len() == 1 && self.kinds.of(trace.ids[pre_token.tokens.start]).is_hard()
    }

    /// The token, `first` or behind it, that holds the last of the next `len` bytes.
    fn token_at(&self, ids: &[u32], first: usize, mut len: usize) -> usize {
        for (at, &id) in ids.iter().enumerate().skip(first) {
            let own = self.bytes(id).len();
            if len <= own {
                return at;
            }
            len -= own;
        }
        ids.len() - 1
    }

    /// What the tokens decode to in their row, and where each of them is in that.
    fn decode_window(&self, ids: &[u32], tokens: &Range<usize>) -> Result<DecodeTrace, NotProven> {
        let mut decoded = DecodeTrace::default();
        let is_byte = |id: &u32| self.kinds.of(*id).is_byte();
        for run in ids[tokens.clone()].chunk_by(|a, b| is_byte(a) == is_byte(b)) {
            let bytes: Vec<u8> = run.iter().flat_map(|&id| self.bytes(id)).copied().collect();
            let mut end = decoded.text.len();
            let mut place = |len: usize| {
                end += len;
                end - len..end
            };
            if let Ok(text) = std::str::from_utf8(&bytes) {
                decoded.ranges.extend(run.iter().map(|&id| place(self.bytes(id).len())));
                decoded.text.push_str(text);
            } else {
                // One for every byte, also where some of them are characters.
                let places = run.iter().map(|_| place(char::REPLACEMENT_CHARACTER.len_utf8()));
                decoded.invalid.extend(places);
                decoded.ranges.extend_from_slice(&decoded.invalid[decoded.invalid.len() - run.len()..]);
                decoded.text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, run.len()));
            }
        }
        if self.has_prefix && tokens.start == 0 && decoded.text.starts_with(' ') {
            decoded.text.remove(0);
            for range in decoded.ranges.iter_mut().chain(&mut decoded.invalid) {
                *range = range.start.saturating_sub(1)..range.end - 1;
            }
        }
        // The model has a token for it, but the encoder none of the spaces that this could be told from.
        if decoded.text.contains(SPACE_MARKER) { Err(NotProven) } else { Ok(decoded) }
    }

    /// Encode the part of a segment that is in the window; `begins` says that it is the front of it.
    fn encode_segment(
        &self,
        text: &str,
        part: Range<usize>,
        begins: bool,
        trace: &mut EncodeTrace,
    ) -> Result<(), NotProven> {
        if part.is_empty() {
            return Ok(());
        }
        let mut symbols = Vec::with_capacity(part.len() + 1);
        let has_prefix = begins && self.has_prefix;
        symbols.extend(self.letters.of(SPACE_MARKER).filter(|_| has_prefix));
        self.letters.spell(&text[part.clone()], &mut symbols).ok_or(NotProven)?;
        self.pairs.encode(&mut symbols);
        let first = trace.ids.len();
        let mut at = part.start;
        let mut inserted = usize::from(has_prefix);
        for &id in &symbols {
            // Decoding may print another text for it than the one that it was made of.
            if self.kinds.of(id).has(Kind::ODD) {
                return Err(NotProven);
            }
            let end = at + self.bytes(id).len() - std::mem::take(&mut inserted);
            trace.ranges.push(at..end);
            at = end;
        }
        trace.ids.extend(symbols);
        trace.pre_tokens.push(PreToken { range: part, tokens: first..trace.ids.len(), normalized: String::new() });
        Ok(())
    }
}
