//! Decoders that do no more than join the bytes of the tokens: whose a byte is, is known as it is written.

use crate::decode::strip;
use crate::provenance::{common_owner, short};
use crate::surfaces::{Surfaces, WIDTH};

/// Tokens written at a time: few enough for what they become to stay in the cache.
const BLOCK: usize = 256;
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
        for (first, ids) in (0..).step_by(BLOCK).zip(ids.chunks(BLOCK)) {
            self.join_block(surfaces, ids, owners.map(|owners| &owners[first..][..ids.len()]), first);
        }
    }

    /// Nearly all surfaces are short. A fixed number of entries is written for each, by a store or two where a length would
    /// mean calls and loops; the next surface overwrites what was too much.
    fn join_block(&mut self, surfaces: &Surfaces, ids: &[u32], owners: Option<&[u8]>, first: usize) {
        let mut at = self.text.len();
        let len: usize = ids.iter().map(|&id| surfaces.get_wide(id).1).sum();
        self.text.resize(at + len + WIDTH, 0);
        self.token.resize(at + len + WIDTH, 0);
        if owners.is_some() {
            self.owner.resize(at + len + WIDTH, 0);
        }
        let first = short(first);
        for (index, (&id, token)) in ids.iter().zip(first..).enumerate() {
            let (surface, len) = surfaces.get_wide(id);
            for start in (0..len).step_by(WIDTH) {
                let place = at + start..at + start + WIDTH;
                self.text[place.clone()].copy_from_slice(&surface[start..start + WIDTH]);
                self.token[place.clone()].fill(token);
                if let Some(owners) = owners {
                    self.owner[place].fill(owners[index].into());
                }
            }
            at += len;
        }
        self.truncate(at);
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

    /// Drop what is written behind `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        self.token.truncate(len);
        self.owner.truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::decode::Decoder;
    use crate::provenance::Provenance;

    fn decoders() -> Vec<Value> {
        let byte_level =
            json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true});
        let (fallback, fuse) = (json!({"type": "ByteFallback"}), json!({"type": "Fuse"}));
        let replace = json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "});
        let regex = json!({"type": "Replace", "pattern": {"Regex": "^a+"}, "content": "é"});
        let strip = |start: usize, stop: usize| json!({"type": "Strip", "content": " ", "start": start, "stop": stop});
        let sequence = |decoders: &[&Value]| json!({"type": "Sequence", "decoders": decoders});
        vec![
            byte_level,
            fuse.clone(),
            fallback.clone(),
            sequence(&[]),
            sequence(&[&replace, &fallback, &fuse]),
            sequence(&[&replace, &fallback, &fuse, &strip(1, 0)]),
            sequence(&[&regex, &replace, &fuse, &strip(2, 3)]),
            sequence(&[&replace]),
            sequence(&[&fallback, &fuse, &strip(0, 1)]),
        ]
    }

    /// Whole characters, parts of them in both alphabets, spaces to strip, longer than what is written at a time.
    fn token() -> impl Strategy<Value = String> {
        const KNOWN: [&str; 14] =
            ["▁", "▁a", "aa", " ", "  ", "é", "Ġ", "Ã", "©", "ðŁ", "ĺĢ", "<0x+F>", "日本語 and more", "a▁a"];
        prop_oneof![
            4 => prop::sample::select(&KNOWN[..]).prop_map(str::to_owned),
            2 => prop::sample::select(&[0xC3u8, 0xA9, 0x20, 0xE2, 0x96, 0x81, 0x61][..])
                .prop_map(|byte| format!("<0x{byte:02X}>")),
            1 => "[a▁é ]{1,20}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn what_is_joined_is_what_the_trace_of_the_decoder_says(
            which in 0..decoders().len(),
            vocab in prop::collection::vec(token(), 1..12),
            ids in prop::collection::vec(0u32..14, 0..600),
            few in 0usize..12,
            with_owners in any::<bool>(),
            is_long in prop::bool::weighted(0.1),
        ) {
            let decoder = Decoder::from_json(&decoders()[which]).unwrap();
            let ids = if is_long { &ids[..] } else { &ids[..few.min(ids.len())] };
            let owners: Option<Vec<u8>> = with_owners.then(|| ids.iter().map(|id| u8::from(id % 3 == 1)).collect());
            let numbers: Vec<u32> = (0..).take(vocab.len()).collect();
            let surfaces = Surfaces::new(&numbers, vocab.iter().map(|token| decoder.surface(token)));
            let joining = decoder.joining().unwrap();
            prop_assert!(joining.suits(&surfaces));

            let mut bytes = Bytes { text: b"before".to_vec(), token: vec![7; 6], owner: vec![7; 6 * usize::from(with_owners)] };
            let before = bytes.clone();
            let is_joined = joining.write(&surfaces, ids, owners.as_deref(), &mut bytes);

            let tokens = ids.iter().map(|&id| match which {
                0 => surfaces.get(id),
                _ => vocab.get(id as usize).map(String::as_bytes),
            });
            let trace = decoder.trace(tokens);
            let traced = Provenance::new(trace.text.len(), &trace.ranges, owners.as_deref());
            // Only byte tokens can make it refuse.
            prop_assert!(is_joined || !trace.invalid.is_empty() && which > 0);
            let mut expected = before;
            if is_joined {
                expected.text.extend_from_slice(trace.text.as_bytes());
                expected.token.extend(traced.byte_token.iter().map(|&token| i32::try_from(token).unwrap()));
                expected.owner.extend(traced.byte_owner);
            }
            prop_assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn a_token_without_bytes_ends_a_run_of_byte_tokens() {
        let decoder = Decoder::from_json(&decoders()[4]).unwrap();
        let surfaces = Surfaces::new(&[0, 1, 2], ["<0xC3>", "", "<0xA9>"].map(|token| decoder.surface(token)));
        let trace = decoder.trace(["<0xC3>", "", "<0xA9>"].into_iter().map(|token| Some(token.as_bytes())));
        assert_eq!(trace.text, "\u{FFFD}\u{FFFD}");
        assert!(!decoder.joining().unwrap().suits(&surfaces), "joined, they would be an é");
    }

    #[test]
    fn other_decoders_are_left_to_their_trace() {
        let metaspace = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
        let late = json!({"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}]});
        let piecewise = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
        for decoder in [Value::Null, metaspace, late, piecewise] {
            assert_eq!(Decoder::from_json(&decoder).unwrap().joining(), None);
        }
    }
}
