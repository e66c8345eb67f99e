//! A row end to end: what the reference would say of it, put together from what stays and from its windows.

use std::ops::Range;

use crate::align;
use crate::audit::{Finding, Row, RowAudit, flags};
use crate::cause::Drift;
use crate::engine::Answered;
use crate::fast::Fast;
use crate::fast::scratch::Redone;
use crate::provenance;
use crate::tokenizer::Tokenizer;

impl Tokenizer {
    /// Judge one row by the fast engine; `None` where only the reference may.
    pub(crate) fn audit_fast(&self, fast: &Fast, row: &Row<'_>) -> Option<RowAudit> {
        fast.with_scratch(|scratch| {
            self.find_windows(fast, row.ids, scratch)?;
            let audit = self.assembled(fast, row, scratch.windows.as_slice());
            Some(RowAudit { encoded_bytes: scratch.buffers.encoded, ..audit })
        })
    }

    /// Put the windows into their row.
    fn assembled(&self, fast: &Fast, row: &Row<'_>, windows: &[Redone]) -> RowAudit {
        let mut audit = RowAudit { engine: Answered::Fast, located: true, ..RowAudit::default() };
        if let Some(owners) = row.owners.or(row.mask) {
            audit.shared_characters = fast.shared_between_tokens(row.ids, owners, windows);
        }
        let Some(last) = windows.last() else { return audit };
        // Only a span of invalid UTF-8 asks whether it ends the text.
        let is_end_asked = windows.iter().any(|window| !window.decoded.invalid.is_empty());
        let end_byte = if is_end_asked { fast.text_length(row.ids, windows, last) } else { usize::MAX };
        audit.reencoded.reserve(row.ids.len());
        let (mut done, mut byte) = (0, 0);
        for window in windows {
            let between = &row.ids[done..window.tokens.start];
            audit.reencoded.extend_from_slice(between);
            byte += fast.texts.length(between);
            self.add(row, window, byte, end_byte, &mut audit);
            byte += window.decoded.text.len();
            done = window.tokens.end;
        }
        audit.reencoded.extend_from_slice(&row.ids[done..]);
        audit.first_diff = audit.findings.first().map(|finding| finding.span.sampled.start);
        audit
    }

    /// Explain one window, which begins at `byte` of a text of `end_byte` bytes.
    fn add(&self, row: &Row<'_>, window: &Redone, byte: usize, end_byte: usize, audit: &mut RowAudit) {
        let Redone { tokens, decoded, encoded } = window;
        let ids = &row.ids[tokens.clone()];
        let first = audit.reencoded.len();
        audit.invalid_utf8 |= !decoded.invalid.is_empty();
        audit.unknown.extend(tokens.clone().filter(|&at| self.is_unknown(row.ids[at])));
        let drift = Drift { tokenizer: self, ids, decoded: Some(decoded), encoded, clean_runs: &[], artefact: false };
        let spans = align::laid_out(ids, Some(decoded), encoded);
        let causes = drift.causes(&spans);
        let moved = |range: &Range<usize>, by: usize| range.start + by..range.end + by;
        for (mut span, cause) in spans.into_iter().zip(causes) {
            let invalid: Vec<_> = drift.invalid(&span).iter().map(|at| moved(at, byte)).collect();
            span.sampled = moved(&span.sampled, tokens.start);
            span.reencoded = moved(&span.reencoded, first);
            span.bytes = span.bytes.map(|bytes| moved(&bytes, byte));
            let flags = flags(row, &span, cause, &invalid, end_byte);
            audit.findings.push(Finding { span, cause, flags });
        }
        if let Some(owners) = row.owners.or(row.mask) {
            let is_one = |owners: &[u8]| owners[tokens.clone()].iter().all(|owner| *owner == owners[tokens.start]);
            if !is_one(owners) || row.mask.is_some_and(|mask| !is_one(mask)) {
                Self::share_out(row, owners, window, byte, audit);
            }
        }
        audit.reencoded.extend_from_slice(&encoded.ids);
    }

    /// Whose bytes the tokens of one window cover, where there are several owners.
    fn share_out(row: &Row<'_>, owners: &[u8], window: &Redone, byte: usize, audit: &mut RowAudit) {
        let Redone { tokens, decoded, encoded } = window;
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
            token.bytes = token.bytes.start + byte..token.bytes.end + byte;
            token
        }));
    }
}

impl Fast {
    /// Bytes of the text of a row.
    fn text_length(&self, ids: &[u32], windows: &[Redone], last: &Redone) -> usize {
        let mut done = 0;
        let upto_last = windows.iter().map(|window| {
            let between = done..window.tokens.start;
            done = window.tokens.end;
            self.texts.length(&ids[between]) + window.decoded.text.len()
        });
        upto_last.sum::<usize>() + self.texts.length(&ids[last.tokens.end..])
    }

    /// Number of characters, outside the windows, whose bytes come from tokens of several owners.
    fn shared_between_tokens(&self, ids: &[u32], owners: &[u8], windows: &[Redone]) -> usize {
        let mut windows = windows.iter().map(|window| &window.tokens).peekable();
        let (mut edge, mut shared, mut last) = (0, 0, None);
        while let Some(next) = next_change(owners, edge) {
            edge = next;
            if !self.begins_inside_character(ids[edge]) {
                continue;
            }
            while windows.next_if(|window| window.end <= edge).is_some() {}
            if windows.peek().is_some_and(|window| window.start <= edge) {
                continue;
            }
            // A character is known by the token that it begins in.
            let first = (0..edge).rev().find(|&at| !self.is_inside_character(ids[at]));
            shared += usize::from(last != Some(first));
            last = Some(first);
        }
        shared
    }

    fn begins_inside_character(&self, id: u32) -> bool {
        self.texts.bytes(id).first().is_some_and(|&byte| is_continuation(byte))
    }

    fn is_inside_character(&self, id: u32) -> bool {
        self.texts.bytes(id).iter().all(|&byte| is_continuation(byte))
    }
}

/// The first place behind `from` with another owner than `from` has.
fn next_change(owners: &[u8], from: usize) -> Option<usize> {
    const WIDTH: usize = 64;
    let owner = *owners.get(from)?;
    let rest = &owners[from..];
    // Stretches first, which the compiler compares many at a time.
    let is_same = |part: &&[u8]| part.iter().fold(0, |all, other| all | (other ^ owner)) == 0;
    let same = rest.chunks_exact(WIDTH).take_while(is_same).count() * WIDTH;
    rest[same..].iter().position(|&other| other != owner).map(|at| from + same + at)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
