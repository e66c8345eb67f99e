//! Many short rows at once: most are clean, and a look at each by itself takes longer than its tokens do.

use crate::engine::{Engine, Proven};
use crate::error::caught;
use crate::fast::Fast;
use crate::fast::scratch::Scratch;
use crate::machine::BORDER;
use crate::tokenizer::Tokenizer;

impl Tokenizer {
    /// Of rows end to end in `ids`, tell which surely come back, and are text token by token; of the others nothing is said.
    /// Row `i` begins at `offsets[i]`, counted from the first of these. Nothing is told where `engine` allows no fast engine, or
    /// there is none that can: `clean` stays empty.
    pub(crate) fn surely_clean(&self, engine: Engine, ids: &[u32], offsets: &[usize], clean: &mut Vec<bool>) {
        if let Some(Proven::ByteLevel(fast)) = self.fast().filter(|_| engine != Engine::Reference)
            && caught(|| fast.with_scratch(|scratch| fast.surely_clean(ids, offsets, scratch, clean))).is_err()
        {
            clean.clear();
        }
    }
}

impl Fast {
    fn surely_clean(&self, ids: &[u32], offsets: &[usize], scratch: &mut Scratch, clean: &mut Vec<bool>) {
        let Scratch { scanned, work, .. } = scratch;
        let first = offsets[0];
        let kind = |at: usize| self.kinds.of(ids[at]);
        clean.extend(offsets.windows(2).map(|row| {
            let (start, end) = (row[0] - first, row[1] - first);
            start < end
                && self.kinds.is_open(BORDER, kind(start)) == 0
                && self.kinds.is_open(kind(end - 1), BORDER) == 0
        }));
        self.scan_rows(ids, offsets.iter().map(|offset| offset - first), &mut work.cache, scanned);
        doubt(scanned.suspects.iter().copied(), offsets, clean);
        doubt(self.doubtful.among(ids), offsets, clean);
    }
}

/// Say nothing of the rows that hold some places, which are in order.
fn doubt(places: impl Iterator<Item = usize>, offsets: &[usize], clean: &mut [bool]) {
    let mut row = 0;
    for place in places {
        while offsets[row + 1] - offsets[0] <= place {
            row += 1;
        }
        clean[row] = false;
    }
}
