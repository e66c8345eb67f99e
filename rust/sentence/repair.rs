//! The windows of a row that do not come back.

use std::ops::Range;

use super::Sentence;
use super::kinds::Kind;
use super::scan::{NotProven, Scanned};
use super::window::Work;
use crate::align;
use crate::audit::CleanRuns;
use crate::windows::Redone;

impl Sentence {
    /// The windows of `ids` that differ when they are encoded again, in order; between two of them is a token at least.
    pub(super) fn redone(&self, ids: &[u32], scanned: &mut Scanned, work: &mut Work) -> Result<Vec<Redone>, NotProven> {
        self.scan(ids, &mut work.cache, scanned)?;
        let mut all: Vec<Redone> = Vec::new();
        let mut settled = 0;
        let mut suspects = scanned.suspects.iter().peekable();
        while let Some(suspect) = suspects.next() {
            if suspect.settled <= settled {
                continue;
            }
            let mut tokens = suspect.tokens.clone();
            while let Some(next) = suspects.next_if(|next| next.tokens.start < tokens.end) {
                tokens.end = tokens.end.max(next.tokens.end);
            }
            let mut redone = self.redo(ids, tokens, work)?;
            // Two that touch are one, for spans are told together that do. What is left of one that another reaches into is
            // no longer what its edge was looked at for.
            let differs = |redone: &Redone| redone.encoded.ids != ids[redone.tokens.clone()];
            while let Some(last) = all.pop_if(|last| {
                last.tokens.end > redone.tokens.start || last.tokens.end == redone.tokens.start && differs(&redone)
            }) {
                // As much again behind both, so that a window that grows by many others is not encoded once for each.
                let start = last.tokens.start.min(redone.tokens.start);
                let end = last.tokens.end.max(redone.tokens.end);
                let tokens = start..(end + last.tokens.len()).min(ids.len());
                redone = self.redo(ids, tokens, work)?;
            }
            settled = redone.tokens.end;
            if differs(&redone) {
                all.push(redone);
            }
        }
        Ok(all)
    }

    /// Let the first difference of the row lie in its first window.
    ///
    /// It does not where the window is followed by more of what its one side has more of, a space without bytes of its own.
    pub(super) fn reach_first_difference(
        &self,
        ids: &[u32],
        redone: &mut Vec<Redone>,
        work: &mut Work,
    ) -> Result<(), NotProven> {
        while let Some(first) = redone.first() {
            let Range { start, end } = first.tokens;
            let shorter = first.encoded.ids.len().min(first.tokens.len());
            if end == ids.len() || align::common_prefix(&ids[start..end], &first.encoded.ids) < shorter {
                break;
            }
            let pairs = ids[start..].iter().zip(reencoded(&ids[start..], start, redone));
            let common = pairs.take_while(|(sampled, reencoded)| *sampled == *reencoded).count();
            if common <= shorter {
                break;
            }
            let tokens = start..(start + common + 2).min(ids.len());
            // What it reaches, it takes in: windows stay apart.
            let mut wide = self.redo(ids, tokens, work)?;
            let reached = |tokens: &Range<usize>| redone.partition_point(|window| window.tokens.start <= tokens.end);
            let mut covered = reached(&wide.tokens);
            while let Some(window) = covered.checked_sub(1).map(|last| &redone[last])
                && window.tokens.end > wide.tokens.end
            {
                wide = self.redo(ids, wide.tokens.start..window.tokens.end, work)?;
                covered = reached(&wide.tokens);
            }
            redone.splice(..covered, [wide]);
        }
        Ok(())
    }

    /// The runs between added tokens that come back equal when decoded and encoded by themselves, as
    /// [`Tokenizer::clean_runs`](crate::tokenizer::Tokenizer) has them.
    pub(super) fn clean_runs(&self, ids: &[u32], redone: &[Redone], work: &mut Work) -> Result<CleanRuns, NotProven> {
        if !self.added_come_back(ids, redone) {
            return Ok(CleanRuns::default());
        }
        let is_added = |id: &u32| self.kinds.of(*id).has(Kind::ADDED);
        // Where nothing differs, a run is encoded as it is in the row, but for a space in front of it: behind an added token
        // whose text is found that would differ, behind another not.
        let whole = 0..ids.len();
        let is_told_by_windows = !self.has_prefix || !self.has_spelled_added;
        let places = redone.iter().map(|window| &window.tokens).filter(|_| is_told_by_windows);
        let places = places.chain((!is_told_by_windows).then_some(&whole));
        let mut runs = CleanRuns { all_clean: true, ..CleanRuns::default() };
        let mut scanned = Scanned::default();
        let mut done = 0;
        for place in places {
            let before = ids.get(done..place.start).unwrap_or_default();
            let mut start = before.iter().rposition(is_added).map_or(done, |at| done + at + 1);
            while start <= place.end {
                let end = ids[start..].iter().position(is_added).map_or(ids.len(), |at| start + at);
                if self.is_clean_run(ids, start..end, redone, &mut scanned, work)? {
                    runs.clean.push(start..end);
                } else {
                    runs.all_clean = false;
                }
                start = end + 1;
                done = start;
            }
        }
        Ok(runs)
    }

    /// Whether a run between added tokens comes back equal by itself.
    fn is_clean_run(
        &self,
        ids: &[u32],
        run: Range<usize>,
        redone: &[Redone],
        scanned: &mut Scanned,
        work: &mut Work,
    ) -> Result<bool, NotProven> {
        // What differs inside of it does so by itself, too: parts of what stays do.
        let behind_start = redone.partition_point(|window| window.tokens.start <= run.start);
        let differs_inside = redone.get(behind_start).is_some_and(|window| window.tokens.end <= run.end);
        Ok(!differs_inside && self.redone(&ids[run], scanned, work)?.is_empty())
    }

    /// Whether the added tokens are the same before and after.
    fn added_come_back(&self, ids: &[u32], redone: &[Redone]) -> bool {
        let is_added = |id: &&u32| self.kinds.of(**id).has(Kind::ADDED);
        let come_back = |window: &Redone| {
            ids[window.tokens.clone()].iter().filter(is_added).eq(window.encoded.ids.iter().filter(is_added))
        };
        if redone.iter().all(come_back) {
            return true;
        }
        ids.iter().filter(is_added).eq(reencoded(ids, 0, redone).filter(is_added))
    }
}

/// What encoding gives instead of `ids`, which begin at `start` of their row; so do the windows, or behind it.
fn reencoded<'r>(ids: &'r [u32], start: usize, redone: &'r [Redone]) -> impl Iterator<Item = &'r u32> {
    let ends = std::iter::once(start).chain(redone.iter().map(|window| window.tokens.end));
    let last = redone.last().map_or(start, |window| window.tokens.end);
    let windows = ends.zip(redone).flat_map(move |(done, window)| {
        ids[done - start..window.tokens.start - start].iter().chain(&window.encoded.ids)
    });
    windows.chain(&ids[last - start..])
}
