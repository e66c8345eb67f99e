//! Encoding that remembers where every token came from: the re-encoded side of the axis.
//!
//! The stages of the reference are run one by one on its own types, which carry an alignment from every normalized
//! character to the characters of D it came from; [`sources`](crate::sources) makes bytes of it.

use std::cell::RefCell;

use tokenizers::{Model, ModelWrapper, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Token};

use crate::ByteRange;
use crate::compose;
use crate::error::{Error, Result};
use crate::sources::{self, Sources};
use crate::tokenizer::Tokenizer;

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
                in_segments.borrow_mut().extend(sources::changes(text, segment, prefix));
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
                splits.borrow_mut().push(sources::aligned(split));
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
            // Every token of such a stack of marks would cover all of it: as many bytes as tokens times bytes.
            trace.located &= composed.iter().all(|part| part.len() <= compose::LONGEST_PART);
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
                    let spelled = |spelling: &str| sources::spells_text(spelling, &text[start..stop]);
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
