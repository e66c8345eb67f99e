//! Results as columns: one set of arrays per row, per span and per straddling token.

use crate::audit::{Pipeline, PipelineOptions, RowAudit};
use crate::cause::Cause;
use crate::engine::Answered;
use crate::error::Result;
use crate::realised::{Kind, Realised};

/// No cause, among indices into [`Cause::ALL`].
pub const NO_CAUSE: u8 = u8::MAX;

/// A position or a length as arrays carry it; -1 for none.
fn entry(value: Option<usize>) -> i64 {
    value.map_or(-1, |value| i64::try_from(value).expect("lengths of arrays fit 63 bits"))
}

/// Lists of different lengths, end to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ragged<T> {
    /// All values.
    pub values: Vec<T>,
    /// Where each list starts, and the end of the last.
    pub offsets: Vec<i64>,
}

impl<T> Default for Ragged<T> {
    fn default() -> Self {
        Self { values: Vec::new(), offsets: vec![0] }
    }
}

impl<T> Ragged<T> {
    fn push(&mut self, values: impl IntoIterator<Item = T>) {
        self.values.extend(values);
        self.offsets.push(entry(Some(self.values.len())));
    }

    fn append(&mut self, part: Self) {
        append_offsets(&mut self.offsets, &part.offsets);
        self.values.extend(part.values);
    }
}

/// Lists behind those that `offsets` tells of.
fn append_offsets(offsets: &mut Vec<i64>, part: &[i64]) {
    let base = offsets.last().copied().unwrap_or_default();
    offsets.extend(part.iter().skip(1).map(|offset| base + offset));
}

/// Drift spans of all rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanColumns {
    /// Where the spans of each row start, and the end of the last.
    pub offsets: Vec<i64>,
    /// Index into [`Cause::ALL`].
    pub cause: Vec<u8>,
    /// Bit set of [`crate::audit::Flags`].
    pub flags: Vec<u16>,
    /// First sampled token.
    pub token_start: Vec<i64>,
    /// End of the sampled tokens.
    pub token_stop: Vec<i64>,
    /// First re-encoded token.
    pub reencoded_start: Vec<i64>,
    /// End of the re-encoded tokens.
    pub reencoded_stop: Vec<i64>,
    /// First byte of D, -1 where it cannot be placed.
    pub byte_start: Vec<i64>,
    /// End of the bytes, -1 where they cannot be placed.
    pub byte_stop: Vec<i64>,
}

/// Straddling tokens of all rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StraddlingColumns {
    /// Where those of each row start, and the end of the last.
    pub offsets: Vec<i64>,
    /// Index among the row's re-encoded ids.
    pub index: Vec<i64>,
    /// The re-encoded id.
    pub id: Vec<u32>,
    /// First byte of D.
    pub byte_start: Vec<i64>,
    /// End of the bytes.
    pub byte_stop: Vec<i64>,
    /// Mask value per byte.
    pub mask: Ragged<i8>,
    /// Owner per byte, with the offsets of `mask`.
    pub owner: Vec<i16>,
}

/// The second exposure of all rows; empty where none was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PipelineColumns {
    /// Whether the row drifts.
    pub drifted: Vec<bool>,
    /// First difference, -1 where clean.
    pub first_diff: Vec<i64>,
    /// Index into [`Cause::ALL`] or [`NO_CAUSE`].
    pub cause: Vec<u8>,
    /// The re-encoded ids.
    pub ids: Ragged<u32>,
    /// Positions of dropped ids.
    pub lost: Ragged<i64>,
}

/// What a batch of rows became.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditColumns {
    /// Index into [`crate::engine::Answered::NAMES`]: which engine answered, no part of the verdict either.
    pub engine: Vec<u8>,
    /// Whether the row drifts.
    pub drifted: Vec<bool>,
    /// Whether it does only because of spaces beside control tokens.
    pub artefact: Vec<bool>,
    /// Whether its re-encoded tokens can be placed on D.
    pub located: Vec<bool>,
    /// Whether its bytes are no UTF-8.
    pub invalid_utf8: Vec<bool>,
    /// First difference, -1 where clean.
    pub first_diff: Vec<i64>,
    /// Bytes of text encoded to judge the row: the work it took, no part of the verdict.
    pub encoded_bytes: Vec<i64>,
    /// Re-encoded tokens with several owners but one mask value.
    pub n_owner_crossing: Vec<i64>,
    /// Characters with several owners.
    pub n_shared_chars: Vec<i64>,
    /// The re-encoded ids of drifting rows; nothing for a clean one, whose own ids they are.
    pub reencoded: Ragged<u32>,
    /// Positions of ids outside the vocabulary.
    pub unknown: Ragged<i64>,
    /// Drift spans.
    pub spans: SpanColumns,
    /// Straddling tokens.
    pub straddling: StraddlingColumns,
    /// The second exposure.
    pub pipeline: PipelineColumns,
    /// Rows on which the reference failed, with its words.
    pub errors: Vec<(usize, String)>,
}

impl AuditColumns {
    /// Empty, with room for `rows` rows and for their `tokens` re-encoded ids, should they all drift: these are most of what
    /// there is to lay out, and memory that is not written to costs nothing.
    pub(crate) fn with_room(rows: usize, tokens: usize) -> Self {
        let mut columns = Self::default();
        columns.engine.reserve(rows);
        for flags in [&mut columns.drifted, &mut columns.artefact, &mut columns.located, &mut columns.invalid_utf8] {
            flags.reserve(rows);
        }
        let numbers = [
            &mut columns.first_diff,
            &mut columns.encoded_bytes,
            &mut columns.n_owner_crossing,
            &mut columns.n_shared_chars,
            &mut columns.reencoded.offsets,
            &mut columns.unknown.offsets,
            &mut columns.spans.offsets,
            &mut columns.straddling.offsets,
        ];
        for column in numbers {
            column.reserve(rows);
        }
        columns.reencoded.values.reserve(tokens);
        columns
    }

    /// Lay out the next row; one that failed is clean and empty but for its entry in `errors`.
    pub(crate) fn push(&mut self, row: Result<&RowAudit>, options: PipelineOptions) {
        let failed;
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                self.errors.push((self.drifted.len(), error.to_string()));
                failed = RowAudit { pipeline: options.any().then(Pipeline::default), ..RowAudit::default() };
                &failed
            }
        };
        self.engine.push(row.engine.index());
        self.drifted.push(row.first_diff.is_some());
        self.artefact.push(row.artefact);
        self.located.push(row.located);
        self.invalid_utf8.push(row.invalid_utf8);
        self.first_diff.push(entry(row.first_diff));
        self.encoded_bytes.push(entry(Some(row.encoded_bytes)));
        self.n_owner_crossing.push(entry(Some(row.owner_crossing)));
        self.n_shared_chars.push(entry(Some(row.shared_characters)));
        self.reencoded.push(row.reencoded.iter().copied());
        self.unknown.push(row.unknown.iter().map(|&position| entry(Some(position))));
        self.spans.push(row);
        self.straddling.push(row);
        if let Some(pipeline) = &row.pipeline {
            self.pipeline.push(pipeline);
        }
    }

    /// Lay out the next rows, so many that are clean, as the fast engine says.
    pub(crate) fn push_clean(&mut self, rows: usize) {
        let all = self.drifted.len() + rows;
        self.engine.resize(all, Answered::Fast.index());
        self.drifted.resize(all, false);
        self.artefact.resize(all, false);
        self.located.resize(all, true);
        self.invalid_utf8.resize(all, false);
        self.first_diff.resize(all, entry(None));
        for column in [&mut self.encoded_bytes, &mut self.n_owner_crossing, &mut self.n_shared_chars] {
            column.resize(all, 0);
        }
        let (reencoded, unknown) = (&mut self.reencoded.offsets, &mut self.unknown.offsets);
        for offsets in [reencoded, unknown, &mut self.spans.offsets, &mut self.straddling.offsets] {
            let end = offsets.last().copied().unwrap_or_default();
            offsets.resize(all + 1, end);
        }
    }

    /// Put rows that were worked on apart end to end.
    pub(crate) fn joined(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let mut whole = parts.next().unwrap_or_default();
        for part in parts {
            whole.append(part);
        }
        whole
    }

    fn append(&mut self, part: Self) {
        let rows = self.drifted.len();
        self.engine.extend(part.engine);
        self.drifted.extend(part.drifted);
        self.artefact.extend(part.artefact);
        self.located.extend(part.located);
        self.invalid_utf8.extend(part.invalid_utf8);
        self.first_diff.extend(part.first_diff);
        self.encoded_bytes.extend(part.encoded_bytes);
        self.n_owner_crossing.extend(part.n_owner_crossing);
        self.n_shared_chars.extend(part.n_shared_chars);
        self.reencoded.append(part.reencoded);
        self.unknown.append(part.unknown);
        self.spans.append(part.spans);
        self.straddling.append(part.straddling);
        self.pipeline.append(part.pipeline);
        self.errors.extend(part.errors.into_iter().map(|(row, error)| (rows + row, error)));
    }
}

fn index_of(cause: Cause) -> u8 {
    let index = Cause::ALL.iter().position(|&other| other == cause);
    index.and_then(|index| u8::try_from(index).ok()).expect("ALL holds every cause")
}

impl Default for SpanColumns {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            cause: Vec::new(),
            flags: Vec::new(),
            token_start: Vec::new(),
            token_stop: Vec::new(),
            reencoded_start: Vec::new(),
            reencoded_stop: Vec::new(),
            byte_start: Vec::new(),
            byte_stop: Vec::new(),
        }
    }
}

impl SpanColumns {
    fn append(&mut self, part: Self) {
        append_offsets(&mut self.offsets, &part.offsets);
        self.cause.extend(part.cause);
        self.flags.extend(part.flags);
        self.token_start.extend(part.token_start);
        self.token_stop.extend(part.token_stop);
        self.reencoded_start.extend(part.reencoded_start);
        self.reencoded_stop.extend(part.reencoded_stop);
        self.byte_start.extend(part.byte_start);
        self.byte_stop.extend(part.byte_stop);
    }

    fn push(&mut self, row: &RowAudit) {
        for finding in &row.findings {
            let span = &finding.span;
            self.cause.push(index_of(finding.cause));
            self.flags.push(finding.flags.0);
            self.token_start.push(entry(Some(span.sampled.start)));
            self.token_stop.push(entry(Some(span.sampled.end)));
            self.reencoded_start.push(entry(Some(span.reencoded.start)));
            self.reencoded_stop.push(entry(Some(span.reencoded.end)));
            self.byte_start.push(entry(span.bytes.as_ref().map(|bytes| bytes.start)));
            self.byte_stop.push(entry(span.bytes.as_ref().map(|bytes| bytes.end)));
        }
        self.offsets.push(entry(Some(self.cause.len())));
    }
}

impl Default for StraddlingColumns {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            index: Vec::new(),
            id: Vec::new(),
            byte_start: Vec::new(),
            byte_stop: Vec::new(),
            mask: Ragged::default(),
            owner: Vec::new(),
        }
    }
}

impl StraddlingColumns {
    fn append(&mut self, part: Self) {
        append_offsets(&mut self.offsets, &part.offsets);
        self.index.extend(part.index);
        self.id.extend(part.id);
        self.byte_start.extend(part.byte_start);
        self.byte_stop.extend(part.byte_stop);
        self.mask.append(part.mask);
        self.owner.extend(part.owner);
    }

    fn push(&mut self, row: &RowAudit) {
        for token in &row.straddling {
            self.index.push(entry(Some(token.index)));
            self.id.push(row.reencoded[token.index]);
            self.byte_start.push(entry(Some(token.bytes.start)));
            self.byte_stop.push(entry(Some(token.bytes.end)));
            self.mask.push(token.mask.iter().map(|&value| i8::try_from(value).expect("a mask value is -1, 0 or 1")));
            self.owner.extend_from_slice(&token.owner);
        }
        self.offsets.push(entry(Some(self.index.len())));
    }
}

impl PipelineColumns {
    fn append(&mut self, part: Self) {
        self.drifted.extend(part.drifted);
        self.first_diff.extend(part.first_diff);
        self.cause.extend(part.cause);
        self.ids.append(part.ids);
        self.lost.append(part.lost);
    }

    fn push(&mut self, row: &Pipeline) {
        self.drifted.push(row.first_diff.is_some());
        self.first_diff.push(entry(row.first_diff));
        self.cause.push(row.cause.map_or(NO_CAUSE, index_of));
        self.ids.push(row.ids.iter().copied());
        self.lost.push(row.lost.iter().map(|&position| entry(Some(position))));
    }
}

/// The kind of a row on which the reference failed: its ids differ, and how is not known.
pub const UNKNOWN_KIND: u8 = u8::MAX;
/// The cause of a span of a row whose text changed.
pub const TEXT_CHANGED: u8 = u8::MAX;

/// What the trainer scored beside what was sampled, of a batch of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealisedColumns {
    /// 0 identical, 1 retokenized, 2 truncated, 3 rewritten, or [`UNKNOWN_KIND`].
    pub kind: Vec<u8>,
    /// First difference, -1 where identical.
    pub first_diff: Vec<i64>,
    /// Where the trained ids begin in the sampled ones.
    pub kept_start: Vec<i64>,
    /// Sampled tokens that a truncated row lost.
    pub lost: Vec<i64>,
    /// Where the spans of each row start, and the end of the last.
    pub span_offsets: Vec<i64>,
    /// Index into [`Cause::ALL`], or [`TEXT_CHANGED`].
    pub span_cause: Vec<u8>,
    /// First sampled token.
    pub span_token_start: Vec<i64>,
    /// End of the sampled tokens.
    pub span_token_stop: Vec<i64>,
    /// First trained token.
    pub span_trained_start: Vec<i64>,
    /// End of the trained tokens.
    pub span_trained_stop: Vec<i64>,
    /// First byte of D, -1 without a common axis.
    pub span_byte_start: Vec<i64>,
    /// End of the bytes, -1 without a common axis.
    pub span_byte_stop: Vec<i64>,
    /// Trained tokens with mask 1 over bytes of mask 0, -1 where a mask is missing.
    pub wrong_trained: Vec<i64>,
    /// Trained tokens with mask 0 over bytes of mask 1, -1 likewise.
    pub wrong_untrained: Vec<i64>,
    /// Trained tokens over bytes of both, -1 likewise.
    pub straddling: Vec<i64>,
    /// Positions of wrong tokens among the trained ids.
    pub wrong: Ragged<i64>,
    /// Rows on which the reference failed, with its words.
    pub errors: Vec<(usize, String)>,
}

impl RealisedColumns {
    /// Lay out the results of rows in order.
    pub fn new(rows: Vec<Result<Realised>>) -> Self {
        let mut columns = Self {
            kind: Vec::with_capacity(rows.len()),
            first_diff: Vec::with_capacity(rows.len()),
            kept_start: Vec::with_capacity(rows.len()),
            lost: Vec::with_capacity(rows.len()),
            span_offsets: vec![0],
            span_cause: Vec::new(),
            span_token_start: Vec::new(),
            span_token_stop: Vec::new(),
            span_trained_start: Vec::new(),
            span_trained_stop: Vec::new(),
            span_byte_start: Vec::new(),
            span_byte_stop: Vec::new(),
            wrong_trained: Vec::with_capacity(rows.len()),
            wrong_untrained: Vec::with_capacity(rows.len()),
            straddling: Vec::with_capacity(rows.len()),
            wrong: Ragged::default(),
            errors: Vec::new(),
        };
        for (index, row) in rows.into_iter().enumerate() {
            let row = row.map_err(|error| columns.errors.push((index, error.to_string()))).ok();
            columns.push(row.as_ref());
        }
        columns
    }

    fn push(&mut self, row: Option<&Realised>) {
        self.kind.push(row.map_or(UNKNOWN_KIND, |row| match row.kind {
            Kind::Identical => 0,
            Kind::Retokenized => 1,
            Kind::Truncated => 2,
            Kind::Rewritten => 3,
        }));
        self.first_diff.push(entry(row.and_then(|row| row.first_diff)));
        self.kept_start.push(entry(row.map_or(Some(0), |row| Some(row.kept_start))));
        self.lost.push(entry(row.map_or(Some(0), |row| Some(row.lost))));
        for (span, cause) in row.into_iter().flat_map(|row| row.spans.iter().zip(&row.causes)) {
            self.span_cause.push(cause.map_or(TEXT_CHANGED, index_of));
            self.span_token_start.push(entry(Some(span.sampled.start)));
            self.span_token_stop.push(entry(Some(span.sampled.end)));
            self.span_trained_start.push(entry(Some(span.reencoded.start)));
            self.span_trained_stop.push(entry(Some(span.reencoded.end)));
            self.span_byte_start.push(entry(span.bytes.as_ref().map(|bytes| bytes.start)));
            self.span_byte_stop.push(entry(span.bytes.as_ref().map(|bytes| bytes.end)));
        }
        self.span_offsets.push(entry(Some(self.span_cause.len())));
        let mask = row.and_then(|row| row.mask.as_ref());
        self.wrong_trained.push(entry(mask.map(|mask| mask.trained)));
        self.wrong_untrained.push(entry(mask.map(|mask| mask.untrained)));
        self.straddling.push(entry(mask.map(|mask| mask.straddling)));
        self.wrong.push(mask.into_iter().flat_map(|mask| &mask.positions).map(|&position| entry(Some(position))));
    }
}
