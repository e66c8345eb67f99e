//! A window whose tokens tell its pre-tokens: only what changes is looked at, and no other text.

use std::ops::Range;

use crate::ByteRange;
use crate::fast::Fast;
use crate::fast::mend::Change;
use crate::fast::scratch::{Buffers, Windows, Work};
use crate::machine::{BORDER, Passage, START};
use crate::pairs::PairCache;
use crate::reencode::PreToken;

impl Fast {
    /// Add the stretches of a window of a row that encoding changes to `windows`; no where its tokens do not tell that.
    ///
    /// A stretch ends where tokens end on both sides, so it is encoded by itself as it is within the row.
    pub(crate) fn redo_told(&self, row: &[u32], window: Range<usize>, windows: &mut Windows, work: &mut Work) -> bool {
        let ids = &row[window.clone()];
        let Work { cache, buffers: Buffers { changing, mended, text, encoded, .. }, .. } = work;
        if !self.tell(ids, cache, changing) {
            return false;
        }
        let before = windows.as_slice().len();
        for pre_token in changing.iter() {
            let tokens = &ids[pre_token.clone()];
            if !self.mend(tokens, cache, mended) {
                windows.truncate(before);
                return false;
            }
            for Change { old, new } in &mended.changes {
                let (sampled, reencoded) = (&tokens[old.clone()], &mended.ids[new.clone()]);
                let first = window.start + pre_token.start;
                let redone = windows.next();
                redone.tokens = first + old.start..first + old.end;
                self.join(sampled, text);
                *encoded += text.len();
                redone.read(text);
                redone.decoded.ranges.clear();
                self.lay_out(0, sampled, &mut redone.decoded.ranges);
                let trace = &mut redone.encoded;
                trace.ids.clear();
                trace.ids.extend_from_slice(reencoded);
                trace.ranges.clear();
                self.lay_out(0, reencoded, &mut trace.ranges);
                trace.changed.clear();
                trace.located = true;
                // It lies in one; what the model saw is asked for only where the merges are not known by id.
                let tokens = 0..reencoded.len();
                trace.pre_tokens.clear();
                trace.pre_tokens.push(PreToken { range: 0..text.len(), tokens, normalized: String::new() });
                windows.keep();
            }
        }
        true
    }

    /// Go over a window state by state, and fill in the pre-tokens whose tokens do not all stay beside each other; no where the
    /// text has to be looked at.
    ///
    /// A token that a boundary can be in front of has one there, or some later token has no place: so every edge is known in
    /// the end. A pre-token that is a whole word of other tokens begins with a forbidden pair.
    fn tell(&self, ids: &[u32], cache: &mut PairCache, changing: &mut Vec<Range<usize>>) -> bool {
        changing.clear();
        let (mut first, mut stays) = (0, true);
        let (mut before, mut state) = (BORDER, START);
        for (at, &id) in ids.iter().enumerate() {
            let kind = self.kinds.of(id);
            let passage = self.kinds.assumed_passage(kind, state);
            let Some(next) = passage.next().filter(|_| !self.kinds.joins(before, kind)) else { return false };
            if passage == Passage::Boundary(next) {
                changing.extend((!stays).then_some(first..at));
                (first, stays) = (at, true);
            } else {
                stays = stays && self.pairs.stay(ids[at - 1], id, cache);
            }
            (before, state) = (kind, next);
        }
        changing.extend((!stays).then_some(first..ids.len()));
        self.kinds.may_end(state)
    }

    /// Add where tokens lie that stand end to end from `end` on.
    pub(crate) fn lay_out(&self, mut end: usize, ids: &[u32], ranges: &mut Vec<ByteRange>) {
        ranges.extend(ids.iter().map(|&id| {
            let start = end;
            end += self.texts.length(&[id]);
            start..end
        }));
    }
}
