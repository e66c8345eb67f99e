//! How far around a suspicious edge one has to look: from one place where the text falls apart to the next.

use std::ops::Range;

use crate::fast::Fast;
use crate::machine::{BORDER, OPAQUE};

/// The text of an added token is followed over so many tokens at most: it may be thousands long, and go on from each of them.
const FARTHEST: usize = 64;

/// A stretch of a row that is encoded by itself as it is within the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) tokens: Range<usize>,
    /// Its text holds the text of an added token.
    pub(crate) holds_added: bool,
}

impl Fast {
    /// The window around the edge before token `edge`.
    pub(crate) fn window(&self, ids: &[u32], edge: usize, text: &mut Vec<u8>) -> Window {
        let start = if self.is_border(ids, edge) { edge } else { self.cut_before(ids, edge) };
        let end = if self.ends_segment(ids, edge) { edge } else { self.cut_from(ids, edge + 1) };
        self.grown(ids, start..end, text)
    }

    /// Widen a window until every text of an added token that begins in it lies well inside.
    pub(crate) fn grown(&self, ids: &[u32], mut tokens: Range<usize>, text: &mut Vec<u8>) -> Window {
        let mut holds_added = false;
        let mut looked = tokens.start;
        while let Some(at) = (looked..tokens.end).find(|&at| self.may_begin_added(ids[at])) {
            looked = at + 1;
            if let Some(last) = self.added_from(ids, at, text) {
                holds_added = true;
                // The token that holds its end starts afresh in its middle, so the next one has to be inside as well.
                if last + 1 >= tokens.end && !self.ends_segment(ids, tokens.end) {
                    tokens.end = self.cut_from(ids, last + 2);
                }
                if self.ends_segment(ids, tokens.end) {
                    break;
                }
            }
        }
        Window { tokens, holds_added }
    }

    /// A window that another one reaches into, and as much again behind it, as far as its text goes: one that grows by many
    /// others is not encoded once for each.
    pub(crate) fn doubled(&self, ids: &[u32], tokens: Range<usize>, text: &mut Vec<u8>) -> Window {
        let far = (tokens.end + tokens.len()).min(ids.len());
        let far = (tokens.end..far).find(|&at| self.ends_segment(ids, at)).unwrap_or(far);
        self.grown(ids, tokens.start..self.cut_from(ids, far), text)
    }

    /// The last token that the texts of added tokens reach into that begin in token `at`, or the last one of the text where that
    /// is farther than one looks; `text` is room to look for them.
    pub(crate) fn added_from(&self, ids: &[u32], at: usize, text: &mut Vec<u8>) -> Option<usize> {
        let own = self.texts.length(&ids[at..=at]);
        text.clear();
        for (behind, &id) in ids[at..].iter().take_while(|&&id| self.kinds.of(id) != BORDER).enumerate() {
            text.extend_from_slice(self.texts.bytes(id));
            // One may begin in the token itself, or nobody would ask: whether it does, the next one tells at a look.
            if behind > 0 && !self.added.may_go_on_behind(text, own) {
                break;
            }
            if behind == FARTHEST {
                return (at..ids.len()).find(|&last| self.ends_segment(ids, last + 1));
            }
        }
        let mut end = self.added.reach(text, own)?;
        let mut last = at;
        while end > self.texts.length(&ids[last..=last]) {
            end -= self.texts.length(&ids[last..=last]);
            last += 1;
        }
        Some(last)
    }

    /// The last place before `edge` where the text falls apart.
    fn cut_before(&self, ids: &[u32], edge: usize) -> usize {
        (0..edge).rev().find(|&at| self.falls_apart(ids, at)).unwrap_or(0)
    }

    /// The first place from `edge` on where the text falls apart.
    fn cut_from(&self, ids: &[u32], edge: usize) -> usize {
        (edge..ids.len()).find(|&at| self.falls_apart(ids, at)).unwrap_or(ids.len())
    }

    /// Whether a text begins at token `at`.
    fn is_border(&self, ids: &[u32], at: usize) -> bool {
        self.kind_before(ids, at) == BORDER
    }

    /// Whether a text ends before token `at`.
    fn ends_segment(&self, ids: &[u32], at: usize) -> bool {
        at == ids.len() || self.kinds.of(ids[at]) == BORDER
    }

    fn falls_apart(&self, ids: &[u32], at: usize) -> bool {
        at == 0 || at == ids.len() || self.cuts.between(ids[at - 1], ids[at])
    }

    fn may_begin_added(&self, id: u32) -> bool {
        let kind = self.kinds.of(id);
        if kind == OPAQUE {
            self.added.may_begin_in(self.texts.bytes(id))
        } else {
            self.kinds.traits(kind).may_begin_added
        }
    }
}
