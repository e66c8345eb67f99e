//! What the reference would say of a row, put together from the windows that do not come back.
//!
//! A window is a stretch of tokens that is decoded and encoded by itself as it is within its row. Outside of all windows both
//! sides have the same tokens, so everything that there is to explain lies in them.

use std::ops::Range;

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
    let is_one = |owners: &[u8]| owners[tokens.clone()].iter().all(|owner| *owner == owners[tokens.start]);
    let Some(owners) = row.owners.or(row.mask) else { return };
    if is_one(owners) && row.mask.is_none_or(is_one) {
        return;
    }
    let of_bytes =
        |owners: &[u8]| provenance::owner_of_bytes(decoded.text.len(), &decoded.ranges, &owners[tokens.clone()]);
    let byte_owner = of_bytes(owners);
    // Without owners of their own, the owners of the bytes are their mask.
    let own_mask = row.mask.filter(|_| row.owners.is_some()).map(of_bytes);
    let byte_mask = row.mask.map(|_| own_mask.as_deref().unwrap_or(&byte_owner));
    audit.shared_characters += provenance::shared_characters(&decoded.text, &byte_owner);
    let (straddling, crossing) = provenance::straddling(&encoded.ranges, byte_mask, &byte_owner);
    audit.owner_crossing += crossing;
    let first = audit.reencoded.len();
    audit.straddling.extend(straddling.into_iter().map(|mut token| {
        token.index += first;
        token.bytes = moved(&token.bytes, byte);
        token
    }));
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
