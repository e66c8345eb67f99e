//! Whose bytes: the owner and the sampled token of every byte of D, and the re-encoded tokens whose bytes have more than
//! one owner.

use crate::ByteRange;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

/// An owner that several owners share.
pub const SHARED: i16 = -1;

/// What the bytes of D belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Owner of every byte, [`SHARED`] where several produced it together; empty without owners.
    pub byte_owner: Vec<i16>,
    /// First sampled token that produced the byte.
    pub byte_token: Vec<usize>,
}

impl Provenance {
    /// Lay the tokens' owners on the `len` bytes of a text; without `owners`, tokens only.
    pub fn new(len: usize, ranges: &[ByteRange], owners: Option<&[u8]>) -> Self {
        let mut byte_token = vec![0; len];
        for (token, range) in ranges.iter().enumerate().rev() {
            byte_token[range.clone()].fill(token);
        }
        let byte_owner = owners.map_or_else(Vec::new, |owners| owner_of_bytes(len, ranges, owners));
        Self { byte_owner, byte_token }
    }
}

impl Tokenizer {
    /// Whose bytes a row decodes to: the reference's text, and every step of its decoder followed.
    ///
    /// # Errors
    /// [`Error::Reference`] where the reference fails, or where its decoder cannot be traced.
    pub fn provenance(&self, ids: &[u32], owners: Option<&[u8]>) -> Result<(String, Provenance)> {
        let text = self.decode(ids, false)?;
        let decoded = self
            .trace_decode(ids, &text)
            .ok_or_else(|| Error::reference("its decoder is of a kind whose bytes cannot be traced back to tokens"))?;
        let provenance = Provenance::new(text.len(), &decoded.ranges, owners);
        Ok((text, provenance))
    }
}

/// The owner of each of `len` bytes; [`SHARED`] where tokens of several owners cover it.
pub fn owner_of_bytes(len: usize, ranges: &[ByteRange], owners: &[u8]) -> Vec<i16> {
    const NOBODY: i16 = -2;
    let mut owner_of = vec![NOBODY; len];
    for (range, &owner) in ranges.iter().zip(owners) {
        for byte in &mut owner_of[range.clone()] {
            *byte = if *byte == NOBODY || *byte == i16::from(owner) { owner.into() } else { SHARED };
        }
    }
    owner_of
}

/// The one owner of `bytes`, or [`SHARED`].
pub(crate) fn common_owner(bytes: &[i16]) -> i16 {
    match bytes {
        [first, rest @ ..] if rest.iter().all(|owner| owner == first) => *first,
        _ => SHARED,
    }
}

/// A position in a row, of which no more than 31 bits are used.
pub(crate) fn short(position: usize) -> i32 {
    i32::try_from(position).expect("the length of the row was checked")
}

/// Number of characters whose bytes have several owners.
pub fn shared_characters(text: &str, byte_owner: &[i16]) -> usize {
    let is_shared = |&(at, c): &(usize, char)| common_owner(&byte_owner[at..at + c.len_utf8()]) == SHARED;
    text.char_indices().filter(is_shared).count()
}

/// A re-encoded token that covers bytes of both mask values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Straddling {
    /// Its index among the re-encoded ids.
    pub index: usize,
    /// Its bytes on D.
    pub bytes: ByteRange,
    /// Mask value of each of them, [`SHARED`] where tokens of both values produced it together.
    pub mask: Vec<i16>,
    /// Owner of each of them.
    pub owner: Vec<i16>,
}

/// The straddling tokens among `ranges`, and the number of tokens that cross owners of one mask value.
///
/// Without a mask nothing straddles, and every token with several owners is an owner-crossing one.
pub fn straddling(ranges: &[ByteRange], byte_mask: Option<&[i16]>, byte_owner: &[i16]) -> (Vec<Straddling>, usize) {
    let mut straddling = Vec::new();
    let mut crossing = 0;
    for (index, range) in ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
        let mask = byte_mask.map(|mask| &mask[range.clone()]);
        if let Some(mask) = mask.filter(|mask| common_owner(mask) == SHARED) {
            let owner = byte_owner[range.clone()].to_vec();
            straddling.push(Straddling { index, bytes: range.clone(), mask: mask.to_vec(), owner });
        } else if common_owner(&byte_owner[range.clone()]) == SHARED {
            crossing += 1;
        }
    }
    (straddling, crossing)
}
