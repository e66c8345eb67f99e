//! Decoders that do no more than join the bytes of the tokens: whose a byte is, is known as it is written.

use crate::decode::strip;
use crate::provenance::common_owner;
use crate::surfaces::Surfaces;

const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

/// How D follows from the surfaces of the tokens alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// Of any bytes; every maximal stretch that is no UTF-8 becomes one U+FFFD.
    Lossy,
    /// Where they are UTF-8 together. Up to so many leading and trailing characters that equal the first are cut off.
    Valid(char, usize, usize),
}

/// Bytes of D under way, each with the first token that produced it and, where there are owners, its owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) text: Vec<u8>,
    pub(crate) token: Vec<i32>,
    pub(crate) owner: Vec<i16>,
}

impl Joining {
    /// Whether it holds for these surfaces.
    ///
    /// A run of byte tokens is UTF-8 by itself exactly if the whole text is, since all other tokens are whole characters;
    /// but one without any would end a run in the middle of a character and leave no trace.
    pub(crate) fn suits(self, surfaces: &Surfaces) -> bool {
        self == Self::Lossy || surfaces.are_filled()
    }

    /// Write a row behind what `bytes` holds; where it says no, nothing is written.
    pub(crate) fn write(self, surfaces: &Surfaces, ids: &[u32], owners: Option<&[u8]>, bytes: &mut Bytes) -> bool {
        let start = bytes.text.len();
        bytes.join(surfaces, ids, owners);
        match (self, std::str::from_utf8(&bytes.text[start..])) {
            (Self::Lossy, Ok(_)) => {}
            (Self::Lossy, Err(_)) => bytes.replace_invalid(start),
            (Self::Valid(content, head, tail), Ok(text)) => {
                for edit in strip(text, content, head, tail).into_iter().rev() {
                    bytes.remove(start + edit.at.start..start + edit.at.end);
                }
            }
            (Self::Valid(..), Err(_)) => {
                bytes.truncate(start);
                return false;
            }
        }
        true
    }
}

impl Bytes {
    fn join(&mut self, surfaces: &Surfaces, ids: &[u32], owners: Option<&[u8]>) {
        for (index, (token, &id)) in (0..).zip(ids).enumerate() {
            let Some(surface) = surfaces.get(id) else { continue };
            self.text.extend_from_slice(surface);
            self.token.resize(self.text.len(), token);
            if let Some(owners) = owners {
                self.owner.resize(self.text.len(), owners[index].into());
            }
        }
    }

    /// Replace what is no UTF-8 from `start` on: all tokens of a stretch share its U+FFFD.
    fn replace_invalid(&mut self, start: usize) {
        let raw = Self {
            text: self.text.split_off(start),
            token: self.token.split_off(start),
            owner: self.owner.split_off(start.min(self.owner.len())),
        };
        let mut at = 0;
        for chunk in raw.text.utf8_chunks() {
            let invalid = at + chunk.valid().len();
            let stop = invalid + chunk.invalid().len();
            self.text.extend_from_slice(chunk.valid().as_bytes());
            self.token.extend_from_slice(&raw.token[at..invalid]);
            self.owner.extend_from_slice(raw.owner.get(at..invalid).unwrap_or_default());
            if invalid < stop {
                self.text.extend_from_slice(REPLACEMENT);
                self.token.extend([raw.token[invalid]; REPLACEMENT.len()]);
                let owner = raw.owner.get(invalid..stop).map(common_owner);
                self.owner.extend(owner.into_iter().flat_map(|owner| [owner; REPLACEMENT.len()]));
            }
            at = stop;
        }
    }

    fn remove(&mut self, range: std::ops::Range<usize>) {
        self.text.drain(range.clone());
        self.token.drain(range.clone());
        if !self.owner.is_empty() {
            self.owner.drain(range);
        }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        self.token.truncate(len);
        self.owner.truncate(len);
    }
}
