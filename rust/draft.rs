//! A text under way through a decoder, and where every token is in it.

use crate::ByteRange;

/// Replace the bytes `at` by `by`. Edits of one round are in order and do not overlap.
pub(crate) struct Edit {
    pub(crate) at: ByteRange,
    pub(crate) by: Vec<u8>,
}

impl Edit {
    pub(crate) fn new(at: ByteRange, by: impl Into<Vec<u8>>) -> Self {
        Self { at, by: by.into() }
    }
}

/// A text under way: pieces end to end, and where every token is in it.
pub(crate) struct Draft {
    pub(crate) text: Vec<u8>,
    /// Ends of the pieces that the next step works on.
    pub(crate) piece_ends: Vec<usize>,
    pub(crate) ranges: Vec<ByteRange>,
    /// Stretches of U+FFFD that stand for bytes that are no UTF-8.
    pub(crate) invalid: Vec<ByteRange>,
    /// The last token that is in the vocabulary.
    last: Option<usize>,
}

impl Draft {
    pub(crate) fn new<'t>(tokens: impl Iterator<Item = Option<&'t [u8]>>) -> Self {
        let mut draft =
            Self { text: Vec::new(), piece_ends: Vec::new(), ranges: Vec::new(), invalid: Vec::new(), last: None };
        for (index, token) in tokens.enumerate() {
            let start = draft.text.len();
            if let Some(bytes) = token {
                draft.text.extend_from_slice(bytes);
                draft.piece_ends.push(draft.text.len());
                draft.last = Some(index);
            }
            draft.ranges.push(start..draft.text.len());
        }
        draft
    }

    /// Give bytes that no token has, those inserted at an empty token, to the token behind them, or to the last one that
    /// is in the vocabulary: no byte comes from an id outside it.
    pub(crate) fn close_gaps(&mut self) {
        let mut covered = 0;
        for range in self.ranges.iter_mut().filter(|range| !ByteRange::is_empty(range)) {
            range.start = range.start.min(covered);
            covered = covered.max(range.end);
        }
        let end = self.text.len();
        if let Some(last) = self.last.filter(|_| covered < end) {
            self.ranges[last] = self.ranges[last].start.min(covered)..end;
            self.ranges[last + 1..].fill(end..end);
        }
    }

    /// Make all pieces one.
    pub(crate) fn fuse(&mut self) {
        self.piece_ends = vec![self.text.len()];
    }

    pub(crate) fn pieces(&self) -> Vec<ByteRange> {
        let mut start = 0;
        self.piece_ends.iter().map(|&end| std::mem::replace(&mut start, end)..end).collect()
    }

    /// Edit every piece; the edits of a piece count from its start.
    pub(crate) fn edit_pieces(&mut self, mut edits_of: impl FnMut(usize, &str) -> Vec<Edit>) {
        let mut edits = Vec::new();
        for (index, piece) in self.pieces().into_iter().enumerate() {
            let Ok(text) = std::str::from_utf8(&self.text[piece.clone()]) else { continue };
            let shifted = edits_of(index, text).into_iter();
            edits.extend(shifted.map(|e| Edit::new(piece.start + e.at.start..piece.start + e.at.end, e.by)));
        }
        self.edit(&edits);
    }

    /// Replace every piece as a whole, for decoders whose rewriting has no finer trace: tokens that a piece already joins
    /// then share its range.
    pub(crate) fn rewrite_pieces(&mut self, mut rewritten: impl FnMut(usize, usize, &str) -> String) {
        let pieces = self.piece_ends.len();
        self.edit_pieces(|index, piece| {
            let new = rewritten(index, pieces, piece);
            if new == piece { Vec::new() } else { vec![Edit::new(0..piece.len(), new)] }
        });
    }

    /// Carry out edits; everything that has a place in the text moves along.
    pub(crate) fn edit(&mut self, edits: &[Edit]) {
        if edits.is_empty() {
            return;
        }
        let mut text = Vec::with_capacity(self.text.len());
        let mut done = 0;
        for edit in edits {
            text.extend_from_slice(&self.text[done..edit.at.start]);
            text.extend_from_slice(&edit.by);
            done = edit.at.end;
        }
        text.extend_from_slice(&self.text[done..]);
        self.text = text;
        let moved = Moved::new(edits);
        moved.ranges(&mut self.ranges);
        moved.ranges(&mut self.invalid);
        for end in &mut self.piece_ends {
            *end = moved.stop(*end);
        }
    }
}

/// Where positions go when edits are carried out.
struct Moved<'e> {
    edits: &'e [Edit],
    /// What the first `k` edits add to or take from the length of the text.
    growth: Vec<isize>,
}

impl<'e> Moved<'e> {
    fn new(edits: &'e [Edit]) -> Self {
        let mut growth = vec![0];
        let mut total = 0isize;
        for edit in edits {
            total += edit.by.len().cast_signed() - edit.at.len().cast_signed();
            growth.push(total);
        }
        Self { edits, growth }
    }

    /// New place of `position` as a start: inside a replaced stretch, the start of what replaces it.
    fn start(&self, position: usize) -> usize {
        self.place(position).0
    }

    /// New place of `position` as a stop: inside a replaced stretch, the end of what replaces it.
    fn stop(&self, position: usize) -> usize {
        let (position, inside) = self.place(position);
        inside.map_or(position, |edit| position + edit.by.len())
    }

    /// New place of a position, or of the start of the edit that `position` is strictly inside of.
    fn place(&self, position: usize) -> (usize, Option<&Edit>) {
        let before = self.edits.partition_point(|edit| edit.at.end <= position && edit.at.start < position);
        let inside = self.edits.get(before).filter(|edit| edit.at.start < position);
        let old = inside.map_or(position, |edit| edit.at.start);
        (old.saturating_add_signed(self.growth[before]), inside)
    }

    fn ranges(&self, ranges: &mut [ByteRange]) {
        for range in ranges {
            let start = self.start(range.start);
            let stop = if range.start == range.end { start } else { self.stop(range.end) };
            *range = start..stop;
        }
    }
}
