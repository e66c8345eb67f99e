//! A row end to end.

use crate::audit::{CleanRuns, Row, RowAudit};
use crate::fast::Fast;
use crate::fast::fragments::is_continuation;
use crate::machine::OPAQUE;
use crate::tokenizer::Tokenizer;
use crate::windows::Redone;

impl Tokenizer {
    /// Judge one row by the fast engine; `None` where only the reference may.
    pub(crate) fn audit_fast(&self, audit: &mut RowAudit, fast: &Fast, row: &Row<'_>) -> Option<()> {
        fast.with_scratch(|scratch| {
            self.find_windows(fast, row.ids, scratch)?;
            audit.encoded_bytes = scratch.work.buffers.encoded;
            let windows = scratch.windows.as_slice();
            if let Some(owners) = row.owners.or(row.mask) {
                audit.shared_characters = fast.shared_between_tokens(row.ids, owners, windows);
            }
            if !windows.is_empty() {
                let length = |tokens| fast.texts.length(&row.ids[tokens]);
                // A run between added tokens is encoded in its row as it is by itself: none that drifts comes back.
                self.explain_windows(row, windows, &CleanRuns::default(), length, audit);
            }
            Some(())
        })
    }
}

impl Fast {
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
        // All others are text by themselves.
        self.kinds.of(id) == OPAQUE && self.texts.bytes(id).first().is_some_and(|&byte| is_continuation(byte))
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
