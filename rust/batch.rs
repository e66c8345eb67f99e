//! Many rows as ragged arrays.

use std::ops::Range;

use crate::audit::{PipelineOptions, Row, RowAudit};
use crate::columns::AuditColumns;
use crate::engine::Engine;
use crate::error::{Error, Result, guarded};
use crate::pool::{self, shares};
use crate::provenance_columns::ProvenanceColumns;
use crate::realised::{Pair, Realised};
use crate::tokenizer::Tokenizer;

/// Tokens of rows that are read at once.
const BLOCK: usize = 1 << 12;
/// So many rows of a block are short: they are looked at all at once first.
const MANY: usize = 32;

/// Ids of any of the widths that arrays of them come in.
#[derive(Debug, Clone, Copy)]
pub enum Ids<'a> {
    /// 64 bits, signed.
    I64(&'a [i64]),
    /// 32 bits, signed.
    I32(&'a [i32]),
    /// 32 bits, unsigned.
    U32(&'a [u32]),
}

impl Ids<'_> {
    /// Number of ids of all rows.
    pub fn len(&self) -> usize {
        match self {
            Self::I64(ids) => ids.len(),
            Self::I32(ids) => ids.len(),
            Self::U32(ids) => ids.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids of one row as the tokenizer knows them. Each is read once, so an array that changes meanwhile gives some
    /// verdict, never a fault.
    pub(crate) fn row(&self, tokenizer: &Tokenizer, range: Range<usize>) -> Vec<u32> {
        let mut row = Vec::new();
        self.read(tokenizer, range, &mut row);
        row
    }

    /// The same of several rows, into a buffer.
    fn read(&self, tokenizer: &Tokenizer, range: Range<usize>, read: &mut Vec<u32>) {
        let known = tokenizer.knowing();
        read.clear();
        match self {
            Self::I64(ids) => read.extend(ids[range].iter().map(|&id| known.id(id))),
            Self::I32(ids) => read.extend(ids[range].iter().map(|&id| known.id(id.into()))),
            Self::U32(ids) => read.extend(ids[range].iter().map(|&id| known.id_of_32_bits(id))),
        }
    }

    /// The ids of one row as they were handed over, each read once too.
    fn original(&self, range: Range<usize>) -> Vec<i64> {
        match self {
            Self::I64(ids) => ids[range].to_vec(),
            Self::I32(ids) => ids[range].iter().map(|&id| id.into()).collect(),
            Self::U32(ids) => ids[range].iter().map(|&id| id.into()).collect(),
        }
    }
}

/// Rows end to end: row `i` is `ids[offsets[i]..offsets[i + 1]]`, and the other arrays run along with `ids`.
#[derive(Debug, Clone)]
pub struct Batch<'a> {
    ids: Ids<'a>,
    offsets: Vec<usize>,
    /// 0 or 1 per id.
    mask: Option<&'a [u8]>,
    /// Owner per id; by default the mask.
    owners: Option<&'a [u8]>,
    /// Number of prompt ids per row, negative for none.
    joins: Option<&'a [i64]>,
    /// Per row, whether it lacks what stood before it.
    row_start: Option<&'a [bool]>,
}

impl<'a> Batch<'a> {
    /// Check that the arrays fit together.
    ///
    /// # Errors
    /// [`Error::Ragged`] where `offsets` do not tile `ids` or an array has another length.
    pub fn new(ids: Ids<'a>, offsets: &[i64]) -> Result<Self> {
        let offsets: Option<Vec<usize>> = offsets.iter().map(|&offset| usize::try_from(offset).ok()).collect();
        let offsets = offsets
            .filter(|offsets| offsets.first() == Some(&0) && offsets.last() == Some(&ids.len()) && offsets.is_sorted())
            .ok_or_else(|| {
                let len = ids.len();
                Error::Ragged(format!(
                    "offsets must rise from 0 to the number of ids ({len}), one more entry than rows"
                ))
            })?;
        Ok(Self { ids, offsets, mask: None, owners: None, joins: None, row_start: None })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Give every id its mask value.
    ///
    /// # Errors
    /// [`Error::Ragged`] for another length or a value that is neither 0 nor 1.
    pub fn with_mask(mut self, mask: Option<&'a [u8]>) -> Result<Self> {
        check_length("mask", mask, self.ids.len())?;
        // All at once first: the search for a place stops at each entry.
        let is_wrong = mask.is_some_and(|mask| mask.iter().fold(0, |bits, value| bits | value) > 1);
        if let Some(at) = mask.filter(|_| is_wrong).and_then(|mask| mask.iter().position(|&value| value > 1)) {
            return Err(Error::Ragged(format!("mask must be 0 or 1 everywhere, position {at} is not")));
        }
        self.mask = mask;
        Ok(self)
    }

    /// Give every id its owner.
    ///
    /// # Errors
    /// [`Error::Ragged`] for another length.
    pub fn with_owners(mut self, owners: Option<&'a [u8]>) -> Result<Self> {
        check_length("owners", owners, self.ids.len())?;
        self.owners = owners;
        Ok(self)
    }

    /// Say where prompt and response meet, and which rows lack their context.
    ///
    /// # Errors
    /// [`Error::Ragged`] for another length.
    pub fn with_context(mut self, joins: Option<&'a [i64]>, row_start: Option<&'a [bool]>) -> Result<Self> {
        check_length("joins", joins, self.rows())?;
        check_length("row_start", row_start, self.rows())?;
        self.joins = joins;
        self.row_start = row_start;
        Ok(self)
    }

    /// Judge every row, in order, over `threads` threads, with the engine that `engine` allows.
    pub fn audit(
        &self,
        tokenizer: &Tokenizer,
        options: PipelineOptions,
        engine: Engine,
        threads: usize,
    ) -> AuditColumns {
        let shares = shares(&self.offsets, threads);
        AuditColumns::joined(pool::map(shares.len(), threads, |share| {
            let rows = shares[share].clone();
            let mut columns = AuditColumns::with_room(rows.len(), self.offsets[rows.end] - self.offsets[rows.start]);
            let (mut ids, mut mask, mut owners) = (Vec::new(), Vec::new(), Vec::new());
            let (mut audit, mut clean) = (RowAudit::default(), Vec::new());
            for rows in self.blocks(rows) {
                // Copied, the mask like the ids: one that changes under way must not give one row two masks.
                let read = self.offsets[rows.start]..self.offsets[rows.end];
                self.ids.read(tokenizer, read.clone(), &mut ids);
                let mask = self.mask.map(|all| copied(all[read.clone()].iter().map(|&value| value.min(1)), &mut mask));
                let owners = self.owners.map(|all| copied(all[read.clone()].iter().copied(), &mut owners));
                clean.clear();
                if rows.len() >= MANY && !options.any() {
                    let offsets = &self.offsets[rows.start..=rows.end];
                    tokenizer.surely_clean(engine, &ids, offsets, &mut clean);
                }
                let mut told = 0;
                for index in rows.clone() {
                    if clean.get(index - rows.start) == Some(&true) {
                        told += 1;
                        continue;
                    }
                    columns.push_clean(std::mem::take(&mut told));
                    let own = self.offsets[index] - read.start..self.offsets[index + 1] - read.start;
                    let row = Row {
                        ids: &ids[own.clone()],
                        mask: mask.map(|mask| &mask[own.clone()]),
                        owners: owners.map(|owners| &owners[own]),
                        join: self.joins.and_then(|joins| usize::try_from(joins[index]).ok()).filter(|&join| join > 0),
                        lacks_context: self.row_start.is_some_and(|row_start| row_start[index]),
                    };
                    let judged = tokenizer.audit_into(&mut audit, &row, options, engine);
                    columns.push(judged.map(|()| &audit), options);
                }
                columns.push_clean(told);
            }
            columns
        }))
    }

    /// Cut rows into runs that are read at once: a loop for each of many short rows takes longer than what it reads.
    fn blocks(&self, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut next = rows.start;
        std::iter::from_fn(move || {
            let first = (next < rows.end).then_some(next)?;
            let full = self.offsets[first] + BLOCK;
            next = self.offsets[..rows.end].partition_point(|&start| start < full).max(first + 1);
            Some(first..next)
        })
    }

    /// Give every byte of every row its owner and token, in order, over `threads` threads.
    pub fn provenance(&self, tokenizer: &Tokenizer, threads: usize) -> ProvenanceColumns {
        let shares = shares(&self.offsets, threads);
        ProvenanceColumns::joined(pool::map(shares.len(), threads, |share| {
            let mut columns = ProvenanceColumns::default();
            for row in shares[share].clone() {
                let range = self.range(row);
                let ids = self.ids.row(tokenizer, range.clone());
                columns.push(tokenizer, &ids, self.owners.map(|owners| &owners[range]));
            }
            columns
        }))
    }

    /// Compare every row with what was trained in its place, in order, over `threads` threads.
    ///
    /// # Errors
    /// [`Error::Ragged`] where `trained` has another number of rows.
    pub fn realised(
        &self,
        trained: &Batch<'_>,
        tokenizer: &Tokenizer,
        threads: usize,
    ) -> Result<Vec<Result<Realised>>> {
        if trained.rows() != self.rows() {
            let (found, expected) = (trained.rows(), self.rows());
            return Err(Error::Ragged(format!("there are trained ids of {found} rows and sampled ids of {expected}")));
        }
        Ok(self.map(threads, |index| {
            let (mask, train_mask) = (self.mask_of(index), trained.mask_of(index));
            let pair = Pair {
                sampled: &self.ids.original(self.range(index)),
                trained: &trained.ids.original(trained.range(index)),
                mask: mask.as_deref(),
                train_mask: train_mask.as_deref(),
            };
            tokenizer.realised(&pair)
        }))
    }

    fn range(&self, index: usize) -> Range<usize> {
        self.offsets[index]..self.offsets[index + 1]
    }

    /// Copied like the ids: a mask that changes under way must not give one row two masks.
    fn mask_of(&self, index: usize) -> Option<Vec<u8>> {
        self.mask.map(|mask| mask[self.range(index)].iter().map(|&value| value.min(1)).collect())
    }

    /// Work on every row; a row on which the reference panics is an error of that row alone.
    fn map<T: Send>(&self, threads: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Vec<Result<T>> {
        pool::map(self.rows(), threads, |index| guarded(|| work(index)))
    }
}

fn copied(values: impl Iterator<Item = u8>, row: &mut Vec<u8>) -> &[u8] {
    row.clear();
    row.extend(values);
    row
}

fn check_length<T>(name: &str, array: Option<&[T]>, expected: usize) -> Result<()> {
    match array {
        Some(array) if array.len() != expected => {
            Err(Error::Ragged(format!("{name} has {} entries where {expected} are needed", array.len())))
        }
        _ => Ok(()),
    }
}
