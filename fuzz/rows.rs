//! Bytes of the fuzzer as rows of ids: every input is some batch, and a small change of it a small change of the batch.

use std::fmt;

use tito_audit::audit::PipelineOptions;
use tito_audit::batch::{Batch, Ids};
use tito_audit::columns::AuditColumns;
use tito_audit::engine::Engine;

use crate::known::Known;

/// Tokens of all rows at most: the reference needs its time for each.
const LONGEST: usize = 4096;

/// Some rows of a tokenizer.
pub struct Rows<'a> {
    known: &'a Known,
    ids: Vec<i64>,
    offsets: Vec<i64>,
    mask: Option<Vec<u8>>,
    owners: Option<Vec<u8>>,
    joins: Option<Vec<i64>>,
    row_start: Option<Vec<bool>>,
    options: PipelineOptions,
}

/// The input, read byte by byte; behind its end are zeros.
struct Input<'a>(std::slice::Iter<'a, u8>);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or_default()
    }

    fn wide(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }
}

impl<'a> Rows<'a> {
    /// Read an input: a tokenizer, flags, then one byte per token and more for what is no nasty token.
    pub fn new(data: &[u8], known: &'a [Known]) -> Option<Self> {
        let (&[which, flags], rest) = data.split_first_chunk::<2>()?;
        let known = known.get(usize::from(which) % known.len().max(1))?;
        let mut rows = Self {
            known,
            ids: Vec::new(),
            offsets: vec![0],
            mask: (flags & 1 != 0).then(Vec::new),
            owners: (flags & 2 != 0).then(Vec::new),
            joins: None,
            row_start: None,
            options: PipelineOptions {
                skip_special_tokens: flags & 0x30 == 0x30,
                clean_up_tokenization_spaces: flags & 0x50 == 0x50,
            },
        };
        let mut input = Input(rest.iter());
        let mut turn = 0;
        while input.0.len() > 0 && rows.ids.len() < LONGEST {
            rows.step(&mut input, &mut turn);
            // In some inputs every step is a turn of its own, so that edges fall inside of characters.
            turn = if flags & 0x80 == 0 { turn } else { turn.wrapping_add(1) };
            rows.own(turn);
        }
        rows.end_row();
        let count = rows.offsets.len() - 1;
        let size = |row: usize| rows.offsets[row + 1] - rows.offsets[row];
        rows.joins = (flags & 4 != 0).then(|| (0..count).map(|row| size(row) / 2).collect());
        rows.row_start = (flags & 8 != 0).then(|| (0..count).map(|row| row % 2 == 0).collect());
        Some(rows)
    }

    /// Read one instruction.
    fn step(&mut self, input: &mut Input<'_>, turn: &mut u8) {
        let known = self.known;
        let last = self.ids.last().copied();
        match input.byte() {
            byte @ 0..0xC0 => self.ids.extend(known.nasty.get(usize::from(byte) % known.nasty.len().max(1))),
            0xC0..0xD8 => self.ids.push(i64::from(input.wide()) * known.size / 0x1_0000),
            0xD8..0xE0 => self.ids.extend(std::iter::repeat_n(last.unwrap_or_default(), input.byte().into())),
            0xE0..0xF0 => {
                let size = usize::from(input.byte() % 32);
                let bytes: Vec<u8> = input.0.by_ref().take(size).copied().collect();
                let encoded = known.tokenizer.encode(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
                self.ids.extend(encoded.into_iter().map(i64::from));
            }
            0xF0..0xF8 => {
                if let Some(pair) = last.and_then(|id| known.cut(id, input.byte().into())) {
                    self.ids.pop();
                    self.ids.extend(pair);
                }
            }
            0xF8 => self.ids.push(known.size + i64::from(input.byte())),
            0xF9 => self.ids.push(-1 - i64::from(input.byte())),
            0xFA..0xFD => *turn = input.byte(),
            0xFD..=0xFF => self.end_row(),
        }
    }

    /// Give the ids that have none yet their mask and owner.
    fn own(&mut self, turn: u8) {
        for (column, value) in [(&mut self.mask, turn & 1), (&mut self.owners, turn >> 1 & 3)] {
            if let Some(column) = column {
                column.resize(self.ids.len(), value);
            }
        }
    }

    fn end_row(&mut self) {
        self.own(0);
        self.offsets.push(i64::try_from(self.ids.len()).expect("few ids"));
    }

    /// Judge all rows.
    pub fn audit(&self, engine: Engine) -> AuditColumns {
        let batch = Batch::new(Ids::I64(&self.ids), &self.offsets).and_then(|batch| {
            batch
                .with_mask(self.mask.as_deref())?
                .with_owners(self.owners.as_deref())?
                .with_context(self.joins.as_deref(), self.row_start.as_deref())
        });
        batch.expect("columns of the same length").audit(&self.known.tokenizer, self.options, engine, 1)
    }
}

impl fmt::Display for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { known, ids, offsets, mask, owners, joins, row_start, options } = self;
        writeln!(f, "{}: ids={ids:?} offsets={offsets:?}", known.name)?;
        write!(f, "mask={mask:?} owners={owners:?} joins={joins:?} row_start={row_start:?} {options:?}")
    }
}
