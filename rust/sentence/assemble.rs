//! A row end to end.

use std::ops::Range;

use super::Sentence;
use super::scan::{NotProven, Scanned};
use super::window::Work;
use crate::audit::{CleanRuns, Row, RowAudit};
use crate::kept::{Kept, Spare};
use crate::provenance;
use crate::tokenizer::Tokenizer;

/// What a thread keeps from row to row.
#[derive(Default)]
struct Scratch {
    work: Work,
    scanned: Scanned,
}

static SPARE: Spare<Scratch> = Spare::new();

thread_local! {
    static SCRATCH: Kept<Scratch> = const { Kept::new(&SPARE) };
}

impl Tokenizer {
    /// Judge one row by the fast engine; `None` where only the reference may.
    pub(crate) fn audit_sentence(&self, audit: &mut RowAudit, sentence: &Sentence, row: &Row<'_>) -> Option<()> {
        let judge = |Scratch { work, scanned }: &mut Scratch| {
            work.cache.serve(&sentence.pairs);
            work.encoded = 0;
            self.judge(audit, sentence, row, scanned, work).ok()?;
            audit.encoded_bytes = work.encoded;
            Some(())
        };
        SCRATCH.with(|kept| kept.with(judge))
    }

    fn judge(
        &self,
        audit: &mut RowAudit,
        sentence: &Sentence,
        row: &Row<'_>,
        scanned: &mut Scanned,
        work: &mut Work,
    ) -> Result<(), NotProven> {
        let mut redone = sentence.redone(row.ids, scanned, work)?;
        sentence.reach_first_difference(row.ids, &mut redone, work)?;
        if let Some(owners) = row.owners.or(row.mask) {
            let windows = redone.iter().map(|window| &window.tokens);
            audit.shared_characters = sentence.shared_in_byte_runs(row.ids, owners, &scanned.byte_runs, windows);
        }
        if redone.is_empty() {
            return Ok(());
        }
        let runs = if scanned.has_added { sentence.clean_runs(row.ids, &redone, work)? } else { CleanRuns::default() };
        let length = |tokens: Range<usize>| {
            let bytes = sentence.length(&row.ids[tokens.clone()]);
            // The decoder cuts off the space in front of the text; the token that has it is in a window or has it.
            let has_cut = tokens.start == 0 && !tokens.is_empty() && sentence.has_prefix;
            bytes - usize::from(has_cut && sentence.bytes(row.ids[0]).first() == Some(&b' '))
        };
        self.explain_windows(row, &redone, &runs, length, audit);
        Ok(())
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
