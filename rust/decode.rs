//! Decoding that remembers where every token went: the sampled side of the axis.
//!
//! The reference's decoders return text only. Each is repeated here as *edits* on the text made so far, and the ranges of
//! the tokens follow the edits. The result is compared with the reference's own text by the caller, so a decoder that
//! changes in a later version is noticed, never trusted.

use serde_json::Value;
use tokenizers::utils::SysRegex;

use crate::ByteRange;
use crate::byte_level;
use crate::draft::{Draft, Edit};
use crate::joining::Joining;

const REPLACEMENT: &str = "\u{FFFD}";

/// One step of a decoder chain.
enum Step {
    ByteLevel,
    ByteFallback,
    Fuse,
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    Metaspace {
        replacement: char,
        drop_leading: bool,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
    Bpe {
        suffix: String,
    },
    Ctc {
        pad: String,
        delimiter: String,
        cleanup: bool,
    },
    /// No decoder at all: the reference joins the tokens with spaces.
    JoinWithSpaces,
}

enum Pattern {
    Literal(String),
    Regex(SysRegex),
}

impl Pattern {
    fn matches(&self, text: &str) -> Vec<ByteRange> {
        match self {
            Self::Literal(literal) => text.match_indices(literal.as_str()).map(|(at, m)| at..at + m.len()).collect(),
            Self::Regex(regex) => regex.find_iter(text).map(|(start, stop)| start..stop).collect(),
        }
    }
}

/// The decoder of a tokenizer, ready to be traced.
pub struct Decoder {
    steps: Vec<Step>,
}

/// Where the sampled tokens lie on D.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecodeTrace {
    /// D.
    pub text: String,
    /// One range per token, in order; empty for a token that decodes to nothing.
    pub ranges: Vec<ByteRange>,
    /// Stretches of U+FFFD that stand for bytes that are no UTF-8.
    pub invalid: Vec<ByteRange>,
}

impl Decoder {
    /// Read the `decoder` section of a tokenizer.json; `None` for a kind this crate does not know.
    pub fn from_json(section: &Value) -> Option<Self> {
        let mut steps = Vec::new();
        if section.is_null() {
            steps.push(Step::JoinWithSpaces);
        } else {
            collect_steps(section, &mut steps)?;
        }
        Some(Self { steps })
    }

    /// The bytes that a token stands for wherever it is, without what decoding strips at the start of a text.
    pub fn surface(&self, token: &str) -> Vec<u8> {
        let mut text = token.to_owned();
        for step in &self.steps {
            match step {
                Step::ByteLevel => return byte_level::decode_token(&text),
                Step::ByteFallback => {
                    if let Some(byte) = fallback_byte(&text) {
                        return vec![byte];
                    }
                }
                Step::Replace { pattern, content } => text = replaced(&text, pattern, content),
                Step::Metaspace { replacement, .. } => text = text.replace(*replacement, " "),
                Step::WordPiece { prefix, .. } => {
                    if let Some(rest) = text.strip_prefix(prefix.as_str()) {
                        text = rest.into();
                    }
                }
                Step::Bpe { suffix } => text = text.replace(suffix.as_str(), " "),
                Step::Ctc { pad, delimiter, .. } => text = text.replace(pad.as_str(), "").replace(delimiter, " "),
                Step::Fuse | Step::Strip { .. } | Step::JoinWithSpaces => {}
            }
        }
        text.into_bytes()
    }

    /// Whether [`trace`](Self::trace) may be given surfaces instead of token strings: the chain is byte-level alone.
    pub fn joins_surfaces(&self) -> bool {
        matches!(self.steps[..], [Step::ByteLevel])
    }

    /// How D follows from the surfaces alone; `None` where it does not.
    pub(crate) fn joining(&self) -> Option<Joining> {
        if self.joins_surfaces() {
            return Some(Joining::Lossy);
        }
        let replaces = self.steps.iter().take_while(|step| matches!(step, Step::Replace { .. })).count();
        let mut rest = &self.steps[replaces..];
        if let [Step::ByteFallback, others @ ..] = rest {
            rest = others;
        }
        match rest {
            [] | [Step::Fuse] => Some(Joining::Valid(' ', 0, 0)),
            [Step::Fuse, Step::Strip { content, start, stop }] => Some(Joining::Valid(*content, *start, *stop)),
            _ => None,
        }
    }

    /// Decode `tokens`; `None` stands for an id outside the vocabulary, which decodes to nothing.
    pub fn trace<'t>(&self, tokens: impl Iterator<Item = Option<&'t [u8]>>) -> DecodeTrace {
        let mut draft = Draft::new(tokens);
        if self.joins_surfaces() {
            draft.replace_invalid();
        } else {
            for step in &self.steps {
                draft.apply(step);
            }
        }
        draft.finish()
    }
}

fn collect_steps(section: &Value, steps: &mut Vec<Step>) -> Option<()> {
    let text = |key: &str| section.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| section.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let flag = |key: &str| section.get(key).and_then(Value::as_bool);
    let step = match section.get("type")?.as_str()? {
        "Sequence" => return section.get("decoders")?.as_array()?.iter().try_for_each(|one| collect_steps(one, steps)),
        "ByteLevel" => Step::ByteLevel,
        "ByteFallback" => Step::ByteFallback,
        "Fuse" => Step::Fuse,
        "Strip" => {
            Step::Strip { content: text("content")?.chars().next()?, start: number("start")?, stop: number("stop")? }
        }
        "Replace" => {
            let pattern = section.get("pattern")?;
            let pattern = match (pattern.get("String"), pattern.get("Regex")) {
                (Some(literal), _) => Pattern::Literal(literal.as_str()?.to_owned()),
                (_, Some(regex)) => Pattern::Regex(SysRegex::new(regex.as_str()?).ok()?),
                _ => return None,
            };
            Step::Replace { pattern, content: text("content")? }
        }
        "Metaspace" => Step::Metaspace {
            replacement: text("replacement")?.chars().next()?,
            drop_leading: text("prepend_scheme")? != "never",
        },
        "WordPiece" => Step::WordPiece { prefix: text("prefix")?, cleanup: flag("cleanup")? },
        "BPEDecoder" => Step::Bpe { suffix: text("suffix")? },
        "CTC" => {
            Step::Ctc { pad: text("pad_token")?, delimiter: text("word_delimiter_token")?, cleanup: flag("cleanup")? }
        }
        _ => return None,
    };
    steps.push(step);
    Some(())
}

/// The byte of a `<0xXX>` token, read exactly as leniently as the reference reads it.
fn fallback_byte(token: &str) -> Option<u8> {
    let is_form = token.len() == 6 && token.starts_with("<0x") && token.ends_with('>');
    is_form.then(|| token.get(3..5)).flatten().and_then(|hex| u8::from_str_radix(hex, 16).ok())
}

fn replaced(text: &str, pattern: &Pattern, content: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for found in pattern.matches(text) {
        out.push_str(&text[done..found.start]);
        out.push_str(content);
        done = found.end;
    }
    out.push_str(&text[done..]);
    out
}

/// The reference's own clean-up of `WordPiece` and CTC output (not the one of `transformers`).
fn cleaned_up(text: &str) -> String {
    [(" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m")]
        .into_iter()
        .chain([(" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")])
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

impl Draft {
    fn finish(mut self) -> DecodeTrace {
        self.close_gaps();
        let text = String::from_utf8(self.text).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        DecodeTrace { text, ranges: self.ranges, invalid: self.invalid }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::ByteLevel => self.byte_level(),
            Step::ByteFallback => self.byte_fallback(),
            Step::Fuse => self.fuse(),
            Step::Strip { content, start, stop } => self.edit_pieces(|_, piece| strip(piece, *content, *start, *stop)),
            Step::Replace { pattern, content } => self.edit_pieces(|_, piece| {
                pattern.matches(piece).into_iter().map(|at| Edit::new(at, content.as_bytes())).collect()
            }),
            Step::Metaspace { replacement, drop_leading } => self.edit_pieces(|index, piece| {
                let by = if index == 0 && *drop_leading { "" } else { " " };
                piece.match_indices(*replacement).map(|(at, found)| Edit::new(at..at + found.len(), by)).collect()
            }),
            Step::WordPiece { prefix, cleanup } => self.rewrite_pieces(|index, _, piece| {
                let piece = match piece.strip_prefix(prefix.as_str()) {
                    _ if index == 0 => piece.to_owned(),
                    Some(rest) => rest.to_owned(),
                    None => format!(" {piece}"),
                };
                if *cleanup { cleaned_up(&piece) } else { piece }
            }),
            Step::Bpe { suffix } => self.rewrite_pieces(|index, pieces, piece| {
                piece.replace(suffix.as_str(), if index + 1 == pieces { "" } else { " " })
            }),
            Step::Ctc { pad, delimiter, cleanup } => self.ctc(pad, delimiter, *cleanup),
            Step::JoinWithSpaces => {
                self.rewrite_pieces(|index, _, piece| if index == 0 { piece.to_owned() } else { format!(" {piece}") });
            }
        }
    }

    fn byte_level(&mut self) {
        self.edit_pieces(|_, piece| {
            let Some(bytes) = piece.chars().map(byte_level::byte_of).collect::<Option<Vec<u8>>>() else {
                return Vec::new();
            };
            let chars = piece.char_indices().zip(bytes);
            chars.map(|((at, c), byte)| Edit::new(at..at + c.len_utf8(), [byte])).collect()
        });
        self.replace_invalid();
    }

    /// Read all pieces as one text; every maximal stretch that is no UTF-8 becomes one U+FFFD.
    fn replace_invalid(&mut self) {
        self.fuse();
        let mut at = 0;
        let mut edits = Vec::new();
        for chunk in self.text.utf8_chunks() {
            let start = at + chunk.valid().len();
            at = start + chunk.invalid().len();
            if at > start {
                edits.push(Edit::new(start..at, REPLACEMENT));
            }
        }
        self.invalid.extend(edits.iter().map(|edit| edit.at.clone()));
        self.edit(&edits);
    }

    /// A run of `<0xXX>` pieces becomes one piece if its bytes are UTF-8, else one U+FFFD for every byte.
    fn byte_fallback(&mut self) {
        let pieces = self.pieces();
        let bytes: Vec<Option<u8>> =
            pieces.iter().map(|at| std::str::from_utf8(&self.text[at.clone()]).ok().and_then(fallback_byte)).collect();
        let mut edits = Vec::new();
        let mut ends = Vec::new();
        let mut first = 0;
        for run in bytes.chunk_by(|a, b| a.is_some() == b.is_some()) {
            let members = &pieces[first..first + run.len()];
            first += run.len();
            let run: Vec<u8> = run.iter().copied().flatten().collect();
            if !run.is_empty() && std::str::from_utf8(&run).is_ok() {
                edits.extend(members.iter().zip(run).map(|(at, byte)| Edit::new(at.clone(), [byte])));
                ends.extend(members.last().map(|at| at.end));
                continue;
            }
            if !run.is_empty() {
                edits.extend(members.iter().map(|at| Edit::new(at.clone(), REPLACEMENT)));
                self.invalid.extend_from_slice(members);
            }
            ends.extend(members.iter().map(|at| at.end));
        }
        self.piece_ends = ends;
        self.edit(&edits);
    }

    fn ctc(&mut self, pad: &str, delimiter: &str, cleanup: bool) {
        let mut previous: Option<String> = None;
        self.rewrite_pieces(|_, _, piece| {
            let repeated = previous.as_deref() == Some(piece);
            previous = Some(piece.to_owned());
            let kept = if repeated { String::new() } else { piece.replace(pad, "") };
            if cleanup { cleaned_up(&kept).replace(delimiter, " ") } else { kept }
        });
        let mut start = 0;
        self.piece_ends.retain(|&end| std::mem::replace(&mut start, end) < end);
    }
}

/// The reference's `Strip`: up to `start` leading and `stop` trailing characters that equal `content`.
pub(crate) fn strip(piece: &str, content: char, start: usize, stop: usize) -> Vec<Edit> {
    let head = piece.chars().take(start).take_while(|&c| c == content).count() * content.len_utf8();
    let tail = piece[head..].chars().rev().take(stop).take_while(|&c| c == content).count() * content.len_utf8();
    let edits = [Edit::new(0..head, ""), Edit::new(piece.len() - tail..piece.len(), "")];
    edits.into_iter().filter(|edit| !edit.at.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use tokenizers::{Decoder as _, DecoderWrapper};

    use super::*;

    fn decoders() -> Vec<Value> {
        let replace = json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "});
        let regex = json!({"type": "Replace", "pattern": {"Regex": "a+"}, "content": "é"});
        let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
        let byte_level =
            json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
        let sequence = |decoders: &[&Value]| json!({"type": "Sequence", "decoders": decoders});
        let (fallback, fuse) = (json!({"type": "ByteFallback"}), json!({"type": "Fuse"}));
        vec![
            Value::Null,
            byte_level.clone(),
            fuse.clone(),
            sequence(&[&replace, &fallback, &fuse, &strip]),
            sequence(&[&fallback, &fuse, &replace, &strip]),
            sequence(&[&regex, &fallback, &byte_level]),
            sequence(&[]),
            json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}),
            json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": false}),
            json!({"type": "WordPiece", "prefix": "##", "cleanup": true}),
            json!({"type": "WordPiece", "prefix": "##", "cleanup": false}),
            json!({"type": "BPEDecoder", "suffix": "</w>"}),
            json!({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true}),
        ]
    }

    fn token() -> impl Strategy<Value = String> {
        const KNOWN: [&str; 16] =
            ["▁", "▁a", "aa", " ", ".", "##b", "a</w>", "<pad>", "|", "n't", "é", "Ġ", "Ã", "©", "<0x+F>", ""];
        prop_oneof![
            prop::sample::select(&KNOWN[..]).prop_map(str::to_owned),
            any::<u8>().prop_map(|byte| format!("<0x{byte:02X}>")),
            any::<u8>().prop_map(|byte| byte_level::char_of(byte).to_string()),
            "[a▁é]{1,3}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_trace_gives_the_text_of_the_reference(
            which in 0..decoders().len(),
            tokens in prop::collection::vec(prop::option::weighted(0.9, token()), 1..12),
        ) {
            let section = decoders().swap_remove(which);
            let known: Vec<String> = tokens.iter().flatten().cloned().collect();
            prop_assume!(!known.is_empty());
            let expected = match serde_json::from_value::<Option<DecoderWrapper>>(section.clone()).unwrap() {
                Some(decoder) => decoder.decode(known).unwrap(),
                None => known.join(" "),
            };
            let decoder = Decoder::from_json(&section).unwrap();
            let surfaces: Vec<Option<Vec<u8>>> = tokens
                .iter()
                .map(|token| token.as_ref().map(|token| {
                    if decoder.joins_surfaces() { decoder.surface(token) } else { token.clone().into_bytes() }
                }))
                .collect();
            let trace = decoder.trace(surfaces.iter().map(|surface| surface.as_deref()));

            prop_assert_eq!(&trace.text, &expected);
            prop_assert_eq!(trace.ranges.len(), tokens.len());
            prop_assert!(trace.ranges.iter().all(|range| range.start <= range.end && range.end <= expected.len()));
            prop_assert!(trace.ranges.is_sorted_by_key(|range| range.start));
            let filled = trace.ranges.iter().filter(|range| !ByteRange::is_empty(range));
            prop_assert!(filled.is_sorted_by_key(|range| range.end));
            let mut covered = vec![false; expected.len()];
            trace.ranges.iter().for_each(|range| covered[range.clone()].fill(true));
            prop_assert!(covered.into_iter().all(|covered| covered), "every byte of D comes from a token");
            prop_assert!(tokens.iter().zip(&trace.ranges).all(|(token, range)| token.is_some() || range.is_empty()));
            let is_replacement = |at: &ByteRange| expected[at.clone()].chars().all(|c| c == '\u{FFFD}');
            prop_assert!(trace.invalid.iter().all(is_replacement));
        }
    }

    #[test]
    fn tokens_that_share_a_replacement_character_have_its_range() {
        let decoder = Decoder::from_json(&decoders()[1]).unwrap();
        let trace = decoder.trace([Some(&b"a\xE2"[..]), None, Some(&b"\x82b"[..])].into_iter());
        assert_eq!(trace.text, "a\u{FFFD}b");
        assert_eq!(trace.ranges, [0..4, 1..1, 1..5]);
        assert_eq!(trace.invalid.as_slice(), std::slice::from_ref(&(1..4)));
    }

    #[test]
    fn a_stripped_space_has_an_empty_range() {
        let decoder = Decoder::from_json(&decoders()[3]).unwrap();
        let tokens = ["▁", "<0xF0>", "<0x9F>"].map(|token| Some(token.as_bytes()));
        let trace = decoder.trace(tokens.into_iter());
        assert_eq!(trace.text, "\u{FFFD}\u{FFFD}");
        assert_eq!(trace.ranges, [0..0, 0..3, 3..6]);
    }

    #[test]
    fn a_space_before_an_empty_token_never_belongs_to_an_id_outside_the_vocabulary() {
        let decoder = Decoder::from_json(&Value::Null).unwrap();
        let trace = decoder.trace([Some(&b"a"[..]), Some(b""), None].into_iter());
        assert_eq!(trace.text, "a ");
        assert_eq!(trace.ranges, [0..1, 1..2, 2..2]);
    }

    #[test]
    fn an_unknown_decoder_is_not_guessed() {
        assert!(Decoder::from_json(&json!({"type": "Later"})).is_none());
    }
}
