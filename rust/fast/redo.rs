//! The windows of a row that do not come back: from suspicious edges to what encoding makes of the text around them.

use std::ops::Range;

use crate::decode::DecodeTrace;
use crate::fast::Fast;
use crate::fast::scratch::{Scratch, Work};
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
        let Scratch { scanned, windows, work } = scratch;
        windows.clear();
        if !fast.finds_doubtful(ids) {
            return None;
        }
        work.buffers.encoded = 0;
        fast.scan(ids, &mut work.cache, scanned);
        let mut reached = Place::afresh(0);
        for &edge in &scanned.suspects {
            if edge < reached.at || fast.settle(ids, edge, &mut reached, work) {
                continue;
            }
            let mut window = fast.window(ids, edge, &mut work.buffers.text);
            let apart = windows.as_slice().partition_point(|before| before.tokens.end <= window.tokens.start);
            if let Some(first) = windows.as_slice().get(apart) {
                let start = first.tokens.start.min(window.tokens.start);
                window = fast.doubled(ids, start..window.tokens.end, &mut work.buffers.text);
                windows.truncate(apart);
            }
            reached = Place::afresh(window.tokens.end);
            if !window.holds_added && fast.redo_told(ids, window.tokens.clone(), windows, work) {
                continue;
            }
            match self.redo(fast, ids, &window, windows.next(), work) {
                Outcome::Same => {}
                Outcome::Differs => windows.keep(),
                Outcome::NotProven => return None,
            }
        }
        Some(())
    }

    /// Encode the text of a window by itself.
    fn redo(&self, fast: &Fast, ids: &[u32], window: &Window, redone: &mut Redone, work: &mut Work) -> Outcome {
        let ids = &ids[window.tokens.clone()];
        let Work { cache, buffers, .. } = work;
        redone.tokens = window.tokens.clone();
        fast.join(ids, &mut buffers.text);
        let is_text = redone.read(&buffers.text);
        if is_text {
            redone.decoded.ranges.clear();
            fast.lay_out(0, ids, &mut redone.decoded.ranges);
        } else {
            redone.decoded = self.trace_surfaces(ids);
            buffers.text.clear();
            buffers.text.extend_from_slice(redone.decoded.text.as_bytes());
        }
        buffers.encoded += buffers.text.len();
        let DecodeTrace { text, ranges, .. } = &redone.decoded;
        if !fast.keeps(ids, text) {
            return Outcome::NotProven;
        }
        if window.holds_added {
            if fast.doubtful.is_spelled(text) {
                return Outcome::NotProven;
            }
            match self.trace_encode(text) {
                Ok(encoded) if encoded.located => redone.encoded = encoded,
                _ => return Outcome::NotProven,
            }
        } else {
            // What is replaced is no part of a token, nor is a token without bytes of a pre-token.
            let is_tiled = is_text && !ranges.iter().any(Range::is_empty);
            fast.split_text(text, if is_tiled { ranges } else { &[] }, buffers);
            if is_tiled && fast.stays(ids, cache, buffers) {
                return Outcome::Same;
            }
            if !fast.encode_locally(ids, cache, buffers, &mut redone.encoded) {
                return Outcome::NotProven;
            }
        }
        if redone.encoded.ids == ids {
            // Broken bytes come back where bytes of what replaces them have no token: the row is clean, and has them still.
            return if is_text { Outcome::Same } else { Outcome::NotProven };
        }
        // An added token that can share bytes with another one: whether the row is an artefact is not told by windows.
        if ids.iter().any(|&id| self.added(id).is_some()) { Outcome::NotProven } else { Outcome::Differs }
    }
}

impl Redone {
    /// Take bytes for what the tokens decode to; no where they are no text.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        text.clone_into(&mut self.decoded.text);
        self.decoded.invalid.clear();
        true
    }
}

impl Fast {
    /// Whether the normalizer leaves the text of these tokens as it is.
    fn keeps(&self, ids: &[u32], text: &str) -> bool {
        text.is_ascii() || self.kinds.stay_apart(ids) || self.normal.keeps(text)
    }
}
