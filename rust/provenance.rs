//! Whose bytes: the owner and the sampled token of every byte and character of D, and the re-encoded tokens whose bytes
//! have more than one.

use crate::ByteRange;

/// An owner that several owners share.
pub const SHARED: i16 = -1;

/// What the bytes of D belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Owner of every byte, [`SHARED`] where several produced it together; empty without owners.
    pub byte_owner: Vec<i16>,
    /// First sampled token that produced the byte.
    pub byte_token: Vec<usize>,
    /// Owner of every character, [`SHARED`] where its bytes have several; empty without owners.
    pub char_owner: Vec<i16>,
    /// First sampled token of the character's first byte.
    pub char_token: Vec<usize>,
    /// Offset of the character's first byte.
    pub char_byte: Vec<usize>,
}

impl Provenance {
    /// Lay the tokens' owners on `text`; without `owners`, tokens only.
    pub fn new(text: &str, ranges: &[ByteRange], owners: Option<&[u8]>) -> Self {
        let mut byte_token = vec![0; text.len()];
        for (token, range) in ranges.iter().enumerate().rev() {
            byte_token[range.clone()].fill(token);
        }
        let char_byte: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let byte_owner = owners.map_or_else(Vec::new, |owners| owner_of_bytes(text.len(), ranges, owners));
        let char_owner = if owners.is_some() {
            text.char_indices().map(|(at, c)| common_owner(&byte_owner[at..at + c.len_utf8()])).collect()
        } else {
            Vec::new()
        };
        let char_token = char_byte.iter().map(|&at| byte_token[at]).collect();
        Self { byte_owner, byte_token, char_owner, char_token, char_byte }
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
fn common_owner(bytes: &[i16]) -> i16 {
    match bytes {
        [first, rest @ ..] if rest.iter().all(|owner| owner == first) => *first,
        _ => SHARED,
    }
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
