//! Encoding that remembers where every token came from: the re-encoded side of the axis.
//!
//! The stages of the reference are run one by one on its own types, which carry an alignment from every normalized
//! character to the characters of D it came from. Two things those alignments do not say are added here: the bytes inside
//! a character, and that a space which the encoder put in front has no bytes on D at all.

use std::cell::RefCell;

use tokenizers::normalizer::Range;
use tokenizers::{
    Model, ModelWrapper, NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
    Token,
};

use crate::ByteRange;
use crate::byte_level;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

/// The marker that stands for a space in SentencePiece-like vocabularies.
const SPACE_MARKER: char = '▁';

/// What a tokenizer puts in front of a text before it is split.
#[derive(Debug, Default)]
pub struct Prefixes {
    /// Put in front of every segment by the normalizer.
    normalizer: String,
    /// Put in front by the pre-tokenizer where the text does not start with it already.
    pre_tokenizer: String,
}

impl Prefixes {
    /// Ask the stages what they make of a plain letter.
    pub fn probe(reference: &tokenizers::Tokenizer) -> Self {
        let before_letter = |text: &str| text.strip_suffix('a').unwrap_or_default().to_owned();
        let mut prefixes = Self::default();
        if let Some(normalizer) = reference.get_normalizer() {
            let mut probe = NormalizedString::from("a");
            if normalizer.normalize(&mut probe).is_ok() {
                prefixes.normalizer = before_letter(probe.get());
            }
        }
        if let Some(pre_tokenizer) = reference.get_pre_tokenizer() {
            let mut probe = PreTokenizedString::from("a");
            if pre_tokenizer.pre_tokenize(&mut probe).is_ok() {
                let splits = probe.get_splits(OffsetReferential::Original, OffsetType::Byte);
                prefixes.pre_tokenizer = splits.first().map(|(text, ..)| before_letter(text)).unwrap_or_default();
            }
        }
        prefixes
    }
}

/// One pre-token of D.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreToken {
    /// Its bytes on D.
    pub range: ByteRange,
    /// The re-encoded tokens it gave.
    pub tokens: std::ops::Range<usize>,
    /// Its text as the model sees it; empty for an added token.
    pub normalized: String,
}

/// Where the re-encoded tokens lie on D.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncodeTrace {
    /// The re-encoded ids.
    pub ids: Vec<u32>,
    /// One range per token, in order; empty for a space that the encoder put in front.
    pub ranges: Vec<ByteRange>,
    /// The pre-tokens and added tokens, in order.
    pub pre_tokens: Vec<PreToken>,
    /// Stretches of D whose text the normalizer changes (spaces spelled as `▁` are no change).
    pub changed: Vec<ByteRange>,
    /// False where the reference does not say where a token came from.
    pub located: bool,
}

impl Tokenizer {
    /// Encode `text` and say where every token lies on it.
    ///
    /// # Errors
    /// [`Error::Reference`] where the reference fails.
    pub fn trace_encode(&self, text: &str) -> Result<EncodeTrace> {
        let reference = self.reference();
        let mut stages = reference.get_added_vocabulary().extract_and_normalize(reference.get_normalizer(), text);

        let changed = RefCell::new(Vec::new());
        let segment_starts = RefCell::new(Vec::new());
        stages
            .normalize(|segment| {
                segment_starts.borrow_mut().push(segment.offsets_original().0);
                changed.borrow_mut().extend(changes(text, segment, &self.prefixes().normalizer));
                Ok(())
            })
            .map_err(Error::reference)?;
        if let Some(pre_tokenizer) = reference.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut stages).map_err(Error::reference)?;
        }
        let is_added: Vec<bool> = stages
            .get_splits(OffsetReferential::Original, OffsetType::Byte)
            .iter()
            .map(|(_, _, tokens)| tokens.is_some())
            .collect();

        let located = RefCell::new(Vec::new());
        let segment_starts = segment_starts.into_inner();
        let model = reference.get_model();
        stages
            .tokenize(|split| {
                let tokens = model.tokenize(split.get())?;
                let starts_segment = segment_starts.binary_search(&split.offsets_original().0).is_ok();
                let characters = Characters::new(text, split, self.prefixes(), starts_segment);
                located.borrow_mut().push(characters.locate(model, split.get(), &tokens));
                Ok(tokens)
            })
            .map_err(Error::reference)?;

        let mut trace = EncodeTrace { changed: changed.into_inner(), located: true, ..EncodeTrace::default() };
        let mut located = located.into_inner().into_iter();
        for ((normalized, (start, stop), tokens), is_added) in
            stages.get_splits(OffsetReferential::Original, OffsetType::Byte).into_iter().zip(is_added)
        {
            let tokens = tokens.as_deref().unwrap_or_default();
            let first = trace.ids.len();
            trace.ids.extend(tokens.iter().map(|token| token.id));
            let (range, ranges) = if is_added {
                (start..stop, Some(vec![start..stop; tokens.len()]))
            } else {
                located.next().unwrap_or((start..stop, None))
            };
            trace.located &= ranges.is_some();
            trace.ranges.extend(ranges.unwrap_or_default());
            let normalized = if is_added { String::new() } else { normalized.to_owned() };
            trace.pre_tokens.push(PreToken { range, tokens: first..trace.ids.len(), normalized });
        }
        trace.cover_composed(text);
        if !matches!(model, ModelWrapper::BPE(_)) && !trace.changed.is_empty() {
            // Their offsets follow the normalized text, which says too little about where a changed text came from.
            trace.located = false;
        }
        Ok(trace)
    }
}

impl EncodeTrace {
    /// A composed character (`e` + U+0301 -> `é`) is aligned to its first part only: its other parts lie in a gap behind it.
    fn cover_composed(&mut self, text: &str) {
        if !self.located || self.changed.is_empty() {
            return;
        }
        for index in 0..self.ranges.len() {
            let range = self.ranges[index].clone();
            let is_behind = |next: &&ByteRange| !ByteRange::is_empty(next) && next.start >= range.end;
            let next = self.ranges[index + 1..].iter().find(is_behind).map_or(text.len(), |next| next.start);
            if range.is_empty() || next == range.end {
                continue;
            }
            let last = text[..range.end].char_indices().next_back().map_or(range.start, |(at, _)| at);
            if composes(text.get(last..next).unwrap_or_default(), range.end - last) {
                self.ranges[index].end = next;
            }
        }
    }
}

/// Whether canonical or compatibility composition joins the text behind `first` bytes to what is before it.
fn composes(text: &str, first: usize) -> bool {
    let (Some(head), Some(tail)) = (text.get(..first), text.get(first..)) else { return false };
    let joined = |compose: fn(&mut NormalizedString) -> &mut NormalizedString| {
        let composed = |text: &str| compose(&mut NormalizedString::from(text)).get().to_owned();
        composed(text) != composed(head) + &composed(tail)
    };
    joined(NormalizedString::nfc) || joined(NormalizedString::nfkc)
}

/// One character of a normalized text and the bytes of D it came from.
struct Aligned {
    /// Its place in the normalized text.
    at: usize,
    c: char,
    /// What it came from, as the reference says: whole characters.
    source: ByteRange,
    /// Put in front by the encoder, so it came from nothing.
    is_inserted: bool,
}

fn aligned(normalized: &NormalizedString) -> Vec<Aligned> {
    let shift = normalized.offsets_original().0;
    let chars = normalized.get().char_indices().map(|(at, c)| {
        let source = normalized.convert_offsets(Range::Normalized(at..at + c.len_utf8())).unwrap_or(0..0);
        Aligned { at, c, source: shift + source.start..shift + source.end, is_inserted: false }
    });
    chars.collect()
}

/// Mark the characters of `prefix` that the encoder put in front: they share the source of the character behind them.
fn mark_inserted(chars: &mut [Aligned], prefix: &str) {
    let count = prefix.chars().count();
    let is_prefix = chars.len() >= count && chars.iter().zip(prefix.chars()).all(|(aligned, c)| aligned.c == c);
    let shares_source = chars.get(count).is_none_or(|next| chars[..count].iter().all(|c| c.source == next.source));
    if is_prefix && shares_source {
        chars[..count].iter_mut().for_each(|c| c.is_inserted = true);
    }
}

/// The stretches of `text` that the normalizer changed in one segment.
fn changes(text: &str, segment: &NormalizedString, prefix: &str) -> Vec<ByteRange> {
    let (start, stop) = segment.offsets_original();
    let unchanged = segment.get().strip_prefix(prefix).unwrap_or_default();
    if unchanged.len() == stop - start && unchanged == &text[start..stop] {
        return Vec::new();
    }
    let mut chars = aligned(segment);
    mark_inserted(&mut chars, prefix);
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

fn stands_for_bytes(run: &[Aligned], source: &str) -> bool {
    run.iter().map(|aligned| aligned.c).eq(source.bytes().map(byte_level::char_of))
}

/// The bytes of D behind every byte of one pre-token's normalized text.
struct Characters {
    sources: Vec<ByteRange>,
    /// Where the pre-token starts and stops on D, without what was put in front.
    range: ByteRange,
}

impl Characters {
    fn new(text: &str, split: &NormalizedString, prefixes: &Prefixes, starts_segment: bool) -> Self {
        let mut chars = aligned(split);
        if starts_segment && !prefixes.normalizer.is_empty() {
            mark_inserted(&mut chars, &prefixes.normalizer);
        } else if !prefixes.pre_tokenizer.is_empty() {
            let first = chars.first().and_then(|c| text.get(c.source.clone()));
            // Not put in front of a text that starts with a space already.
            if first.is_some_and(|first| first != " " && !first.starts_with(SPACE_MARKER)) && chars.len() > 1 {
                mark_inserted(&mut chars, &prefixes.pre_tokenizer);
            }
        }
        let mut sources = vec![0..0; split.get().len()];
        for run in chars.chunk_by(|a, b| a.source == b.source && a.is_inserted == b.is_inserted) {
            let source = &run[0].source;
            let original = text.get(source.clone()).unwrap_or_default();
            let is_bytewise = stands_for_bytes(run, original);
            for (index, aligned) in run.iter().enumerate() {
                let bytes = &mut sources[aligned.at..aligned.at + aligned.c.len_utf8()];
                if aligned.is_inserted {
                    bytes.fill(source.start..source.start);
                } else if is_bytewise {
                    bytes.fill(source.start + index..source.start + index + 1);
                } else if run.len() == 1 && original.len() == bytes.len() {
                    // The character itself, or one of the same length: byte fallback cuts it byte by byte.
                    bytes.iter_mut().zip(source.clone()).for_each(|(byte, at)| *byte = at..at + 1);
                } else {
                    bytes.fill(source.clone());
                }
            }
        }
        let start =
            sources.iter().find(|source| !source.is_empty()).or(sources.first()).map_or(0, |source| source.start);
        let stop = sources.last().map_or(start, |source| source.end).max(start);
        Self { sources, range: start..stop }
    }

    /// The pre-token's range on D and those of its tokens; `None` where they cannot be placed.
    fn locate(self, model: &ModelWrapper, normalized: &str, tokens: &[Token]) -> (ByteRange, Option<Vec<ByteRange>>) {
        let places = places(model, normalized, tokens);
        let ranges = places.map(|places| {
            let mut floor = self.range.start;
            places
                .into_iter()
                .map(|place| {
                    let source = self.sources.get(place).filter(|source| !source.is_empty());
                    let range = source.map_or(floor..floor, |source| {
                        let start = source[0].start;
                        start..source[source.len() - 1].end.max(start)
                    });
                    floor = range.end;
                    range
                })
                .collect()
        });
        (self.range, ranges)
    }
}

/// Where the tokens of one pre-token lie in its normalized text.
///
/// The model's own offsets are right but for two cases: characters that it drops without a trace shift those behind them,
/// and Unigram gives every byte of a character the whole of it.
fn places(model: &ModelWrapper, normalized: &str, tokens: &[Token]) -> Option<Vec<ByteRange>> {
    let mut places: Vec<ByteRange> = tokens.iter().map(|token| token.offsets.0..token.offsets.1).collect();
    match model {
        ModelWrapper::BPE(bpe) => {
            let reached = places.last().map_or(0, |place| place.end);
            if reached < normalized.len() {
                let kept = kept_bytes(bpe, normalized);
                if kept.len() != reached {
                    return None;
                }
                for place in &mut places {
                    *place = kept.get(place.start).copied()?..kept.get(place.end.checked_sub(1)?).copied()? + 1;
                }
            }
            let unk = bpe.unk_token.as_deref();
            let has = |test: &dyn Fn(&Token) -> bool| tokens.iter().any(test);
            if bpe.byte_fallback && has(&|t| Some(&*t.value) == unk) && has(&|t| t.value.starts_with("<0x")) {
                // The reference emits a pending unknown token after the bytes of the character behind it.
                return None;
            }
        }
        ModelWrapper::Unigram(_) => {
            let mut first = 0;
            while first < places.len() {
                let whole = places[first].clone();
                let run = places[first..].iter().take_while(|place| **place == whole).count();
                if run > 1 && run == whole.len() {
                    places[first..first + run].iter_mut().zip(whole).for_each(|(place, at)| *place = at..at + 1);
                }
                first += run;
            }
        }
        ModelWrapper::WordPiece(_) | ModelWrapper::WordLevel(_) => {}
    }
    Some(places)
}

/// The bytes of `normalized` whose characters a BPE without an unknown token does not drop.
fn kept_bytes(bpe: &tokenizers::models::bpe::BPE, normalized: &str) -> Vec<usize> {
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
