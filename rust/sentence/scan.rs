//! The pass over the tokens of a row: which of them need a closer look.

use std::ops::Range;

use super::Sentence;
use super::kinds::Kind;
use super::trie::has;
use crate::pairs::{PairCache, Waiting};
use crate::sources::SPACE_MARKER;

/// Tokens that may not come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Suspect {
    pub(super) tokens: Range<usize>,
    /// A window that ends here or later has settled it: of a pair, one that ends between both, for its edges are looked at.
    pub(super) settled: usize,
}

impl Suspect {
    /// The tokens on both sides of an edge.
    fn pair(edge: usize) -> Self {
        Self { tokens: edge - 1..edge + 1, settled: edge }
    }
}

/// What the scan of a row finds.
#[derive(Default)]
pub(super) struct Scanned {
    /// By the first of their tokens, but that the one before a token may come behind it.
    pub(super) suspects: Vec<Suspect>,
    /// The runs of byte tokens.
    pub(super) byte_runs: Vec<Range<usize>>,
    /// Whether there are added tokens.
    pub(super) has_added: bool,
    /// Edges whose pairs are to be asked.
    waiting: Waiting,
}

impl Scanned {
    fn clear(&mut self) {
        self.suspects.clear();
        self.byte_runs.clear();
        self.has_added = false;
        self.waiting.clear();
    }

    fn push(&mut self, tokens: Range<usize>) {
        let settled = tokens.end;
        self.suspects.push(Suspect { tokens, settled });
    }

    fn push_pair(&mut self, edge: usize) {
        self.suspects.push(Suspect::pair(edge));
    }
}

/// Only the reference may judge the row.
pub(super) struct NotProven;

/// Tokens that are told in one word of bits.
const BLOCK: usize = 64;

impl Sentence {
    /// Look for everything in `ids` that may not come back.
    pub(super) fn scan(&self, ids: &[u32], cache: &mut PairCache, found: &mut Scanned) -> Result<(), NotProven> {
        found.clear();
        let kinds = self.kinds.by_id();
        let mut before = Kind::START;
        let mut all_flags = Kind::default();
        for (block, block_ids) in ids.chunks(BLOCK).enumerate() {
            let mut open = 0u64;
            for (place, &id) in block_ids.iter().enumerate() {
                let kind = kinds[id as usize];
                all_flags = all_flags.or(kind);
                let is_open = !kind.is_plain_beside(before) | self.crossings.may_cross(before, kind);
                open |= u64::from(is_open) << place;
                before = kind;
            }
            while open != 0 {
                let at = block * BLOCK + open.trailing_zeros() as usize;
                open &= open - 1;
                let kind = kinds[ids[at] as usize];
                let before = if at == 0 { Kind::START } else { kinds[ids[at - 1] as usize] };
                if !kind.is_plain_beside(before) {
                    self.look(ids, at, [before, kind], cache, found)?;
                    continue;
                }
                match cache.recall(ids[at - 1], ids[at]) {
                    Some(true) => {}
                    Some(false) => found.push_pair(at),
                    None => self.pairs.wait(ids, at, &mut found.waiting),
                }
            }
            if found.waiting.are_many() {
                self.ask(ids, cache, found);
            }
        }
        self.ask(ids, cache, found);
        if !found.suspects.is_sorted_by_key(|suspect| suspect.tokens.start) {
            found.suspects.sort_by_key(|suspect| suspect.tokens.start);
        }
        found.has_added = all_flags.has(Kind::ADDED);
        Ok(())
    }

    /// Ask the pairs of the edges that wait: those that do not fit are suspects, wherever the others stand.
    fn ask(&self, ids: &[u32], cache: &mut PairCache, found: &mut Scanned) {
        let Scanned { suspects, waiting, .. } = found;
        self.pairs.misfits(ids, waiting, cache, |edge| suspects.push(Suspect::pair(edge)));
    }

    /// Look at a token and its edge with the one before, where the pair is not all there is to say.
    fn look(
        &self,
        ids: &[u32],
        at: usize,
        [before, kind]: [Kind; 2],
        cache: &mut PairCache,
        found: &mut Scanned,
    ) -> Result<(), NotProven> {
        if kind.has(Kind::ODD) {
            return Err(NotProven);
        }
        if kind.is_hard() {
            // Of what the decoder leaves of such a token, one like it may be found that covers more.
            if at == 0 && self.has_prefix && self.bytes(ids[at]).starts_with(b" ") {
                return Err(NotProven);
            }
        } else if before.is_hard() {
            if !self.may_begin_segment(ids, at, kind) {
                found.push(at..at + 1);
            }
        } else if !self.pairs.stay(ids[at - 1], ids[at], cache) {
            found.push_pair(at);
        }
        if kind.has(Kind::BROKEN) {
            found.push(at..at + 1);
        } else if kind.has(Kind::LOOK)
            && let Some(last) = self.added_from(ids, at, kind)
        {
            found.push(at..last + 1);
        }
        if kind.is_byte() && !before.is_byte() {
            self.look_at_bytes(ids, at, found);
        }
        Ok(())
    }

    /// Whether a segment may begin with the token at `at`, of which no pair before it says anything.
    fn may_begin_segment(&self, ids: &[u32], at: usize, kind: Kind) -> bool {
        let is_all = ids.get(at + 1).is_none_or(|&id| self.kinds.of(id).is_hard());
        let has_space = || {
            let bytes = self.bytes(ids[at]);
            // The space that the decoder cuts off is the one that the encoder puts in front of what is left.
            at == 0 && bytes.first() == Some(&b' ') && !(is_all && bytes.len() == 1)
        };
        (!self.has_prefix || has_space()) && !(is_all && kind.has(Kind::ALONE))
    }

    /// The last token of the text of an added token that begins in token `at`, and is not all of an added token there.
    fn added_from(&self, ids: &[u32], at: usize, kind: Kind) -> Option<usize> {
        let own = self.bytes(ids[at]);
        let next = self.bytes(*ids.get(at + 1)?);
        if !next.first().is_some_and(|&byte| self.kinds.may_go_on(kind, byte)) {
            return None;
        }
        let mut text = own.to_vec();
        let mut ends = vec![own.len()];
        for &id in &ids[at + 1..] {
            text.extend_from_slice(self.bytes(id));
            ends.push(text.len());
            if text.len() >= own.len() + self.added.longest() {
                break;
            }
        }
        let starts = if kind.is_hard() { 0..1 } else { 0..own.len() };
        let end = starts
            .filter_map(|start| Some(start + self.added.find(&text[start..])?.len))
            .find(|&end| end > own.len())?;
        Some(at + ends.partition_point(|&token_end| token_end < end))
    }

    /// Look at the run of byte tokens that begins at `start`.
    fn look_at_bytes(&self, ids: &[u32], start: usize, found: &mut Scanned) {
        let len = ids[start..].iter().take_while(|&&id| self.kinds.of(id).is_byte()).count();
        let run = start..start + len;
        let bytes: Vec<u8> = ids[run.clone()].iter().flat_map(|&id| self.bytes(id)).copied().collect();
        let begins = self.added.begins_in(&bytes);
        let next = ids.get(run.end).and_then(|&id| self.bytes(id).first());
        let is_spelled = |c: char| self.letters.of(if c == ' ' { SPACE_MARKER } else { c }).is_some();
        // Where they are no UTF-8, each of them is decoded to a replacement character.
        if std::str::from_utf8(&bytes).map_or(true, |text| text.chars().any(is_spelled))
            || begins.holds_one
            || next.is_some_and(|&byte| has(&begins.goes_on_with, byte))
        {
            found.push(run.clone());
        }
        found.byte_runs.push(run);
    }
}
