//! The windows of a row that do not come back: from suspicious edges to what encoding makes of the text around them.

use crate::decode::DecodeTrace;
use crate::fast::Fast;
use crate::fast::scratch::{Buffers, Scratch, Work};
use crate::fast::walk::Place;
use crate::fast::window::Window;
use crate::tokenizer::Tokenizer;
use crate::windows::Redone;

/// What became of a window.
enum Outcome {
    Same,
    Differs,
    /// Its text is one that only the reference may judge.
    NotProven,
}

impl Tokenizer {
    /// Fill `scratch.windows` with the windows of a row that do not come back; `None` where only the reference may judge.
    pub(super) fn find_windows(&self, fast: &Fast, ids: &[u32], scratch: &mut Scratch) -> Option<()> {
        let Scratch { suspects, windows, work } = scratch;
        windows.clear();
        work.buffers.encoded = 0;
        fast.scan(ids, &mut work.cache, suspects);
        let mut reached = Place::afresh(0);
        for &edge in suspects.iter() {
            if edge < reached.at || fast.settle(ids, edge, &mut reached, work) {
                continue;
            }
            let mut window = fast.window(ids, edge, &mut work.buffers.text);
            if let Some(last) = windows.as_slice().last().map(|last| last.tokens.clone())
                && last.end > window.tokens.start
            {
                window = fast.grown(ids, last.start..window.tokens.end, &mut work.buffers.text);
                windows.give_up();
            }
            reached = Place::afresh(window.tokens.end);
            match self.redo(fast, ids, &window, windows.next(), work) {
                Outcome::Same => {}
                Outcome::Differs => windows.keep(),
                Outcome::NotProven => return None,
            }
        }
        Some(())
    }

    /// Encode a window by itself.
    fn redo(&self, fast: &Fast, ids: &[u32], window: &Window, redone: &mut Redone, work: &mut Work) -> Outcome {
        let ids = &ids[window.tokens.clone()];
        let Work { cache, buffers } = work;
        let told = if window.holds_added { None } else { fast.tell(ids, cache) };
        if told == Some(true) {
            return Outcome::Same;
        }
        let is_told = told.is_some();
        redone.tokens = window.tokens.clone();
        let has_gaps = !fast.lay_out(ids, buffers);
        if is_told {
            fast.split_tokens(ids, buffers);
        }
        fast.join(ids, buffers);
        let is_text = redone.read(buffers);
        if !is_text {
            redone.decoded = self.trace_surfaces(ids);
            buffers.text.clear();
            buffers.text.extend_from_slice(redone.decoded.text.as_bytes());
        }
        buffers.encoded += buffers.text.len();
        let text = &redone.decoded.text;
        if !is_told && !fast.keeps(ids, text) {
            return Outcome::NotProven;
        }
        if window.holds_added {
            match self.trace_encode(text) {
                Ok(encoded) if encoded.located => redone.encoded = encoded,
                _ => return Outcome::NotProven,
            }
        } else {
            if !is_told {
                let is_tiled = is_text && !has_gaps;
                if !is_tiled {
                    // Tokens end at other places in this text, or at none.
                    buffers.ends.clear();
                }
                fast.split_text(text, buffers);
                if is_tiled && fast.stays(ids, cache, buffers) {
                    return Outcome::Same;
                }
            }
            if !fast.encode_locally(ids, cache, buffers, &mut redone.encoded) {
                return Outcome::NotProven;
            }
        }
        if redone.encoded.ids == ids {
            return Outcome::Same;
        }
        // An added token that can share bytes with another one: whether the row is an artefact is not told by windows.
        if ids.iter().any(|&id| self.added(id).is_some()) { Outcome::NotProven } else { Outcome::Differs }
    }
}

impl Redone {
    /// Take what is laid out in `buffers` for what the tokens decode to; no where it is no text.
    fn read(&mut self, buffers: &Buffers) -> bool {
        let Ok(text) = std::str::from_utf8(&buffers.text) else { return false };
        let DecodeTrace { text: own, ranges, invalid, .. } = &mut self.decoded;
        text.clone_into(own);
        ranges.clear();
        let starts = std::iter::once(0).chain(buffers.ends.iter().copied());
        ranges.extend(starts.zip(&buffers.ends).map(|(start, &end)| start..end));
        invalid.clear();
        true
    }
}

impl Fast {
    /// Fill in where the tokens end, and say whether every one has bytes.
    fn lay_out(&self, ids: &[u32], buffers: &mut Buffers) -> bool {
        buffers.ends.clear();
        let mut end = 0;
        let mut is_whole = true;
        for &id in ids {
            let length = self.texts.length(&[id]);
            is_whole &= length > 0;
            end += length;
            buffers.ends.push(end);
        }
        is_whole
    }

    /// Fill in the bytes of the tokens.
    fn join(&self, ids: &[u32], buffers: &mut Buffers) {
        buffers.text.clear();
        for &id in ids {
            buffers.text.extend_from_slice(self.texts.bytes(id));
        }
    }

    /// Whether the normalizer leaves the text of these tokens as it is.
    fn keeps(&self, ids: &[u32], text: &str) -> bool {
        text.is_ascii() || self.kinds.stay_apart(ids) || self.normal.keeps(text)
    }
}
