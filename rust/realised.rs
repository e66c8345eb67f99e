//! What the trainer scored beside what was sampled: drift that has happened, not the exposure that an audit measures.
//!
//! Ids are compared as the integers that were handed over. The text decides between the kinds: with equal text both sides
//! lie on one axis and the spans are those of [`align`](crate::align); with another text there is none, and a diff of the
//! ids has to do.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::ByteRange;
use crate::align::{self, Span};
use crate::audit::CleanRuns;
use crate::cause::{Cause, Drift};
use crate::decode::DecodeTrace;
use crate::error::{Result, guarded};
use crate::provenance::{self, SHARED};
use crate::reencode::{EncodeTrace, PreToken};
use crate::tokenizer::Tokenizer;

/// What became of the sampled ids on the way to the trainer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The trained ids are the sampled ones.
    Identical,
    /// Other ids that decode to the same text.
    Retokenized,
    /// A proper prefix or suffix of the sampled ids.
    Truncated,
    /// The text itself differs.
    Rewritten,
}

/// One row: what was sampled and what was scored.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pair<'a> {
    /// The sampled ids, as they were handed over.
    pub sampled: &'a [i64],
    /// The trained ids, likewise.
    pub trained: &'a [i64],
    /// 0 or 1 per sampled id.
    pub mask: Option<&'a [u8]>,
    /// 0 or 1 per trained id.
    pub train_mask: Option<&'a [u8]>,
}

/// What is wrong with the mask that was trained with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrongMask {
    /// Trained tokens with mask 1 over bytes of mask 0.
    pub trained: usize,
    /// Trained tokens with mask 0 over bytes of mask 1.
    pub untrained: usize,
    /// Trained tokens over bytes of both values, for which no value is right.
    pub straddling: usize,
    /// Positions of the first two kinds among the trained ids.
    pub positions: Vec<usize>,
}

/// What a row turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Realised {
    /// The kind.
    pub kind: Kind,
    /// First index at which the two lists differ; `None` for an identical row.
    pub first_diff: Option<usize>,
    /// Where the trained ids begin in the sampled ones: 0 unless the row is truncated at its start.
    pub kept_start: usize,
    /// Sampled tokens that a truncated row lost.
    pub lost: usize,
    /// Where the ids differ, `reencoded` being the trained side; none for a truncated row.
    pub spans: Vec<Span>,
    /// The cause of each span; `None` where the text changed.
    pub causes: Vec<Option<Cause>>,
    /// The verdict on the training mask, where both masks are known.
    pub mask: Option<WrongMask>,
}

impl Realised {
    fn of(kind: Kind, first_diff: Option<usize>) -> Self {
        Self { kind, first_diff, kept_start: 0, lost: 0, spans: Vec::new(), causes: Vec::new(), mask: None }
    }
}

/// The mask value that a trained token has to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// This one.
    Value(u8),
    /// Its bytes have both.
    Straddling,
    /// Nothing says.
    Anything,
}

impl Tokenizer {
    /// Compare what was sampled with what was scored.
    ///
    /// # Errors
    /// [`Error::Reference`](crate::Error::Reference) where the reference cannot decode a row that only its text can tell.
    pub fn realised(&self, pair: &Pair<'_>) -> Result<Realised> {
        let (sampled, trained) = (pair.sampled, pair.trained);
        let first_diff = align::first_diff(sampled, trained);
        let is_cut = trained.len() < sampled.len();
        let (mut realised, expected) = if first_diff.is_none() {
            (Realised::of(Kind::Identical, None), Expectation::ByPosition(0))
        } else if is_cut && (sampled.starts_with(trained) || sampled.ends_with(trained)) {
            let lost = sampled.len() - trained.len();
            let kept_start = if sampled.starts_with(trained) { 0 } else { lost };
            let truncated = Realised { kept_start, lost, ..Realised::of(Kind::Truncated, first_diff) };
            (truncated, Expectation::ByPosition(kept_start))
        } else {
            self.by_text(pair, first_diff)?
        };
        if let (Some(mask), Some(train_mask)) = (pair.mask, pair.train_mask) {
            realised.mask = Some(wrong_mask(&expected.values(mask, &realised.spans, trained.len()), train_mask));
        }
        Ok(realised)
    }

    /// Tell a retokenized row from a rewritten one.
    fn by_text(&self, pair: &Pair<'_>, first_diff: Option<usize>) -> Result<(Realised, Expectation)> {
        let mut names = Names { tokenizer: self, of: HashMap::new(), next: u32::MAX };
        let [ids, trained] = [pair.sampled, pair.trained].map(|ids| ids.iter().map(|&id| names.of(id)).collect());
        let (ids, trained): (Vec<u32>, Vec<u32>) = (ids, trained);
        let text = self.decode(&ids, false)?;
        if self.decode(&trained, false)? != text {
            let is_control = |id: i64| self.added(self.known(id)).is_some_and(|added| added.token.special);
            let spans = rewritten_spans(pair.sampled, pair.trained, is_control);
            let causes = vec![None; spans.len()];
            let realised = Realised { spans, causes, ..Realised::of(Kind::Rewritten, first_diff) };
            return Ok((realised, Expectation::OutsideSpans));
        }
        let sides = self.sides(&ids, &trained, &text);
        let spans = align::laid_out(&ids, sides.decoded.as_ref(), &sides.encoded);
        let drift = Drift {
            tokenizer: self,
            ids: &ids,
            decoded: sides.decoded.as_ref(),
            encoded: &sides.encoded,
            clean_runs: &sides.runs.clean,
            artefact: sides.runs.all_clean,
        };
        let is_unknown = |span: &Span| trained[span.reencoded.clone()].iter().any(|&id| self.is_unknown(id));
        let causes = drift.causes(&spans).into_iter().zip(&spans);
        // What encoding gives is in the vocabulary; what a trainer was handed need not be.
        let causes =
            causes.map(|(cause, span)| Some(if is_unknown(span) { Cause::UnknownId } else { cause })).collect();
        let expected = match sides.decoded {
            Some(decoded) if sides.encoded.located => {
                Expectation::OnBytes { len: text.len(), sampled: decoded.ranges, trained: sides.encoded.ranges }
            }
            _ => Expectation::OutsideSpans,
        };
        Ok((Realised { spans, causes, ..Realised::of(Kind::Retokenized, first_diff) }, expected))
    }

    /// Lay both sides of a retokenized row on D, as if the trained ids were those of a round trip.
    ///
    /// If they are, the trained side lies where the encoder put it. Any other segmentation of D lies where the decoder
    /// prints it; its spans have the causes of a round trip with the trained ids in place of the re-encoded ones, judged
    /// with the pre-tokens and the normalizer's changes of encode(D), and never control-spacing, since nothing came back.
    fn sides(&self, ids: &[u32], trained: &[u32], text: &str) -> Sides {
        let mut decoded = self.trace_decode(ids, text);
        // A text that the reference refuses can have been retokenized all the same, by something else.
        let is_canonical = guarded(|| self.encode(text)).is_ok_and(|canonical| canonical == trained);
        let mut encoded = guarded(|| self.trace_encode(text)).unwrap_or_default();
        let mut runs = CleanRuns::default();
        if is_canonical {
            encoded.located &= encoded.ids == trained;
            runs = self.clean_runs(ids, trained);
        } else {
            let printed = self.trace_decode(trained, text);
            encoded.located = printed.is_some();
            let printed = printed.unwrap_or_default();
            encoded.pre_tokens = moved(encoded.pre_tokens, &printed.ranges);
            encoded.ranges = printed.ranges;
            if let Some(decoded) = &mut decoded {
                decoded.invalid = united(std::mem::take(&mut decoded.invalid), printed.invalid);
            }
        }
        encoded.ids = trained.to_vec();
        Sides { decoded, encoded, runs }
    }
}

/// A retokenized row on D.
struct Sides {
    decoded: Option<DecodeTrace>,
    encoded: EncodeTrace,
    runs: CleanRuns,
}

/// Ids as the tokenizer knows them, but different integers outside the vocabulary stay different.
struct Names<'t> {
    tokenizer: &'t Tokenizer,
    of: HashMap<i64, u32>,
    next: u32,
}

impl Names<'_> {
    fn of(&mut self, id: i64) -> u32 {
        let known = self.tokenizer.known(id);
        if !self.tokenizer.is_unknown(known) {
            return known;
        }
        *self.of.entry(id).or_insert_with(|| {
            while !self.tokenizer.is_unknown(self.next) {
                self.next -= 1;
            }
            let name = self.next;
            self.next -= 1;
            name
        })
    }
}

/// Give pre-tokens the trained tokens that tile them: none where a token reaches across their edge.
fn moved(pre_tokens: Vec<PreToken>, ranges: &[ByteRange]) -> Vec<PreToken> {
    let mut first = 0;
    let moved = pre_tokens.into_iter().map(|mut pre_token| {
        let bytes = &pre_token.range;
        first += ranges[first..].partition_point(|range| range.start < bytes.start);
        let count = ranges[first..].partition_point(|range| range.start < bytes.end);
        let inside = &ranges[first..first + count];
        let tiles = inside.first().is_some_and(|range| range.start == bytes.start)
            && inside.last().is_some_and(|range| range.end == bytes.end)
            && (first == 0 || ranges[first - 1].end <= bytes.start);
        pre_token.tokens = first..if tiles { first + count } else { first };
        pre_token
    });
    moved.collect()
}

/// The union of two lists of disjoint ranges, in order and disjoint.
fn united(mut ranges: Vec<ByteRange>, others: Vec<ByteRange>) -> Vec<ByteRange> {
    ranges.extend(others);
    ranges.sort_unstable_by_key(|range| range.start);
    let mut united: Vec<ByteRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match united.last_mut().filter(|last| range.start < last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => united.push(range),
        }
    }
    united
}

/// How the mask of the sampled ids says what the mask of the trained ones has to be.
enum Expectation {
    /// Token for token, from this sampled token on.
    ByPosition(usize),
    /// Token for token where the ids are equal; inside spans nothing says.
    OutsideSpans,
    /// By the bytes of D that the tokens of both sides cover; nothing says for a token without bytes.
    OnBytes { len: usize, sampled: Vec<ByteRange>, trained: Vec<ByteRange> },
}

impl Expectation {
    fn values(&self, mask: &[u8], spans: &[Span], trained: usize) -> Vec<Expected> {
        match self {
            Self::ByPosition(start) => {
                mask[*start..].iter().take(trained).map(|&value| Expected::Value(value)).collect()
            }
            Self::OutsideSpans => {
                let mut values = Vec::with_capacity(trained);
                let mut done = 0;
                for span in spans {
                    values.extend(mask[done..span.sampled.start].iter().map(|&value| Expected::Value(value)));
                    values.resize(span.reencoded.end, Expected::Anything);
                    done = span.sampled.end;
                }
                values.extend(mask[done..].iter().map(|&value| Expected::Value(value)));
                values
            }
            Self::OnBytes { len, sampled, trained } => {
                let counts = ByteMask::new(&provenance::owner_of_bytes(*len, sampled, mask));
                trained.iter().map(|range| counts.expected(range)).collect()
            }
        }
    }
}

/// Mask values of the bytes of D, counted up so that a token of any length is one look.
struct ByteMask {
    ones: Vec<usize>,
    mixed: Vec<usize>,
}

impl ByteMask {
    fn new(byte_mask: &[i16]) -> Self {
        let counted = |value: i16| {
            let mut count = 0;
            let counts = byte_mask.iter().map(|&byte| {
                count += usize::from(byte == value);
                count
            });
            std::iter::once(0).chain(counts).collect()
        };
        Self { ones: counted(1), mixed: counted(SHARED) }
    }

    fn expected(&self, range: &ByteRange) -> Expected {
        let count = |counts: &[usize]| counts[range.end] - counts[range.start];
        match (count(&self.ones), count(&self.mixed)) {
            _ if range.is_empty() => Expected::Anything,
            (0, 0) => Expected::Value(0),
            (ones, 0) if ones == range.len() => Expected::Value(1),
            _ => Expected::Straddling,
        }
    }
}

fn wrong_mask(expected: &[Expected], train_mask: &[u8]) -> WrongMask {
    let mut wrong = WrongMask::default();
    for (position, (expected, &value)) in expected.iter().zip(train_mask).enumerate() {
        match (expected, value) {
            (Expected::Straddling, _) => wrong.straddling += 1,
            (Expected::Value(0), 1) => wrong.trained += 1,
            (Expected::Value(1), 0) => wrong.untrained += 1,
            _ => continue,
        }
        if *expected != Expected::Straddling {
            wrong.positions.push(position);
        }
    }
    wrong
}

/// Tokens of both sides up to which a stretch between anchors is diffed at all.
const LONGEST_DIFF: usize = 1 << 17;
/// And up to which its diff is a shortest one.
const LONGEST_EXACT: usize = 1 << 10;

/// Where two lists differ that have no text in common.
///
/// The common prefix and suffix are cut. Between them control ids that both sides have in one order are anchors, and the
/// stretches between anchors are diffed by Myers' algorithm. The work is bounded: above [`LONGEST_EXACT`] tokens the diff
/// need not be a shortest one, and a stretch above [`LONGEST_DIFF`] is one span, but for its common prefix and suffix.
fn rewritten_spans(sampled: &[i64], trained: &[i64], is_control: impl Fn(i64) -> bool) -> Vec<Span> {
    let Some(middle) = align::unlocated_span(sampled, trained) else { return Vec::new() };
    let controls = |ids: &[i64], within: &Range<usize>| -> (Vec<usize>, Vec<i64>) {
        within.clone().filter(|&at| is_control(ids[at])).map(|at| (at, ids[at])).unzip()
    };
    let (places, ids) = controls(sampled, &middle.sampled);
    let (others, other_ids) = controls(trained, &middle.reencoded);
    let mut spans = Vec::new();
    let mut done = (middle.sampled.start, middle.reencoded.start);
    let anchors = differences(&ids, &other_ids);
    let anchors = equal_pairs(&anchors, ids.len()).map(|(a, b)| (places[a], others[b], 1));
    for (s, t, len) in anchors.chain([(middle.sampled.end, middle.reencoded.end, 0)]) {
        spans.extend(differences(&sampled[done.0..s], &trained[done.1..t]).into_iter().map(|(a, b)| Span {
            sampled: done.0 + a.start..done.0 + a.end,
            reencoded: done.1 + b.start..done.1 + b.end,
            bytes: None,
        }));
        done = (s + len, t + len);
    }
    spans
}

/// A stretch of either side.
type Difference = (Range<usize>, Range<usize>);

/// Where two stretches differ, within the bounds of [`rewritten_spans`].
fn differences(a: &[i64], b: &[i64]) -> Vec<Difference> {
    let Some(middle) = align::unlocated_span(a, b) else { return Vec::new() };
    let (left, right) = (middle.sampled, middle.reencoded);
    let len = left.len() + right.len();
    if left.is_empty() || right.is_empty() || len > LONGEST_DIFF {
        return vec![(left, right)];
    }
    let algorithm = if len <= LONGEST_EXACT { Algorithm::RawMyers } else { Algorithm::Myers };
    let mut found: Vec<Difference> = Vec::new();
    for op in capture_diff_slices(algorithm, &a[left.clone()], &b[right.clone()]) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (old, new) = (op.old_range(), op.new_range());
        let (old, new) = (left.start + old.start..left.start + old.end, right.start + new.start..right.start + new.end);
        match found.last_mut().filter(|(a, b)| a.end == old.start && b.end == new.start) {
            Some(last) => *last = (last.0.start..old.end, last.1.start..new.end),
            None => found.push((old, new)),
        }
    }
    found
}

/// The pairs of equal entries of two lists that `differences` leaves between them; `len` is the length of the first.
fn equal_pairs(differences: &[Difference], len: usize) -> impl Iterator<Item = (usize, usize)> {
    let starts = std::iter::once((0, 0)).chain(differences.iter().map(|(a, b)| (a.end, b.end)));
    let ends = differences.iter().map(|(a, _)| a.start).chain(std::iter::once(len));
    starts.zip(ends).flat_map(|((a, b), end)| (a..end).map(move |at| (at, b + at - a)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn longest_common(a: &[i64], b: &[i64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for &x in a {
            let mut corner = 0;
            for (j, &y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { corner + 1 } else { above.max(row[j]) };
                corner = above;
            }
        }
        row[b.len()]
    }

    fn rebuilt(a: &[i64], b: &[i64], spans: &[Span]) -> Vec<i64> {
        let mut rebuilt = Vec::new();
        let mut done = 0;
        for span in spans {
            rebuilt.extend_from_slice(&a[done..span.sampled.start]);
            rebuilt.extend_from_slice(&b[span.reencoded.clone()]);
            done = span.sampled.end;
        }
        rebuilt.extend_from_slice(&a[done..]);
        rebuilt
    }

    fn is_control(id: i64) -> bool {
        id < 2
    }

    fn ids(longest: usize) -> impl Strategy<Value = Vec<i64>> {
        prop::collection::vec(0i64..6, 0..longest)
    }

    proptest! {
        #[test]
        fn spans_rebuild_the_trained_ids_and_start_at_the_first_difference(a in ids(40), b in ids(40)) {
            let spans = rewritten_spans(&a, &b, is_control);
            prop_assert_eq!(rebuilt(&a, &b, &spans), b.clone());
            prop_assert_eq!(align::first_diff(&a, &b), spans.first().map(|span| span.sampled.start));
            for pair in spans.windows(2) {
                prop_assert!(pair[0].sampled.end < pair[1].sampled.start, "spans that touch are one");
            }
            prop_assert!(spans.iter().all(|span| !span.sampled.is_empty() || !span.reencoded.is_empty()));
        }

        #[test]
        fn without_controls_no_shorter_diff_exists(a in ids(30), b in ids(30)) {
            let spans = rewritten_spans(&a, &b, |_| false);
            let kept = a.len() - spans.iter().map(|span| span.sampled.len()).sum::<usize>();
            prop_assert_eq!(kept, longest_common(&a, &b));
        }

        #[test]
        fn as_many_controls_as_can_be_are_anchors(a in ids(30), b in ids(30)) {
            let spans = rewritten_spans(&a, &b, is_control);
            let controls = |ids: &[i64]| ids.iter().copied().filter(|&id| is_control(id)).collect::<Vec<i64>>();
            let lost: usize = spans.iter().map(|span| controls(&a[span.sampled.clone()]).len()).sum();
            prop_assert_eq!(controls(&a).len() - lost, longest_common(&controls(&a), &controls(&b)));
        }

        #[test]
        fn united_ranges_cover_what_either_covers(a in prop::collection::btree_set(0usize..40, 0..12), b in prop::collection::btree_set(0usize..40, 0..12)) {
            let ranges = |ends: &std::collections::BTreeSet<usize>| -> Vec<ByteRange> {
                ends.iter().copied().collect::<Vec<_>>().chunks_exact(2).map(|pair| pair[0]..pair[1]).collect()
            };
            let (a, b) = (ranges(&a), ranges(&b));
            let united = united(a.clone(), b.clone());
            prop_assert!(united.windows(2).all(|pair| pair[0].end <= pair[1].start));
            for at in 0..40 {
                let has = |ranges: &[ByteRange]| ranges.iter().any(|range| range.contains(&at));
                prop_assert_eq!(has(&united), has(&a) || has(&b));
            }
        }
    }

    #[test]
    fn a_long_row_that_differs_everywhere_is_one_span_at_once() {
        let a: Vec<i64> = (0..1_000_000).map(|at| at % 1_000).collect();
        let b: Vec<i64> = (0..1_000_000).map(|at| (at * 7 + 3) % 1_000).collect();
        let spans = rewritten_spans(&a, &b, |_| false);
        assert_eq!(spans, [Span { sampled: 0..1_000_000, reencoded: 0..1_000_000, bytes: None }]);
    }

    #[test]
    fn a_long_diff_is_bounded_and_still_rebuilds() {
        let a: Vec<i64> = (0..20_000).map(|at| at * at % 977).collect();
        let b: Vec<i64> = (0..20_000).map(|at| at * at * at % 977).collect();
        let spans = rewritten_spans(&a, &b, |id| id == 0);
        assert_eq!(rebuilt(&a, &b, &spans), b);
        assert_eq!(spans, rewritten_spans(&a, &b, |id| id == 0), "no clock and no hash order has a say");
    }
}
