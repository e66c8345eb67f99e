//! What the reference would say of a row, put together from its windows.

use std::cell::RefCell;
use std::ops::Range;

use super::Sentence;
use super::scan::{NotProven, Scanned};
use super::window::{Redone, Work};
use crate::ByteRange;
use crate::align::{self, Side};
use crate::audit::{CleanRuns, Finding, Row, RowAudit, flags};
use crate::cause::Drift;
use crate::engine::Answered;
use crate::provenance;
use crate::tokenizer::Tokenizer;

/// What a thread keeps from row to row.
#[derive(Default)]
struct Scratch {
    work: Work,
    scanned: Scanned,
}

thread_local! {
    static SCRATCH: RefCell<Option<Box<Scratch>>> = const { RefCell::new(None) };
}

impl Tokenizer {
    /// Judge one row by the fast engine; `None` where only the reference may.
    pub(crate) fn audit_sentence(&self, sentence: &Sentence, row: &Row<'_>) -> Option<RowAudit> {
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch { work, scanned } = &mut **scratch.get_or_insert_default();
            work.cache.serve(&sentence.pairs);
            work.encoded = 0;
            self.judged(sentence, row, scanned, work).ok()
        })
    }

    fn judged(
        &self,
        sentence: &Sentence,
        row: &Row<'_>,
        scanned: &mut Scanned,
        work: &mut Work,
    ) -> Result<RowAudit, NotProven> {
        let mut redone = sentence.redone(row.ids, scanned, work)?;
        sentence.reach_first_difference(row.ids, &mut redone, work)?;
        let mut audit = RowAudit { engine: Answered::Fast, located: true, ..RowAudit::default() };
        if let Some(owners) = row.owners.or(row.mask) {
            let windows = redone.iter().map(|window| &window.tokens);
            audit.shared_characters = sentence.shared_in_byte_runs(row.ids, owners, &scanned.byte_runs, windows);
        }
        if redone.is_empty() {
            audit.encoded_bytes = work.encoded;
            return Ok(audit);
        }
        let runs = if scanned.has_added { sentence.clean_runs(row.ids, &redone, work)? } else { CleanRuns::default() };
        audit.artefact = runs.all_clean;
        let length = |tokens: Range<usize>| {
            let bytes = sentence.length(&row.ids[tokens.clone()]);
            // The decoder cuts off the space in front of the text; the token that has it is in a window or has it.
            let has_cut = tokens.start == 0 && !tokens.is_empty() && sentence.has_prefix;
            bytes - usize::from(has_cut && sentence.bytes(row.ids[0]).first() == Some(&b' '))
        };
        let mut done = 0;
        let mut byte = 0;
        // Only stretches of invalid UTF-8 are told apart by where the text ends.
        let end_byte = if redone.iter().any(|window| !window.decoded.invalid.is_empty()) {
            audit.invalid_utf8 = true;
            let between = redone.iter().map(|window| {
                length(std::mem::replace(&mut done, window.tokens.end)..window.tokens.start) + window.decoded.text.len()
            });
            between.sum::<usize>() + length(std::mem::take(&mut done)..row.ids.len())
        } else {
            usize::MAX
        };
        for window in &redone {
            let between = done..window.tokens.start;
            byte += length(between.clone());
            audit.reencoded.extend_from_slice(&row.ids[between]);
            self.add_window(row, window, byte..end_byte, &runs, &mut audit);
            byte += window.decoded.text.len();
            done = window.tokens.end;
        }
        audit.reencoded.extend_from_slice(&row.ids[done..]);
        audit.encoded_bytes = work.encoded;
        audit.first_diff = audit.findings.first().map(|finding| finding.span.sampled.start);
        Ok(audit)
    }

    /// Explain one window, which begins at the first of `bytes`; the text ends at the last.
    fn add_window(&self, row: &Row<'_>, window: &Redone, bytes: ByteRange, runs: &CleanRuns, audit: &mut RowAudit) {
        let Redone { tokens, decoded, encoded } = window;
        let ids = &row.ids[tokens.clone()];
        let first = audit.reencoded.len();
        let byte = bytes.start;
        let clean_runs: Vec<Range<usize>> = {
            let from = runs.clean.partition_point(|run| run.end < tokens.start);
            let near = runs.clean[from..].iter().take_while(|run| run.start <= tokens.end);
            near.map(|run| run.start.saturating_sub(tokens.start)..run.end - tokens.start).collect()
        };
        let drift = Drift {
            tokenizer: self,
            ids,
            decoded: Some(decoded),
            encoded,
            clean_runs: &clean_runs,
            artefact: runs.all_clean,
        };
        // Equal ids in front of the first difference of the row are no part of a span, but only these.
        let common = if audit.findings.is_empty() { align::common_prefix(ids, &encoded.ids) } else { 0 };
        let sides = [Side { ids, ranges: &decoded.ranges }, Side { ids: &encoded.ids, ranges: &encoded.ranges }];
        let spans = align::spans_behind(common, sides[0], sides[1]);
        let causes = drift.causes(&spans);
        for (mut span, cause) in spans.into_iter().zip(causes) {
            let invalid = drift.invalid(&span).iter().map(|at| at.start + byte..at.end + byte).collect::<Vec<_>>();
            span.sampled = span.sampled.start + tokens.start..span.sampled.end + tokens.start;
            span.reencoded = span.reencoded.start + first..span.reencoded.end + first;
            span.bytes = span.bytes.map(|bytes| bytes.start + byte..bytes.end + byte);
            let flags = flags(row, &span, cause, &invalid, bytes.end);
            audit.findings.push(Finding { span, cause, flags });
        }
        let owned = |owners: Option<&[u8]>| {
            owners
                .map(|owners| provenance::owner_of_bytes(decoded.text.len(), &decoded.ranges, &owners[tokens.clone()]))
        };
        if let Some(byte_owner) = owned(row.owners.or(row.mask)) {
            audit.shared_characters += provenance::shared_characters(&decoded.text, &byte_owner);
            // Without owners of their own, the owners of the bytes are their mask.
            let own_mask = if row.owners.is_some() { owned(row.mask) } else { None };
            let byte_mask = row.mask.map(|_| own_mask.as_deref().unwrap_or(&byte_owner));
            let (straddling, crossing) = provenance::straddling(&encoded.ranges, byte_mask, &byte_owner);
            audit.owner_crossing += crossing;
            audit.straddling.extend(straddling.into_iter().map(|mut token| {
                token.index += first;
                token.bytes = token.bytes.start + byte..token.bytes.end + byte;
                token
            }));
        }
        audit.reencoded.extend_from_slice(&encoded.ids);
    }
}

impl Sentence {
    /// Number of characters, outside the windows, whose bytes have several owners: byte tokens alone are less than one.
    fn shared_in_byte_runs<'w>(
        &self,
        ids: &[u32],
        owners: &[u8],
        byte_runs: &[Range<usize>],
        windows: impl Iterator<Item = &'w Range<usize>>,
    ) -> usize {
        let mut windows = windows.peekable();
        let mut shared = 0;
        for run in byte_runs {
            while windows.next_if(|window| window.end <= run.start).is_some() {}
            if windows.peek().is_some_and(|window| window.start < run.end) {
                continue;
            }
            let bytes: Vec<u8> = ids[run.clone()].iter().flat_map(|&id| self.bytes(id)).copied().collect();
            let byte_owner: Vec<i16> = owners[run.clone()].iter().map(|&owner| owner.into()).collect();
            shared += std::str::from_utf8(&bytes).map_or(0, |text| provenance::shared_characters(text, &byte_owner));
        }
        shared
    }
}
