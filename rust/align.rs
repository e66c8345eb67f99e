//! Two id lists on one axis, cut into drift spans.
//!
//! A *cut* is an offset of D that no token of either side reaches across. The tokens between two neighbouring cuts form a
//! group; a group that is not one and the same token on both sides is a drift span, so spans are minimal by construction.
//! One pass, linear in the tokens of both sides.

use crate::ByteRange;

/// Tokens of one side: ids and their ranges on D.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The ids.
    pub ids: &'a [u32],
    /// One range per id, in order.
    pub ranges: &'a [ByteRange],
}

/// Tokens of both sides that stand for the same bytes of D but are not the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Sampled tokens.
    pub sampled: std::ops::Range<usize>,
    /// Re-encoded tokens.
    pub reencoded: std::ops::Range<usize>,
    /// Bytes of D; `None` where the re-encoded tokens cannot be placed.
    pub bytes: Option<ByteRange>,
}

/// First index at which two id lists disagree: the shorter length where one is a prefix of the other, `None` if equal.
pub fn first_diff(sampled: &[u32], reencoded: &[u32]) -> Option<usize> {
    let common = common_prefix(sampled, reencoded);
    (common < sampled.len().max(reencoded.len())).then_some(common)
}

fn common_prefix(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The drift spans of two sides that lie on the same axis.
///
/// A token with an empty range forms a span of its own with an empty other side, unless the other side has the same id
/// there. Equal ids at the front of a group are no part of its span (they differ in the bytes they swallow only), so
/// [`first_diff`] is the start of the first span.
pub fn spans(sampled: Side<'_>, reencoded: Side<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    let start = common_prefix(sampled.ids, reencoded.ids);
    let mut walk = Walk { sides: [sampled, reencoded], next: [start; 2] };
    while let Some((first, bytes)) = walk.group() {
        let [s, r] = [0, 1].map(|side| first[side]..walk.next[side]);
        let common = common_prefix(&sampled.ids[s.clone()], &reencoded.ids[r.clone()]);
        if s.len().max(r.len()) == common {
            continue;
        }
        let (s, r) = (s.start + common..s.end, r.start + common..r.end);
        let starts = sampled.ranges[s.clone()].first().into_iter().chain(reencoded.ranges[r.clone()].first());
        let byte_start = starts.map(|range| range.start).min().unwrap_or(bytes.start);
        spans.push(Span { sampled: s, reencoded: r, bytes: Some(byte_start..bytes.end) });
    }
    spans
}

/// The one span of two lists whose tokens cannot be laid on a common axis: all between their common prefix and suffix.
pub fn unlocated_span(sampled: &[u32], reencoded: &[u32]) -> Option<Span> {
    let start = first_diff(sampled, reencoded)?;
    let (s, r) = (&sampled[start..], &reencoded[start..]);
    let suffix = s.iter().rev().zip(r.iter().rev()).take_while(|(a, b)| a == b).count();
    Some(Span { sampled: start..sampled.len() - suffix, reencoded: start..reencoded.len() - suffix, bytes: None })
}

/// A walk over both sides, group by group.
struct Walk<'a> {
    sides: [Side<'a>; 2],
    next: [usize; 2],
}

impl Walk<'_> {
    fn peek(&self, side: usize) -> Option<&ByteRange> {
        self.sides[side].ranges.get(self.next[side])
    }

    /// Take the next group; gives where it starts on both sides and its bytes.
    fn group(&mut self) -> Option<([usize; 2], ByteRange)> {
        let first = self.next;
        let start = [0, 1].into_iter().filter_map(|side| self.peek(side)).map(|range| range.start).min()?;
        let empty_at_start =
            [0, 1].map(|side| self.peek(side).is_some_and(|range| range.is_empty() && range.start == start));
        match empty_at_start {
            [true, true] => {
                self.next[0] += 1;
                // Another id there is no counterpart: both stay alone.
                self.next[1] += usize::from(self.sides[0].ids[first[0]] == self.sides[1].ids[first[1]]);
                return Some((first, start..start));
            }
            [true, false] => self.next[0] += 1,
            [false, true] => self.next[1] += 1,
            [false, false] => return Some((first, start..self.take_overlapping(start))),
        }
        Some((first, start..start))
    }

    /// Take tokens of both sides until none reaches across the end, and give that end.
    fn take_overlapping(&mut self, start: usize) -> usize {
        let mut end = start;
        loop {
            let before = self.next;
            for side in [0, 1] {
                while let Some(range) =
                    self.peek(side).filter(|range| range.start < end || (end == start && range.start == start))
                {
                    end = end.max(range.end);
                    self.next[side] += 1;
                }
            }
            if self.next == before {
                return end;
            }
        }
    }
}
