//! Owner and token of every byte and character of a batch of rows, as columns.

use crate::error::{Error, Result, guarded};
use crate::joining::Bytes;
use crate::pool;
use crate::provenance::{common_owner, short};
use crate::tokenizer::Tokenizer;

/// Owner and token of every byte of a batch of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenanceColumns {
    pub(crate) bytes: Bytes,
    /// Where the bytes of each row start, and the end of the last.
    pub(crate) offsets: Vec<i64>,
    /// Rows on which the reference failed, with its words; they have no bytes.
    pub(crate) errors: Vec<(usize, String)>,
}

impl Default for ProvenanceColumns {
    fn default() -> Self {
        Self { bytes: Bytes::default(), offsets: vec![0], errors: Vec::new() }
    }
}

impl ProvenanceColumns {
    /// D of every row, end to end.
    pub fn text(&self) -> &[u8] {
        &self.bytes.text
    }

    /// Where the bytes of each row start, and the end of the last.
    pub fn offsets(&self) -> &[i64] {
        &self.offsets
    }

    /// First token of every byte, counted in its row.
    pub fn byte_token(&self) -> &[i32] {
        &self.bytes.token
    }

    /// Owner of every byte, [`SHARED`](crate::provenance::SHARED) where several produced it together; empty without owners.
    pub fn byte_owner(&self) -> &[i16] {
        &self.bytes.owner
    }

    /// Rows on which the reference failed, with its words; they have no bytes.
    pub fn errors(&self) -> &[(usize, String)] {
        &self.errors
    }

    /// Write a row behind those there are.
    pub(crate) fn push(&mut self, tokenizer: &Tokenizer, ids: &[u32], owners: Option<&[u8]>) {
        let start = self.bytes.text.len();
        if let Err(error) = guarded(|| self.write(tokenizer, ids, owners)) {
            self.bytes.truncate(start);
            self.errors.push((self.offsets.len() - 1, error.to_string()));
        }
        self.offsets.push(entry(self.bytes.text.len()));
    }

    fn write(&mut self, tokenizer: &Tokenizer, ids: &[u32], owners: Option<&[u8]>) -> Result<()> {
        in_reach(ids.len())?;
        let start = self.bytes.text.len();
        if tokenizer.join(ids, owners, &mut self.bytes) {
            debug_assert!(tokenizer.decode(ids, false).is_ok_and(|text| text.as_bytes() == &self.bytes.text[start..]));
        } else {
            let (text, traced) = tokenizer.provenance(ids, owners)?;
            self.bytes.text.extend_from_slice(text.as_bytes());
            self.bytes.token.extend(traced.byte_token.into_iter().map(short));
            self.bytes.owner.extend(traced.byte_owner);
        }
        in_reach(self.bytes.text.len() - start)
    }

    /// Put rows that were worked on apart end to end.
    pub(crate) fn joined(parts: Vec<Self>) -> Self {
        let mut whole = Self::default();
        let (mut texts, mut tokens, mut owners) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let (rows, bytes) = (whole.offsets.len() - 1, whole.offsets[whole.offsets.len() - 1]);
            whole.offsets.extend(part.offsets[1..].iter().map(|offset| bytes + offset));
            whole.errors.extend(part.errors.into_iter().map(|(row, error)| (rows + row, error)));
            texts.push(part.bytes.text);
            tokens.push(part.bytes.token);
            owners.push(part.bytes.owner);
        }
        whole.bytes = Bytes { text: concatenated(texts), token: concatenated(tokens), owner: concatenated(owners) };
        whole
    }
}

/// Owner and token of every character of a batch of rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CharacterColumns {
    /// Where the characters of each row start, and the end of the last.
    pub offsets: Vec<i64>,
    /// First byte of every character, counted in its row.
    pub byte: Vec<i32>,
    /// First token of the character's first byte.
    pub token: Vec<i32>,
    /// Owner of every character, [`SHARED`](crate::provenance::SHARED) where its bytes have several; empty without owners.
    pub owner: Vec<i16>,
}

impl CharacterColumns {
    /// The characters of the rows that [`ProvenanceColumns`] tells the bytes of, over `threads` threads.
    ///
    /// # Errors
    /// [`Error::Ragged`] where the arrays do not fit together, [`Error::RowTooLong`] for a row that has no provenance.
    pub fn new(text: &[u8], offsets: &[i64], token: &[i32], owner: &[i16], threads: usize) -> Result<Self> {
        let rows = ends(offsets).filter(|rows| rows.first() == Some(&0) && rows.last() == Some(&text.len()));
        let fits = token.len() == text.len() && (owner.is_empty() || owner.len() == text.len());
        let Some(rows) = rows.filter(|_| fits) else {
            return Err(Error::Ragged("the columns of the bytes do not fit together".to_owned()));
        };
        rows.windows(2).try_for_each(|row| in_reach(row[1] - row[0]))?;
        let ranges = pool::shares(&rows, threads);
        let parts = pool::map(ranges.len(), threads, |part| {
            let (first, last) = (rows[ranges[part].start], rows[ranges[part].end]);
            // Space for as many characters as bytes: what is not touched costs nothing, and growing would.
            let mut columns = Self {
                offsets: vec![0],
                byte: Vec::with_capacity(last - first),
                token: Vec::with_capacity(last - first),
                owner: Vec::with_capacity(owner.len().min(last - first)),
            };
            for row in ranges[part].clone() {
                let row = rows[row]..rows[row + 1];
                columns.push(&text[row.clone()], &token[row.clone()], owner.get(row).unwrap_or_default());
            }
            columns
        });
        Ok(Self::joined(parts))
    }

    fn push(&mut self, text: &[u8], token: &[i32], owner: &[i16]) {
        let mut at = 0;
        while at < text.len() {
            // Most text is ASCII, where characters are bytes.
            let block = at..text.len().min(at + 64);
            if text[block.clone()].is_ascii() {
                self.byte.extend(short(block.start)..short(block.end));
                self.token.extend_from_slice(&token[block.clone()]);
                self.owner.extend_from_slice(owner.get(block.clone()).unwrap_or_default());
                at = block.end;
            }
            while at < block.end {
                let len = 1 + text[at + 1..].iter().take_while(|&byte| byte & 0xC0 == 0x80).count();
                self.byte.push(short(at));
                self.token.push(token[at]);
                self.owner.extend(owner.get(at..at + len).map(common_owner));
                at += len;
            }
        }
        self.offsets.push(entry(self.byte.len()));
    }

    fn joined(parts: Vec<Self>) -> Self {
        let mut whole = Self { offsets: vec![0], ..Self::default() };
        let (mut bytes, mut tokens, mut owners) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let characters = whole.offsets[whole.offsets.len() - 1];
            whole.offsets.extend(part.offsets[1..].iter().map(|offset| characters + offset));
            bytes.push(part.byte);
            tokens.push(part.token);
            owners.push(part.owner);
        }
        Self { byte: concatenated(bytes), token: concatenated(tokens), owner: concatenated(owners), ..whole }
    }
}

/// One list of all; each is freed as soon as it is copied.
fn concatenated<T: Copy>(mut lists: Vec<Vec<T>>) -> Vec<T> {
    let mut all = if lists.len() == 1 {
        lists.swap_remove(0)
    } else {
        let mut all = Vec::with_capacity(lists.iter().map(Vec::len).sum());
        for list in lists {
            all.extend_from_slice(&list);
        }
        all
    };
    all.shrink_to_fit();
    all
}

fn ends(offsets: &[i64]) -> Option<Vec<usize>> {
    let ends: Option<Vec<usize>> = offsets.iter().map(|&offset| usize::try_from(offset).ok()).collect();
    ends.filter(|ends| ends.is_sorted())
}

/// Positions in a row have 31 bits.
fn in_reach(len: usize) -> Result<()> {
    i32::try_from(len).map(|_| ()).map_err(|_| Error::RowTooLong)
}

fn entry(len: usize) -> i64 {
    i64::try_from(len).expect("lengths of arrays fit 63 bits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::provenance::SHARED;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn characters_are_those_of_their_bytes_over_any_threads(
            texts in prop::collection::vec("[aé日😀]{0,9}|[ -~]{60,140}|[ -~]{50,70}[é日a]{1,20}", 0..8),
            threads in 0usize..5,
            owners in prop::collection::vec(SHARED..2, 1..9),
        ) {
            let offsets: Vec<i64> = std::iter::once(0).chain(texts.iter().scan(0, |end, text| {
                *end += entry(text.len());
                Some(*end)
            })).collect();
            let text = texts.concat();
            let token: Vec<i32> = (0..).map(|at: i32| at / 3).take(text.len()).collect();
            let owner: Vec<i16> = (0..text.len()).map(|at| owners[at % owners.len()]).collect();
            let with = CharacterColumns::new(text.as_bytes(), &offsets, &token, &owner, threads).unwrap();
            let without = CharacterColumns::new(text.as_bytes(), &offsets, &token, &[], threads).unwrap();
            prop_assert_eq!(&without, &CharacterColumns { owner: Vec::new(), ..with.clone() });

            let mut expected = CharacterColumns { offsets: vec![0], ..CharacterColumns::default() };
            for (row, start) in texts.iter().zip(&offsets) {
                for (at, c) in row.char_indices() {
                    let first = usize::try_from(*start).unwrap() + at;
                    let behind = &owner[first..first + c.len_utf8()];
                    expected.byte.push(i32::try_from(at).unwrap());
                    expected.token.push(token[first]);
                    expected.owner.push(if behind.iter().all(|one| *one == behind[0]) { behind[0] } else { SHARED });
                }
                expected.offsets.push(entry(expected.byte.len()));
            }
            prop_assert_eq!(with, expected);
        }
    }

    #[test]
    fn columns_that_do_not_fit_together_are_refused() {
        let new =
            |offsets: &[i64], token: &[i32], owner: &[i16]| CharacterColumns::new(b"ab", offsets, token, owner, 1);
        assert!(new(&[0, 1, 2], &[0, 0], &[]).is_ok());
        for offsets in [&[][..], &[0], &[0, 3], &[1, 2], &[0, 2, 1, 2], &[-1, 2]] {
            assert!(new(offsets, &[0, 0], &[]).is_err(), "{offsets:?}");
        }
        assert!(new(&[0, 2], &[0], &[]).is_err());
        assert!(new(&[0, 2], &[0, 0], &[0]).is_err());
    }

    #[test]
    fn positions_have_31_bits() {
        assert!(in_reach(i32::MAX as usize).is_ok());
        assert!(in_reach(i32::MAX as usize + 1).is_err_and(|error| error.to_string().contains("2,147,483,647")));
    }
}
