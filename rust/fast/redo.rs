//! The windows of a row that do not come back: from suspicious edges to what encoding makes of the text around them.

use crate::decode::DecodeTrace;
use crate::fast::Fast;
use crate::fast::scratch::{Buffers, Scratch, Work};
use crate::fast::window::Window;
use crate::machine::{BORDER, Edge, Passage, START};
use crate::pairs::PairCache;
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
        let mut looked = 0;
        for suspect in suspects.iter() {
            if suspect.edge < looked || !suspect.bad_pair && fast.is_cleared(ids, suspect.edge, &mut work.cache) {
                continue;
            }
            let mut window = fast.window(ids, suspect.edge);
            if let Some(last) = windows.as_slice().last().map(|last| last.tokens.clone())
                && last.end > window.tokens.start
            {
                window = fast.grown(ids, last.start..window.tokens.end);
                windows.give_up();
            }
            looked = window.tokens.end;
            if !suspect.bad_pair && !window.holds_added && fast.passes(&ids[window.tokens.clone()], &mut work.cache) {
                continue;
            }
            let bad_token = suspect.bad_pair.then(|| suspect.edge - window.tokens.start);
            match self.redo(fast, ids, &window, bad_token, windows.next(), work) {
                Outcome::Same => {}
                Outcome::Differs => windows.keep(),
                Outcome::NotProven => return None,
            }
        }
        Some(())
    }

    /// Encode a window by itself; the token `bad_token` of it does not stay behind the one before.
    fn redo(
        &self,
        fast: &Fast,
        ids: &[u32],
        window: &Window,
        bad_token: Option<usize>,
        redone: &mut Redone,
        work: &mut Work,
    ) -> Outcome {
        let ids = &ids[window.tokens.clone()];
        let Work { cache, buffers } = work;
        redone.tokens = window.tokens.clone();
        let is_whole = fast.join(ids, buffers);
        if let Ok(text) = std::str::from_utf8(&buffers.text) {
            if !fast.keeps(ids, text) {
                return Outcome::NotProven;
            }
            text.clone_into(&mut redone.decoded.text);
            if is_whole && !window.holds_added && bad_token.is_none() && fast.stays(ids, cache, buffers) {
                return Outcome::Same;
            }
            let DecodeTrace { ranges, invalid, .. } = &mut redone.decoded;
            ranges.clear();
            let starts = std::iter::once(0).chain(buffers.ends.iter().copied());
            ranges.extend(starts.zip(&buffers.ends).map(|(start, &end)| start..end));
            invalid.clear();
            buffers.bad_edge = bad_token.map(|token| buffers.ends[token - 1]);
        } else {
            redone.decoded = self.trace_surfaces(ids);
            if !fast.normal.keeps(&redone.decoded.text) {
                return Outcome::NotProven;
            }
            // The tokens end at other places in this text, and some at none.
            buffers.ends.clear();
            buffers.bad_edge = None;
            buffers.text.clear();
            buffers.text.extend_from_slice(redone.decoded.text.as_bytes());
        }
        if window.holds_added {
            match self.trace_encode(&redone.decoded.text) {
                Ok(encoded) if encoded.located => redone.encoded = encoded,
                _ => return Outcome::NotProven,
            }
        } else if !fast.encode_locally(ids, cache, buffers, &mut redone.encoded) {
            return Outcome::NotProven;
        }
        if redone.encoded.ids == ids {
            return Outcome::Same;
        }
        // An added token that can share bytes with another one: whether the row is an artefact is not told by windows.
        if ids.iter().any(|&id| self.added(id).is_some()) { Outcome::NotProven } else { Outcome::Differs }
    }
}

impl Fast {
    /// Join the bytes of tokens, and say whether every token has some.
    fn join(&self, ids: &[u32], buffers: &mut Buffers) -> bool {
        buffers.text.clear();
        buffers.ends.clear();
        let mut is_whole = true;
        for &id in ids {
            let bytes = self.texts.bytes(id);
            is_whole &= !bytes.is_empty();
            buffers.text.extend_from_slice(bytes);
            buffers.ends.push(buffers.text.len());
        }
        is_whole
    }

    /// Whether the tokens of a window pass as they are, without a look at their text: state by state, which knows more than
    /// the table over pairs of kinds.
    fn passes(&self, ids: &[u32], cache: &mut PairCache) -> bool {
        let mut state = START;
        for (at, &id) in ids.iter().enumerate() {
            match self.kinds.passage(self.kinds.of(id), state) {
                Passage::Boundary(next) => state = next,
                Passage::Pair(next) if at > 0 && self.pairs.stay(ids[at - 1], id, cache) => state = next,
                Passage::Pair(_) | Passage::Unknown => return false,
            }
        }
        self.kinds.may_end(state) && self.kinds.stay_apart(ids)
    }

    /// Whether the normalizer leaves the text of these tokens as it is.
    fn keeps(&self, ids: &[u32], text: &str) -> bool {
        text.is_ascii() || self.kinds.stay_apart(ids) || self.normal.keeps(text)
    }

    /// Whether a suspicious edge is one only because the text of an added token may begin behind it, and none does.
    fn is_cleared(&self, ids: &[u32], edge: usize, cache: &mut PairCache) -> bool {
        let Some(&right) = ids.get(edge) else { return false };
        let left = if edge == 0 { BORDER } else { self.kinds.of(ids[edge - 1]) };
        let stays = match self.kinds.plain_edge(left, self.kinds.of(right)) {
            Edge::Boundary => true,
            Edge::Pair => self.pairs.stay(ids[edge - 1], right, cache),
            Edge::Unknown => false,
        };
        stays && self.added_from(ids, edge).is_none()
    }
}
