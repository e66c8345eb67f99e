//! What the reference would say of a row, put together from the windows that do not come back.
//!
//! A window is a stretch of tokens that is decoded and encoded by itself as it is within its row. Outside of all windows both
//! sides have the same tokens, so everything that there is to explain lies in them.

use std::ops::Range;

use crate::ByteRange;
use crate::align::{self, Side};
use crate::audit::{CleanRuns, Finding, Row, RowAudit, flags};
use crate::cause::Drift;
use crate::decode::DecodeTrace;
use crate::provenance;
use crate::reencode::EncodeTrace;
use crate::tokenizer::Tokenizer;

/// Tokens of a row, with what they decode and encode to there.
#[derive(Default)]
pub(crate) struct Redone {
    pub(crate) tokens: Range<usize>,
    pub(crate) decoded: DecodeTrace,
    pub(crate) encoded: EncodeTrace,
}

impl Tokenizer {
    /// Explain a row that drifts in these `windows`, which are in order, apart, and not empty; `length` tells the bytes of
    /// tokens outside of them, `runs` the runs between added tokens that come back equal by themselves.
    pub(crate) fn explain_windows(
        &self,
        row: &Row<'_>,
        windows: &[Redone],
        runs: &CleanRuns,
        length: impl Fn(Range<usize>) -> usize,
        audit: &mut RowAudit,
    ) {
        audit.artefact = runs.all_clean;
        audit.invalid_utf8 = windows.iter().any(|window| !window.decoded.invalid.is_empty());
        // Only a stretch of invalid UTF-8 asks whether it ends the text.
        let end_byte = if audit.invalid_utf8 { text_length(row.ids.len(), windows, &length) } else { usize::MAX };
        audit.reencoded.reserve(row.ids.len());
        let (mut done, mut byte) = (0, 0);
        for window in windows {
            let between = done..window.tokens.start;
            audit.reencoded.extend_from_slice(&row.ids[between.clone()]);
            byte += length(between);
            self.explain_window(row, window, byte..end_byte, runs, audit);
            byte += window.decoded.text.len();
            done = window.tokens.end;
        }
        audit.reencoded.extend_from_slice(&row.ids[done..]);
        audit.first_diff = audit.findings.first().map(|finding| finding.span.sampled.start);
    }

    /// Explain one window, which begins at the first of `bytes`; the text ends at the last.
    fn explain_window(
        &self,
        row: &Row<'_>,
        window: &Redone,
        bytes: Range<usize>,
        runs: &CleanRuns,
        audit: &mut RowAudit,
    ) {
        let Redone { tokens, decoded, encoded } = window;
        let ids = &row.ids[tokens.clone()];
        let first = audit.reencoded.len();
        let clean_runs = near(runs, tokens);
        let artefact = runs.all_clean;
        let drift = Drift { tokenizer: self, ids, decoded: Some(decoded), encoded, clean_runs: &clean_runs, artefact };
        // Equal ids in front of the first difference of the row are no part of a span, but only these.
        let common = if audit.findings.is_empty() { align::common_prefix(ids, &encoded.ids) } else { 0 };
        let sampled = Side { ids, ranges: &decoded.ranges };
        let spans = align::spans_behind(common, sampled, Side { ids: &encoded.ids, ranges: &encoded.ranges });
        let causes = drift.causes(&spans);
        for (mut span, cause) in spans.into_iter().zip(causes) {
            let invalid: Vec<_> = drift.invalid(&span).iter().map(|at| moved(at, bytes.start)).collect();
            span.sampled = moved(&span.sampled, tokens.start);
            span.reencoded = moved(&span.reencoded, first);
            span.bytes = span.bytes.map(|own| moved(&own, bytes.start));
            let flags = flags(row, &span, cause, &invalid, bytes.end);
            audit.findings.push(Finding { span, cause, flags });
        }
        audit.unknown.extend(tokens.clone().filter(|&at| self.is_unknown(row.ids[at])));
        share_out(row, window, bytes.start, audit);
        audit.reencoded.extend_from_slice(&encoded.ids);
    }
}

/// Whose bytes the tokens of one window cover, which begins at `byte`.
fn share_out(row: &Row<'_>, window: &Redone, byte: usize, audit: &mut RowAudit) {
    let Redone { tokens, decoded, encoded } = window;
    let Some(owners) = row.owners.or(row.mask).map(|owners| &owners[tokens.clone()]) else { return };
    let mask = row.mask.map(|mask| &mask[tokens.clone()]);
    for part in mixed(window, owners, mask) {
        // The tokens of a replaced stretch all have its place, also on both sides of one that has none.
        let is_text = decoded.invalid.is_empty();
        let sampled = if is_text { touching(&decoded.ranges, &part) } else { 0..tokens.len() };
        let ranges: Vec<ByteRange> = decoded.ranges[sampled.clone()].iter().map(|range| within(range, &part)).collect();
        let of_bytes = |owners: &[u8]| provenance::owner_of_bytes(part.len(), &ranges, &owners[sampled.clone()]);
        let byte_owner = of_bytes(owners);
        // Without owners of their own, the owners of the bytes are their mask.
        let own_mask = mask.filter(|_| row.owners.is_some()).map(of_bytes);
        let byte_mask = mask.map(|_| own_mask.as_deref().unwrap_or(&byte_owner));
        audit.shared_characters += provenance::shared_characters(&decoded.text[part.clone()], &byte_owner);
        let whole = encoded.ranges.partition_point(|range| range.start < part.start)
            ..encoded.ranges.partition_point(|range| range.end <= part.end);
        let ranges: Vec<ByteRange> = encoded.ranges[whole.clone()].iter().map(|range| within(range, &part)).collect();
        let (straddling, crossing) = provenance::straddling(&ranges, byte_mask, &byte_owner);
        audit.owner_crossing += crossing;
        let first = audit.reencoded.len() + whole.start;
        audit.straddling.extend(straddling.into_iter().map(|mut token| {
            token.index += first;
            token.bytes = moved(&token.bytes, byte + part.start);
            token
        }));
    }
}

/// The parts of a window's text, in order and apart, that hold whatever has bytes of several owners: the characters and the
/// re-encoded tokens in which one owner's bytes end and another's begin.
fn mixed(window: &Redone, owners: &[u8], mask: Option<&[u8]>) -> Vec<ByteRange> {
    let Redone { decoded: DecodeTrace { text, ranges, invalid, .. }, encoded, .. } = window;
    let changes = |owners: &[u8], at: usize| owners[at - 1] != owners[at];
    let mut changes = (1..owners.len()).filter(|&at| changes(owners, at) || mask.is_some_and(|mask| changes(mask, at)));
    if !invalid.is_empty() {
        // A replaced stretch is that of all its tokens.
        return changes.next().map(|_| 0..text.len()).into_iter().collect();
    }
    let mut parts: Vec<ByteRange> = Vec::new();
    for at in changes.map(|token| ranges[token].start) {
        let token = encoded.ranges[touching(&encoded.ranges, &(at..at + 1))].first();
        let reach = token.filter(|token| token.start < at).unwrap_or(&(at..at)).clone();
        let is_boundary = |at: &usize| text.is_char_boundary(*at);
        let part = (0..=reach.start).rev().find(is_boundary).unwrap_or(0)
            ..(reach.end..=text.len()).find(is_boundary).unwrap_or(text.len());
        match parts.last_mut().filter(|last| part.start < last.end) {
            Some(last) => last.end = last.end.max(part.end),
            None => parts.extend((!part.is_empty()).then_some(part)),
        }
    }
    parts
}

/// Those of `sorted` ranges that share a byte with `part`, and empty ones among them.
fn touching(sorted: &[ByteRange], part: &ByteRange) -> Range<usize> {
    sorted.partition_point(|range| range.end <= part.start)..sorted.partition_point(|range| range.start < part.end)
}

/// What `range` covers of `part`, counted in it.
fn within(range: &ByteRange, part: &ByteRange) -> ByteRange {
    range.start.clamp(part.start, part.end) - part.start..range.end.clamp(part.start, part.end) - part.start
}

/// Bytes of the text of a row of `tokens` tokens.
fn text_length(tokens: usize, windows: &[Redone], length: impl Fn(Range<usize>) -> usize) -> usize {
    let mut done = 0;
    let upto_last = windows.iter().map(|window| {
        length(std::mem::replace(&mut done, window.tokens.end)..window.tokens.start) + window.decoded.text.len()
    });
    upto_last.sum::<usize>() + length(done..tokens)
}

/// The clean runs that a window touches, counted in it.
fn near(runs: &CleanRuns, tokens: &Range<usize>) -> Vec<Range<usize>> {
    let from = runs.clean.partition_point(|run| run.end < tokens.start);
    let near = runs.clean[from..].iter().take_while(|run| run.start <= tokens.end);
    near.map(|run| run.start.saturating_sub(tokens.start)..run.end - tokens.start).collect()
}

fn moved(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
