//! Which bytes of D lie behind a normalized text, byte for byte.
//!
//! The reference's alignments say which characters of D a normalized character came from. Added here are the bytes inside a
//! character, that what the encoder put in front came from nothing, and which characters a model dropped.

use tokenizers::models::bpe::BPE;
use tokenizers::normalizer::Range;
use tokenizers::{
    Model, ModelWrapper, NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
    Token,
};

use crate::ByteRange;
use crate::byte_level;

/// The marker that stands for a space in SentencePiece-like vocabularies.
pub(crate) const SPACE_MARKER: char = '▁';

/// What a tokenizer puts in front of a text before it is split.
#[derive(Debug, Default)]
pub struct Prefixes {
    /// Put in front of every segment by the normalizer.
    pub(crate) normalizer: String,
    /// Put in front by the pre-tokenizer where the text does not start with it already.
    pre_tokenizer: String,
}

impl Prefixes {
    /// Ask the stages what they make of a plain letter, of the first that they leave as it is.
    pub fn probe(reference: &tokenizers::Tokenizer) -> Self {
        let letters = ["a", "e", "x", "7", "Q"];
        let mut prefixes = Self::default();
        if let Some(normalizer) = reference.get_normalizer() {
            let before = |letter: &str| {
                let mut probe = NormalizedString::from(letter);
                normalizer.normalize(&mut probe).ok()?;
                probe.get().strip_suffix(letter).map(str::to_owned)
            };
            prefixes.normalizer = letters.into_iter().find_map(before).unwrap_or_default();
        }
        if let Some(pre_tokenizer) = reference.get_pre_tokenizer() {
            let before = |letter: &str| {
                let mut probe = PreTokenizedString::from(letter);
                pre_tokenizer.pre_tokenize(&mut probe).ok()?;
                let splits = probe.get_splits(OffsetReferential::Original, OffsetType::Byte);
                splits.first()?.0.strip_suffix(letter).map(str::to_owned)
            };
            prefixes.pre_tokenizer = letters.into_iter().find_map(before).unwrap_or_default();
        }
        prefixes
    }

    /// Mark the characters at the front of each of `splits` that came from nothing.
    pub(crate) fn mark_inserted(&self, text: &str, splits: &mut [Vec<Aligned>], segment_starts: &[usize]) {
        for index in 0..splits.len() {
            let following = splits.get(index + 1).and_then(|next| next.first()).map(|next| next.source.clone());
            let chars = &mut splits[index];
            let Some(source) = chars.first().map(|first| first.source.clone()) else { continue };
            let starts_segment = segment_starts.binary_search(&source.start).is_ok();
            // The pre-tokenizer puts nothing in front of a text that starts with a space already.
            let starts_with_space = text[source].starts_with([' ', SPACE_MARKER]);
            if starts_segment && !self.normalizer.is_empty() {
                // It is put in front of every segment, also where an added token is cut out right behind it.
                mark_prefix(chars, &self.normalizer, None);
            } else if !self.pre_tokenizer.is_empty() && !starts_with_space && (chars.len() > 1 || following.is_some()) {
                mark_prefix(chars, &self.pre_tokenizer, following.as_ref());
            }
        }
    }
}

/// One character of a normalized text and the bytes of D it came from.
pub(crate) struct Aligned {
    c: char,
    /// What it came from, as the reference says: whole characters.
    source: ByteRange,
    /// Put in front by the encoder, so it came from nothing.
    is_inserted: bool,
}

pub(crate) fn aligned(normalized: &NormalizedString) -> Vec<Aligned> {
    let shift = normalized.offsets_original().0;
    let chars = normalized.get().char_indices().map(|(at, c)| {
        let source = normalized.convert_offsets(Range::Normalized(at..at + c.len_utf8())).unwrap_or(0..0);
        Aligned { c, source: shift + source.start..shift + source.end, is_inserted: false }
    });
    chars.collect()
}

/// Mark the leading characters that spell `prefix` and share the source of the character behind them: of the next one, or of
/// `following` where there is none in this text.
fn mark_prefix(chars: &mut [Aligned], prefix: &str, following: Option<&ByteRange>) {
    let count = prefix.chars().count();
    let is_prefix = chars.len() >= count && chars.iter().zip(prefix.chars()).all(|(aligned, c)| aligned.c == c);
    if !is_prefix {
        return;
    }
    let (chars, rest) = chars.split_at_mut(count);
    let next = rest.first().map(|next| &next.source).or(following);
    if next.is_none_or(|next| chars.iter().all(|c| c.source == *next)) {
        for c in chars {
            c.is_inserted = true;
        }
    }
}

/// The stretches of `text` that the normalizer changed in one segment.
pub(crate) fn changes(text: &str, segment: &NormalizedString, prefix: &str) -> Vec<ByteRange> {
    let (start, stop) = segment.offsets_original();
    let unchanged = segment.get().strip_prefix(prefix).unwrap_or_default();
    if unchanged.len() == stop - start && unchanged == &text[start..stop] {
        return Vec::new();
    }
    let mut chars = aligned(segment);
    mark_prefix(&mut chars, prefix, None);
    let mut changed = Vec::new();
    let mut done = start;
    for run in chars.chunk_by(|a, b| a.source == b.source && !a.is_inserted) {
        if run[0].is_inserted {
            continue;
        }
        let source = run[0].source.clone();
        if source.start > done {
            changed.push(done..source.start);
        }
        if !spells(run, text.get(source.clone()).unwrap_or_default()) {
            changed.push(source.clone());
        }
        done = done.max(source.end);
    }
    if stop > done {
        changed.push(done..stop);
    }
    changed
}

/// Whether normalized characters spell `source`: as they are, as `▁` for a space, or in byte-level stand-ins.
fn spells(run: &[Aligned], source: &str) -> bool {
    let is_same = run.iter().map(|aligned| aligned.c).eq(source.chars());
    let is_space = source == " " && matches!(run, [one] if one.c == SPACE_MARKER);
    is_same || is_space || stands_for_bytes(run, source)
}

/// Whether two texts are the same but for spaces spelled as `▁`.
pub(crate) fn spells_text(normalized: &str, text: &str) -> bool {
    let unmarked = |c| if c == SPACE_MARKER { ' ' } else { c };
    normalized.chars().map(unmarked).eq(text.chars().map(unmarked))
}

fn stands_for_bytes(run: &[Aligned], source: &str) -> bool {
    run.iter().map(|aligned| aligned.c).eq(source.bytes().map(byte_level::char_of))
}

/// The bytes of D behind every byte of one pre-token's normalized text.
pub(crate) struct Sources(Vec<ByteRange>);

impl Sources {
    pub(crate) fn new(text: &str, chars: &[Aligned]) -> Self {
        let mut sources = Vec::new();
        for run in chars.chunk_by(|a, b| a.source == b.source && a.is_inserted == b.is_inserted) {
            let source = &run[0].source;
            let original = text.get(source.clone()).unwrap_or_default();
            let is_bytewise = stands_for_bytes(run, original);
            for (index, aligned) in run.iter().enumerate() {
                let len = aligned.c.len_utf8();
                if aligned.is_inserted {
                    sources.extend((0..len).map(|_| source.start..source.start));
                } else if is_bytewise {
                    sources.extend((0..len).map(|_| source.start + index..source.start + index + 1));
                } else if run.len() == 1 && original.len() == len {
                    // The character itself, or one of the same length: byte fallback cuts it byte by byte.
                    sources.extend(source.clone().map(|at| at..at + 1));
                } else {
                    sources.extend((0..len).map(|_| source.clone()));
                }
            }
        }
        Self(sources)
    }

    /// Where the pre-token lies on D, without what was put in front.
    pub(crate) fn range(&self) -> ByteRange {
        let first = self.0.iter().find(|source| !source.is_empty()).or(self.0.first());
        let start = first.map_or(0, |source| source.start);
        start..self.0.last().map_or(start, |source| source.end)
    }

    /// The ranges of the tokens that the model made of `normalized`; `None` where they cannot be placed.
    ///
    /// The model's own offsets are right but for two cases: characters that it drops without a trace shift those behind
    /// them, and Unigram gives every byte of a character the whole of it.
    pub(crate) fn of_tokens(
        mut self,
        model: &ModelWrapper,
        normalized: &str,
        tokens: &[Token],
    ) -> Option<Vec<ByteRange>> {
        let mut end = self.range().start;
        let mut places: Vec<ByteRange> = tokens.iter().map(|token| token.offsets.0..token.offsets.1).collect();
        match model {
            ModelWrapper::BPE(bpe) => {
                if emits_unknown_late(bpe, tokens) {
                    return None;
                }
                let reached = places.last().map_or(0, |place| place.end);
                if reached < normalized.len() {
                    self.0 = kept_bytes(bpe, normalized).into_iter().map(|at| self.0[at].clone()).collect();
                }
                if reached != self.0.len() {
                    return None;
                }
            }
            ModelWrapper::Unigram(_) => place_bytes(&mut places),
            ModelWrapper::WordPiece(_) | ModelWrapper::WordLevel(_) => {}
        }
        let ranges = places.into_iter().map(|place| {
            let sources = self.0.get(place).unwrap_or_default();
            let start = sources.iter().find(|source| !source.is_empty()).or(sources.first()).map_or(end, |s| s.start);
            end = sources.last().map_or(end, |source| source.end);
            start..end
        });
        Some(ranges.collect())
    }
}

/// Whether a BPE may have emitted a pending unknown token behind the bytes of the character that follows it.
fn emits_unknown_late(bpe: &BPE, tokens: &[Token]) -> bool {
    let is_unk = |token: &Token| Some(token.value.as_str()) == bpe.unk_token.as_deref();
    bpe.byte_fallback && tokens.iter().any(is_unk) && tokens.iter().any(|token| token.value.starts_with("<0x"))
}

/// Give each of the byte tokens that share one place its own byte of it.
fn place_bytes(places: &mut [ByteRange]) {
    for run in places.chunk_by_mut(|a, b| a == b) {
        let whole = run[0].clone();
        if run.len() == whole.len() {
            run.iter_mut().zip(whole).for_each(|(place, at)| *place = at..at + 1);
        }
    }
}

/// The bytes of `normalized` whose characters a BPE without an unknown token does not drop.
fn kept_bytes(bpe: &BPE, normalized: &str) -> Vec<usize> {
    let last = normalized.char_indices().next_back().map_or(0, |(at, _)| at);
    let in_vocab = |symbol: &str| bpe.token_to_id(symbol).is_some();
    let mut kept = Vec::with_capacity(normalized.len());
    for (at, c) in normalized.char_indices() {
        let mut symbol = String::from(c);
        if let Some(prefix) = bpe.continuing_subword_prefix.as_deref().filter(|_| at > 0) {
            symbol.insert_str(0, prefix);
        }
        if let Some(suffix) = bpe.end_of_word_suffix.as_deref().filter(|_| at == last) {
            symbol.push_str(suffix);
        }
        let falls_back = || bpe.byte_fallback && symbol.bytes().all(|byte| in_vocab(&format!("<{byte:#04X}>")));
        if bpe.unk_token.is_some() || in_vocab(&symbol) || falls_back() {
            kept.extend(at..at + c.len_utf8());
        }
    }
    kept
}
