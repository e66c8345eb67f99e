//! Encoding that remembers where every token came from: the re-encoded side of the axis.
//!
//! The stages of the reference are run one by one on its own types, which carry an alignment from every normalized
//! character to the characters of D it came from. Two things those alignments do not say are added here: the bytes inside
//! a character, and that a space which the encoder put in front has no bytes on D at all.

use std::cell::RefCell;

use tokenizers::models::bpe::BPE;
use tokenizers::normalizer::Range;
use tokenizers::{
    Model, ModelWrapper, NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
    Token,
};

use crate::ByteRange;
use crate::byte_level;
use crate::compose;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

/// The marker that stands for a space in SentencePiece-like vocabularies.
const SPACE_MARKER: char = '▁';
const MARKED_SPACE: &str = "▁";

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

    /// Mark the characters at the front of each of `splits` that came from nothing.
    fn mark_inserted(&self, text: &str, splits: &mut [Vec<Aligned>], segment_starts: &[usize]) {
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

        let segments = Segments::new(self, text, &stages);
        let mut changed = segments.changed;
        let in_segments = RefCell::new(Vec::new());
        stages
            .normalize(|segment| {
                let has_prefix = segments.starts.binary_search(&segment.offsets_original().0).is_ok();
                let prefix = if has_prefix { &self.prefixes().normalizer } else { "" };
                in_segments.borrow_mut().extend(changes(text, segment, prefix));
                Ok(())
            })
            .map_err(Error::reference)?;
        changed.extend(in_segments.into_inner());
        changed.sort_unstable_by_key(|range| range.start);
        if let Some(pre_tokenizer) = reference.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut stages).map_err(Error::reference)?;
        }
        let is_added: Vec<bool> = stages
            .get_splits(OffsetReferential::Original, OffsetType::Byte)
            .iter()
            .map(|(_, _, tokens)| tokens.is_some())
            .collect();

        let splits = RefCell::new(Vec::new());
        let model = reference.get_model();
        stages
            .tokenize(|split| {
                splits.borrow_mut().push(aligned(split));
                model.tokenize(split.get())
            })
            .map_err(Error::reference)?;
        let mut splits = splits.into_inner();
        self.prefixes().mark_inserted(text, &mut splits, &segments.starts);

        let mut trace = EncodeTrace { changed, located: true, ..EncodeTrace::default() };
        let mut splits = splits.into_iter();
        for ((normalized, (start, stop), tokens), is_added) in
            stages.get_splits(OffsetReferential::Original, OffsetType::Byte).into_iter().zip(is_added)
        {
            let tokens = tokens.as_deref().unwrap_or_default();
            let first = trace.ids.len();
            trace.ids.extend(tokens.iter().map(|token| token.id));
            let (range, ranges) = if is_added {
                (start..stop, Some(vec![start..stop; tokens.len()]))
            } else {
                let sources = Sources::new(text, &splits.next().unwrap_or_default());
                (sources.range(), sources.of_tokens(model, normalized, tokens))
            };
            trace.located &= ranges.is_some();
            trace.ranges.extend(ranges.unwrap_or_default());
            let normalized = if is_added { String::new() } else { normalized.to_owned() };
            trace.pre_tokens.push(PreToken { range, tokens: first..trace.ids.len(), normalized });
        }
        if let Some(form) = self.unicode_form() {
            let composed = compose::changed_parts(text, &trace.changed, form);
            compose::cover(&mut trace.ranges, &composed);
        }
        if !matches!(model, ModelWrapper::BPE(_)) && !trace.changed.is_empty() {
            // Their offsets follow the normalized text, which says too little about where a changed text came from.
            trace.located = false;
        }
        Ok(trace)
    }
}

/// What the search for added tokens and the normalizer made of a text.
struct Segments {
    /// Where the normalizer began afresh: behind added tokens that are looked for in the text as it is.
    starts: Vec<usize>,
    /// Stretches that the normalizer left nothing of, or changed into an added token.
    changed: Vec<ByteRange>,
}

impl Segments {
    fn new(tokenizer: &Tokenizer, text: &str, stages: &PreTokenizedString) -> Self {
        let mut segments = Self { starts: Vec::new(), changed: Vec::new() };
        let mut begins_afresh = true;
        let mut done = 0;
        for (normalized, (start, stop), tokens) in stages.get_splits(OffsetReferential::Original, OffsetType::Byte) {
            if start > done {
                segments.changed.push(done..start);
            }
            match tokens.as_deref() {
                Some(tokens) => {
                    let is_normalized =
                        |token: &Token| tokenizer.added(token.id).is_some_and(|added| added.token.normalized);
                    begins_afresh = !tokens.iter().any(is_normalized);
                    let prefix = &tokenizer.prefixes().normalizer;
                    let original = text[start..stop].replace(' ', MARKED_SPACE);
                    let spelled = |spelling: &str| spelling.replace(' ', MARKED_SPACE) == original;
                    if !spelled(normalized) && !normalized.strip_prefix(prefix.as_str()).is_some_and(spelled) {
                        segments.changed.push(start..stop);
                    }
                }
                None if begins_afresh => segments.starts.push(start),
                None => {}
            }
            done = stop.max(done);
        }
        if text.len() > done {
            segments.changed.push(done..text.len());
        }
        segments
    }
}

/// One character of a normalized text and the bytes of D it came from.
struct Aligned {
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
fn changes(text: &str, segment: &NormalizedString, prefix: &str) -> Vec<ByteRange> {
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

fn stands_for_bytes(run: &[Aligned], source: &str) -> bool {
    run.iter().map(|aligned| aligned.c).eq(source.bytes().map(byte_level::char_of))
}

/// The bytes of D behind every byte of one pre-token's normalized text.
struct Sources(Vec<ByteRange>);

impl Sources {
    fn new(text: &str, chars: &[Aligned]) -> Self {
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
    fn range(&self) -> ByteRange {
        let first = self.0.iter().find(|source| !source.is_empty()).or(self.0.first());
        let start = first.map_or(0, |source| source.start);
        start..self.0.last().map_or(start, |source| source.end)
    }

    /// The ranges of the tokens that the model made of `normalized`; `None` where they cannot be placed.
    ///
    /// The model's own offsets are right but for two cases: characters that it drops without a trace shift those behind
    /// them, and Unigram gives every byte of a character the whole of it.
    fn of_tokens(mut self, model: &ModelWrapper, normalized: &str, tokens: &[Token]) -> Option<Vec<ByteRange>> {
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
