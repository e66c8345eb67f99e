//! Two id lists on one axis, cut into drift spans.
//!
//! A *cut* is an offset of D that no token of either side reaches across. The tokens between two neighbouring cuts form a
//! group; a group that is not one and the same token on both sides is a drift span, so spans are minimal by construction.
//! One pass, linear in the tokens of both sides.

use std::collections::{HashMap, VecDeque};

use crate::ByteRange;
use crate::decode::DecodeTrace;
use crate::reencode::EncodeTrace;

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
pub fn first_diff<T: PartialEq>(sampled: &[T], reencoded: &[T]) -> Option<usize> {
    let common = common_prefix(sampled, reencoded);
    (common < sampled.len().max(reencoded.len())).then_some(common)
}

/// Number of equal entries at the front of both.
pub(crate) fn common_prefix<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The drift spans of two sides that lie on the same axis.
///
/// A token with an empty range forms a span of its own with an empty other side, unless the other side has the same id
/// there. Equal ids at the front of the lists, and of a group, are no part of a span (they differ in the bytes they swallow
/// only), so [`first_diff`] is the start of the first span.
pub fn spans(sampled: Side<'_>, reencoded: Side<'_>) -> Vec<Span> {
    spans_behind(common_prefix(sampled.ids, reencoded.ids), sampled, reencoded)
}

/// [`spans`] of two sides of which the first `common` ids are no part of a span.
pub(crate) fn spans_behind(common: usize, sampled: Side<'_>, reencoded: Side<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    let behind_common = |tokens: std::ops::Range<usize>| tokens.start.max(common)..tokens.end.max(common);
    let mut walk = Walk { sides: [sampled, reencoded], next: [0; 2], run: [0; 2], pairs: VecDeque::new() };
    while let Some((first, bytes)) = walk.group() {
        let [s, r] = [0, 1].map(|side| behind_common(first[side]..walk.next[side]));
        let equal = common_prefix(&sampled.ids[s.clone()], &reencoded.ids[r.clone()]);
        if s.len().max(r.len()) == equal {
            continue;
        }
        let (s, r) = (s.start + equal..s.end, r.start + equal..r.end);
        let starts = sampled.ranges[s.clone()].first().into_iter().chain(reencoded.ranges[r.clone()].first());
        let byte_start = starts.map(|range| range.start).min().unwrap_or(bytes.start);
        spans.push(Span { sampled: s, reencoded: r, bytes: Some(byte_start..bytes.end) });
    }
    spans
}

/// The drift spans of sampled `ids` and what `encoded` holds: one unlocated span where a side has no place on D.
pub fn laid_out(ids: &[u32], decoded: Option<&DecodeTrace>, encoded: &EncodeTrace) -> Vec<Span> {
    match decoded.filter(|_| encoded.located) {
        Some(decoded) => {
            spans(Side { ids, ranges: &decoded.ranges }, Side { ids: &encoded.ids, ranges: &encoded.ranges })
        }
        None => unlocated_span(ids, &encoded.ids).into_iter().collect(),
    }
}

/// The one span of two lists whose tokens cannot be laid on a common axis: all between their common prefix and suffix.
pub fn unlocated_span<T: PartialEq>(sampled: &[T], reencoded: &[T]) -> Option<Span> {
    let start = first_diff(sampled, reencoded)?;
    let (s, r) = (&sampled[start..], &reencoded[start..]);
    let suffix = s.iter().rev().zip(r.iter().rev()).take_while(|(a, b)| a == b).count();
    Some(Span { sampled: start..sampled.len() - suffix, reencoded: start..reencoded.len() - suffix, bytes: None })
}

/// A walk over both sides, group by group.
struct Walk<'a> {
    sides: [Side<'a>; 2],
    next: [usize; 2],
    /// Ends of the empty tokens that `pairs` is about.
    run: [usize; 2],
    /// Empty tokens of both sides that stand at one place and have one id.
    pairs: VecDeque<[usize; 2]>,
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
                // Another id there is no counterpart: both stay alone.
                let pair = self.next_pair(start);
                if let Some(side) = [0, 1].into_iter().find(|&side| first[side] < pair[side]) {
                    self.next[side] += 1;
                } else {
                    self.pairs.pop_front();
                    self.next = pair.map(|index| index + 1);
                }
            }
            [true, false] => self.next[0] += 1,
            [false, true] => self.next[1] += 1,
            [false, false] => return Some((first, start..self.take_overlapping(start))),
        }
        Some((first, start..start))
    }

    /// The next tokens of one id among the empty ones at `at`, or the ends of these: each re-encoded one takes the first
    /// sampled one that is left.
    fn next_pair(&mut self, at: usize) -> [usize; 2] {
        if [0, 1].iter().any(|&side| self.next[side] >= self.run[side]) {
            self.run = [0, 1].map(|side| {
                let empty = |range: &&ByteRange| range.is_empty() && range.start == at;
                let ranges = &self.sides[side].ranges[self.next[side]..];
                self.next[side] + ranges.iter().take_while(empty).count()
            });
            let mut places: HashMap<u32, Vec<usize>> = HashMap::new();
            for index in self.next[0]..self.run[0] {
                places.entry(self.sides[0].ids[index]).or_default().push(index);
            }
            let mut free = self.next[0];
            for index in self.next[1]..self.run[1] {
                let same = places.get(&self.sides[1].ids[index]).map_or(&[][..], Vec::as_slice);
                if let Some(&place) = same.get(same.partition_point(|&place| place < free)) {
                    self.pairs.push_back([place, index]);
                    free = place + 1;
                }
            }
        }
        self.pairs.front().copied().unwrap_or(self.run)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A side that tiles `0..text.len()`: pieces of the text whose id is their content, so equal pieces are equal tokens.
    fn tiling(text: &[u8], cuts: &[bool]) -> (Vec<u32>, Vec<ByteRange>) {
        let mut ends: Vec<usize> = (1..text.len()).filter(|&at| cuts[at]).collect();
        ends.extend((!text.is_empty()).then_some(text.len()));
        let mut start = 0;
        let ranges: Vec<ByteRange> = ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect();
        let id = |range: &ByteRange| text[range.clone()].iter().fold(1, |id, &byte| id * 3 + u32::from(byte));
        (ranges.iter().map(id).collect(), ranges)
    }

    fn with_empty_tokens(side: (Vec<u32>, Vec<ByteRange>), at: &[usize]) -> (Vec<u32>, Vec<ByteRange>) {
        let (mut ids, mut ranges) = side;
        for &at in at {
            let at = at.min(ids.len());
            let place = ranges.get(at).map_or_else(|| ranges.last().map_or(0, |last| last.end), |next| next.start);
            ids.insert(at, 0);
            ranges.insert(at, place..place);
        }
        (ids, ranges)
    }

    prop_compose! {
        fn two_sides()(text in prop::collection::vec(0u8..2, 0..12))(
            a in prop::collection::vec(any::<bool>(), text.len()),
            b in prop::collection::vec(any::<bool>(), text.len()),
            text in Just(text),
            empty in prop::collection::vec(0usize..12, 0..3),
            inserted in prop::collection::vec(0usize..12, 0..3),
        ) -> [(Vec<u32>, Vec<ByteRange>); 2] {
            [with_empty_tokens(tiling(&text, &a), &empty), with_empty_tokens(tiling(&text, &b), &inserted)]
        }
    }

    proptest! {
        #[test]
        fn spans_rebuild_the_other_side_and_start_at_the_first_difference(sides in two_sides()) {
            let [(ids, ranges), (re_ids, re_ranges)] = &sides;
            let spans = spans(Side { ids, ranges }, Side { ids: re_ids, ranges: re_ranges });
            let mut rebuilt = Vec::new();
            let mut done = 0;
            for span in &spans {
                rebuilt.extend_from_slice(&ids[done..span.sampled.start]);
                rebuilt.extend_from_slice(&re_ids[span.reencoded.clone()]);
                done = span.sampled.end;
            }
            rebuilt.extend_from_slice(&ids[done..]);
            prop_assert_eq!(&rebuilt, re_ids);
            prop_assert_eq!(first_diff(ids, re_ids), spans.first().map(|span| span.sampled.start));
        }

        #[test]
        fn no_cut_lies_inside_a_span(sides in two_sides()) {
            let [(ids, ranges), (re_ids, re_ranges)] = &sides;
            let reached_across = |at: usize| ranges.iter().chain(re_ranges).any(|range| range.start < at && at < range.end);
            for span in spans(Side { ids, ranges }, Side { ids: re_ids, ranges: re_ranges }) {
                let bytes = span.bytes.expect("both sides are placed");
                prop_assert!((bytes.start + 1..bytes.end).all(reached_across));
                prop_assert_ne!(&ids[span.sampled], &re_ids[span.reencoded]);
            }
        }

        #[test]
        fn the_unlocated_span_is_all_between_prefix_and_suffix(a in prop::collection::vec(0u32..3, 0..8), b in prop::collection::vec(0u32..3, 0..8)) {
            match unlocated_span(&a, &b) {
                None => prop_assert_eq!(a, b),
                Some(span) => {
                    prop_assert_eq!(&a[..span.sampled.start], &b[..span.reencoded.start]);
                    prop_assert_eq!(&a[span.sampled.end..], &b[span.reencoded.end..]);
                    prop_assert_eq!(first_diff(&a, &b), Some(span.sampled.start));
                }
            }
        }
    }

    #[test]
    fn empty_tokens_of_one_id_are_one_token_whatever_stands_before_them() {
        let side = |ids: &'static [u32]| Side { ids, ranges: &[0..0, 0..0, 0..0, 0..1][4 - ids.len()..] };
        let alone = |s, r| Span { sampled: s, reencoded: r, bytes: Some(0..0) };
        assert_eq!(spans(side(&[7, 9]), side(&[5, 7, 9])), [alone(0..0, 0..1)]);
        assert_eq!(spans(side(&[5, 7, 9]), side(&[7, 9])), [alone(0..1, 0..0)]);
        assert_eq!(spans(side(&[5, 7, 9]), side(&[6, 7, 9])), [alone(0..1, 0..0), alone(1..1, 0..1)]);
        assert_eq!(spans(side(&[5, 7, 5, 9]), side(&[7, 6, 5, 9])), [alone(0..1, 0..0), alone(2..2, 1..2)]);
    }

    #[test]
    fn an_added_space_of_the_same_id_moves_its_span_behind_the_equal_ids() {
        // Sampled `▁`[3,4) `x`[4,5) against re-encoded `▁`(empty) `▁x`[3,5).
        let spans = spans(Side { ids: &[7, 8], ranges: &[3..4, 4..5] }, Side { ids: &[7, 9], ranges: &[3..3, 3..5] });
        assert_eq!(spans, [Span { sampled: 1..2, reencoded: 1..2, bytes: Some(3..5) }]);
    }
}
