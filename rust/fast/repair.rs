//! A row end to end without encoding it: what stays is known by the pairs, and what does not is encoded window by window.

use std::cell::RefCell;
use std::ops::Range;

use crate::align;
use crate::audit::{Finding, Row, RowAudit, flags};
use crate::cause::Drift;
use crate::decode::DecodeTrace;
use crate::engine::Answered;
use crate::fast::Fast;
use crate::fast::local::Buffers;
use crate::fast::scan::Suspect;
use crate::fast::window::Window;
use crate::machine::{BORDER, Edge};
use crate::pairs::PairCache;
use crate::provenance;
use crate::reencode::EncodeTrace;
use crate::tokenizer::Tokenizer;

/// A window whose tokens do not come back.
struct Redone {
    tokens: Range<usize>,
    decoded: DecodeTrace,
    encoded: EncodeTrace,
}

/// What a thread keeps from row to row.
struct Scratch {
    /// The engine that the cache is about.
    engine: u64,
    cache: PairCache,
    suspects: Vec<Suspect>,
    text: Vec<u8>,
    ends: Vec<usize>,
    buffers: Buffers,
}

thread_local! {
    static SCRATCH: RefCell<Option<Box<Scratch>>> = const { RefCell::new(None) };
}

/// What became of a window.
enum Outcome {
    Same,
    Differs(Redone),
    /// Its text is one that only the reference may judge.
    NotProven,
}

impl Tokenizer {
    /// Judge one row by the fast engine; `None` where only the reference may.
    pub(crate) fn audit_fast(&self, fast: &Fast, row: &Row<'_>) -> Option<RowAudit> {
        SCRATCH.with_borrow_mut(|scratch| {
            let scratch = scratch.get_or_insert_with(|| Box::new(Scratch::new(fast.serial)));
            if scratch.engine != fast.serial {
                scratch.cache.clear();
                scratch.engine = fast.serial;
            }
            let redone = self.redone(fast, row.ids, scratch)?;
            Some(self.assembled(fast, row, &redone))
        })
    }

    /// The windows that differ, in order.
    fn redone(&self, fast: &Fast, ids: &[u32], scratch: &mut Scratch) -> Option<Vec<Redone>> {
        let mut suspects = std::mem::take(&mut scratch.suspects);
        fast.scan(ids, &mut scratch.cache, &mut suspects);
        let mut all: Vec<Redone> = Vec::new();
        let mut looked = 0;
        for suspect in &suspects {
            if suspect.edge < looked || !suspect.bad_pair && fast.is_cleared(ids, suspect.edge, &mut scratch.cache) {
                continue;
            }
            let mut window = fast.window(ids, suspect.edge);
            if let Some(last) = all.pop_if(|last| last.tokens.end > window.tokens.start) {
                window = fast.grown(ids, last.tokens.start..window.tokens.end);
            }
            looked = window.tokens.end;
            match self.redo(fast, ids, window, scratch) {
                Outcome::Same => {}
                Outcome::Differs(redone) => all.push(redone),
                Outcome::NotProven => return None,
            }
        }
        scratch.suspects = suspects;
        Some(all)
    }

    /// Encode a window by itself.
    fn redo(&self, fast: &Fast, ids: &[u32], window: Window, scratch: &mut Scratch) -> Outcome {
        let Window { tokens, holds_added } = window;
        let ids = &ids[tokens.clone()];
        let Scratch { cache, text, ends, buffers, .. } = scratch;
        text.clear();
        ends.clear();
        let mut is_whole = !holds_added;
        for &id in ids {
            let bytes = fast.texts.bytes(id);
            is_whole &= !bytes.is_empty();
            text.extend_from_slice(bytes);
            ends.push(text.len());
        }
        let decoded = if let Ok(text) = std::str::from_utf8(text) {
            if !fast.normal.keeps(text) {
                return Outcome::NotProven;
            }
            if is_whole && fast.stays(ids, ends, text, cache, buffers) {
                return Outcome::Same;
            }
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let ranges = starts.zip(ends.iter()).map(|(start, &end)| start..end).collect();
            DecodeTrace { text: text.to_owned(), ranges, invalid: Vec::new() }
        } else {
            let decoded = self.trace_surfaces(ids);
            if !fast.normal.keeps(&decoded.text) {
                return Outcome::NotProven;
            }
            // The ends of the tokens are no longer places in the text.
            ends.clear();
            decoded
        };
        let encoded = if holds_added {
            self.trace_encode(&decoded.text).ok()
        } else {
            fast.encode_locally(ids, ends, &decoded.text, cache, buffers)
        };
        match encoded {
            None => Outcome::NotProven,
            Some(encoded) if encoded.ids == ids => Outcome::Same,
            // An added token that another one can reach into: whether the row is an artefact is not told by windows.
            Some(_) if ids.iter().any(|&id| self.added(id).is_some()) => Outcome::NotProven,
            Some(encoded) => Outcome::Differs(Redone { tokens, decoded, encoded }),
        }
    }

    /// Put the windows into their row.
    fn assembled(&self, fast: &Fast, row: &Row<'_>, redone: &[Redone]) -> RowAudit {
        let mut audit = RowAudit { engine: Answered::Fast, located: true, ..RowAudit::default() };
        let owners = row.owners.or(row.mask);
        if let Some(owners) = owners {
            audit.shared_characters = fast.shared_between_tokens(row.ids, owners, redone.iter().map(|r| &r.tokens));
        }
        if redone.is_empty() {
            return audit;
        }
        let length = |ids: &[u32]| ids.iter().map(|&id| fast.texts.bytes(id).len()).sum::<usize>();
        let mut done = 0;
        let mut byte = 0;
        let end_byte = redone.iter().fold((0, 0), |(bytes, done), window| {
            (bytes + length(&row.ids[done..window.tokens.start]) + window.decoded.text.len(), window.tokens.end)
        });
        let end_byte = end_byte.0 + length(&row.ids[end_byte.1..]);
        for window in redone {
            let between = &row.ids[done..window.tokens.start];
            audit.reencoded.extend_from_slice(between);
            byte += length(between);
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
        audit.invalid_utf8 |= !decoded.invalid.is_empty();
        audit.unknown.extend(tokens.clone().filter(|&at| self.is_unknown(row.ids[at])));
        let first = audit.reencoded.len();
        let drift =
            Drift { tokenizer: self, ids, decoded: Some(decoded), encoded, clean_runs: &[], artefact: false };
        let spans = align::laid_out(ids, Some(decoded), encoded);
        let causes = drift.causes(&spans);
        for (mut span, cause) in spans.into_iter().zip(causes) {
            let invalid = drift.invalid(&span).iter().map(|at| at.start + byte..at.end + byte).collect::<Vec<_>>();
            span.sampled = span.sampled.start + tokens.start..span.sampled.end + tokens.start;
            span.reencoded = span.reencoded.start + first..span.reencoded.end + first;
            span.bytes = span.bytes.map(|bytes| bytes.start + byte..bytes.end + byte);
            let flags = flags(row, &span, cause, &invalid, end_byte);
            audit.findings.push(Finding { span, cause, flags });
        }
        let owned = |owners: Option<&[u8]>| {
            owners.map(|owners| provenance::owner_of_bytes(decoded.text.len(), &decoded.ranges, &owners[tokens.clone()]))
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

impl Fast {
    /// Whether a suspicious edge is one only because the text of an added token may begin behind it, and none does.
    fn is_cleared(&self, ids: &[u32], edge: usize, cache: &mut PairCache) -> bool {
        let Some(&right) = ids.get(edge) else { return false };
        let left = if edge == 0 { BORDER } else { self.kinds.of(ids[edge - 1]) };
        let kind = self.kinds.of(right);
        let stays = match self.kinds.plain_edge(left, kind) {
            Edge::Boundary => true,
            Edge::Pair => self.stay(ids[edge - 1], right, cache),
            Edge::Unknown => false,
        };
        stays && self.added_from(ids, edge).is_none()
    }

    /// Number of characters, outside the windows, whose bytes come from tokens of several owners.
    fn shared_between_tokens<'w>(
        &self,
        ids: &[u32],
        owners: &[u8],
        windows: impl Iterator<Item = &'w Range<usize>>,
    ) -> usize {
        let mut windows = windows.peekable();
        let mut shared = 0;
        let mut last = None;
        let mut edge = 0;
        while let Some(next) = next_change(owners, edge) {
            edge = next;
            while windows.next_if(|window| window.end <= edge).is_some() {}
            if windows.peek().is_some_and(|window| window.start < edge) || !self.begins_inside_character(ids[edge]) {
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

impl Scratch {
    fn new(engine: u64) -> Self {
        Self {
            engine,
            cache: PairCache::new(),
            suspects: Vec::new(),
            text: Vec::new(),
            ends: Vec::new(),
            buffers: Buffers::default(),
        }
    }
}
