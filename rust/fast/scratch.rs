//! What a thread keeps from row to row, so that a row costs no memory of its own.

use std::ops::Range;

use crate::fast::Fast;
use crate::fast::local::Piece;
use crate::fast::mend::Mended;
use crate::fast::scan::Scanned;
use crate::fast::together::Together;
use crate::kept::{Kept, Spare};
use crate::pairs::PairCache;
use crate::windows::Redone;

/// Windows of one row in order; those of earlier rows lend their memory.
#[derive(Default)]
pub(crate) struct Windows {
    all: Vec<Redone>,
    used: usize,
}

impl Windows {
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// The one to fill next.
    pub(crate) fn next(&mut self) -> &mut Redone {
        if self.used == self.all.len() {
            self.all.push(Redone::default());
        }
        &mut self.all[self.used]
    }

    /// Keep the one that was filled.
    pub(crate) fn keep(&mut self) {
        self.used += 1;
    }

    /// Give up all but the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.used = self.used.min(count);
    }

    pub(crate) fn as_slice(&self) -> &[Redone] {
        &self.all[..self.used]
    }
}

/// Buffers for the text of one window after the other.
#[derive(Default)]
pub(crate) struct Buffers {
    pub(crate) text: Vec<u8>,
    pub(crate) classes: Vec<u8>,
    /// Where every character begins, and the end of the last.
    pub(crate) chars: Vec<usize>,
    /// The pre-tokens of the text.
    pub(crate) pieces: Vec<Piece>,
    /// The tokens of pre-tokens that change.
    pub(crate) changing: Vec<Range<usize>>,
    pub(crate) mended: Mended,
    /// Bytes that were looked at in this row.
    pub(crate) encoded: usize,
}

/// What encoding a window takes.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) cache: PairCache,
    pub(crate) together: Together,
    pub(crate) buffers: Buffers,
}

/// All of it.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) scanned: Scanned,
    pub(crate) windows: Windows,
    pub(crate) work: Work,
}

static SPARE: Spare<Scratch> = Spare::new();

thread_local! {
    static SCRATCH: Kept<Scratch> = const { Kept::new(&SPARE) };
}

impl Fast {
    /// Work with what this thread keeps.
    pub(crate) fn with_scratch<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        SCRATCH.with(|kept| {
            kept.with(|scratch| {
                let Work { cache, together, .. } = &mut scratch.work;
                if cache.serve(&self.pairs) {
                    together.clear();
                }
                work(scratch)
            })
        })
    }
}
