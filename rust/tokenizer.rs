//! A `tokenizer.json` in the reference engine, with what the reference does not say: the bytes of every id, which ids are
//! added tokens, and which stages can change a text.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tokenizers::models::bpe::BPE;
use tokenizers::{AddedToken, Model, ModelWrapper, NormalizedString, Normalizer};

use crate::byte_level;
use crate::compose::{self, Form};
use crate::decode::{DecodeTrace, Decoder};
use crate::engine::{Proven, Unproven};
use crate::error::{Error, Result, caught, guarded};
use crate::few_ids::FewIds;
use crate::joining::{Bytes, Joining};
use crate::selftest;
use crate::sources::Prefixes;
use crate::surfaces::Surfaces;

/// How to load a tokenizer.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadOptions {
    /// Encode the text of special tokens as ordinary text; a serialised tokenizer drops this setting of the object.
    pub encode_special_tokens: bool,
    /// Load a BPE with `dropout > 0` with its dropout off instead of refusing it.
    pub ignore_dropout: bool,
}

/// One added token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// As the file has it.
    pub token: AddedToken,
    /// Whether its text is nothing but white space (Gemma's runs of newlines): re-encoding to it is an ordinary merge.
    pub is_whitespace: bool,
}

impl Added {
    /// Whether it leaves the spaces beside it alone, so that it separates its neighbours cleanly.
    pub fn is_border(&self) -> bool {
        !self.token.lstrip && !self.token.rstrip
    }

    /// Whether what stands beside it has a say in where it is found, or in what it covers.
    pub(crate) fn looks_beside(&self) -> bool {
        !self.is_border() || self.token.single_word
    }
}

/// Which ids are beyond the vocabulary, and what stands for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    largest: u32,
    outside: u32,
}

impl Known {
    /// The id as the crate sees it.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the largest id has 32 bits")]
    pub(crate) fn id(self, id: i64) -> u32 {
        // A negative id becomes a huge one.
        let id = id.cast_unsigned();
        if id > self.largest.into() { self.outside } else { id as u32 }
    }

    /// The same of an id that has 32 bits: a loop over these looks at many at a time.
    #[inline]
    pub(crate) fn id_of_32_bits(self, id: u32) -> u32 {
        if id > self.largest { self.outside } else { id }
    }
}

/// A loaded tokenizer. Immutable, so threads share it freely.
pub struct Tokenizer {
    reference: tokenizers::Tokenizer,
    decoder: Option<Decoder>,
    /// The strings that the decoder is given.
    tokens: Surfaces,
    /// The bytes that the tokens stand for by themselves.
    surfaces: Arc<Surfaces>,
    /// How D follows from the surfaces alone, where it does.
    joining: Option<Joining>,
    known: Known,
    added: FewIds<Added>,
    unk: Option<u32>,
    prefixes: Prefixes,
    unicode_form: Option<Form>,
    /// The BPE without its whole-word rule, where it has one and no fast engine knows what the merges make.
    pure_merges: Option<ModelWrapper>,
    fast: std::result::Result<Proven, Unproven>,
    changed: Vec<&'static str>,
}

impl Tokenizer {
    /// Load a serialised tokenizer. Truncation and padding are cleared: they are no property of a text.
    ///
    /// # Errors
    /// [`Error::Load`] for a file that the reference cannot load, [`Error::Dropout`] for `dropout > 0` unless it is ignored.
    pub fn from_json(json: &[u8], options: LoadOptions) -> Result<Self> {
        // The reference panics in a few places on a malformed file, while it reads it or when a stage is first used.
        guarded(|| Self::read(json, options)).map_err(|error| match error {
            Error::Reference { reason } => Error::Load { reason },
            other => other,
        })
    }

    fn read(json: &[u8], options: LoadOptions) -> Result<Self> {
        let mut reference =
            tokenizers::Tokenizer::from_bytes(json).map_err(|e| Error::Load { reason: e.to_string() })?;
        check_normalized_tokens(&reference)?;
        let changed = normalise_settings(&mut reference, options)?;
        let decoder = serde_json::to_value(reference.get_decoder()).ok().as_ref().and_then(Decoder::from_json);
        let (ids, tokens) = read_vocab(&reference);
        let surface_of = |token: &String| decoder.as_ref().map_or_else(|| token.clone().into(), |d| d.surface(token));
        let surfaces = Surfaces::new(&ids, tokens.iter().map(surface_of));
        let added = reference.get_added_vocabulary().get_added_tokens_decoder().iter().map(|(&id, token)| {
            let surface = surfaces.get(id).unwrap_or(token.content.as_bytes());
            let is_whitespace = std::str::from_utf8(surface).is_ok_and(|text| text.chars().all(char::is_whitespace));
            (id, Added { token: token.clone(), is_whitespace })
        });
        let mut tokenizer = Self {
            added: added.collect(),
            unk: unk_id(&reference, json),
            prefixes: Prefixes::probe(&reference),
            unicode_form: serde_json::to_value(reference.get_normalizer()).ok().as_ref().and_then(compose::form_of),
            pure_merges: None,
            known: Known { largest: ids.last().copied().unwrap_or_default(), outside: outside(&ids) },
            fast: Err(Unproven { reason: String::new(), is_refuted: false }),
            tokens: Surfaces::new(&ids, &tokens),
            joining: decoder.as_ref().and_then(Decoder::joining).filter(|joining| joining.suits(&surfaces)),
            decoder,
            surfaces: Arc::new(surfaces),
            changed,
            reference,
        };
        tokenizer.distrust_joining(&ids);
        tokenizer.fast =
            Proven::new(&tokenizer, json).map_err(|refusal| Unproven { reason: refusal.to_owned(), is_refuted: false });
        tokenizer.test_fast();
        if tokenizer.fast.is_err() {
            tokenizer.pure_merges = pure_merges(tokenizer.reference.get_model());
        }
        Ok(tokenizer)
    }

    /// Give up the fast engine where it fails its self-test.
    fn test_fast(&mut self) {
        let tested = |fast| caught(|| selftest::difference(self, fast)).unwrap_or_else(Some);
        if let Some(reason) = self.fast().and_then(tested) {
            self.fast = Err(Unproven { reason, is_refuted: true });
        }
    }

    /// Join surfaces only where that gives the reference's text, on a sample of the vocabulary: how its decoders work is
    /// known of one version.
    fn distrust_joining(&mut self, ids: &[u32]) {
        let is_text = |id: &u32| self.surface(*id).is_some_and(|surface| std::str::from_utf8(surface).is_ok());
        let is_any = self.joining == Some(Joining::Lossy);
        let sample = ids.iter().copied().step_by(ids.len() / 256 + 1);
        let sample: Vec<u32> = sample.filter(|id| is_any || is_text(id)).collect();
        let mut bytes = Bytes::default();
        let is_joined = self.join(&sample, None, &mut bytes);
        if is_joined && !self.decode(&sample, false).is_ok_and(|text| text.as_bytes() == bytes.text) {
            self.joining = None;
        }
    }

    /// The reference itself.
    pub(crate) fn reference(&self) -> &tokenizers::Tokenizer {
        &self.reference
    }

    pub(crate) fn prefixes(&self) -> &Prefixes {
        &self.prefixes
    }

    /// The Unicode form that the normalizer gives a text, if any.
    pub(crate) fn unicode_form(&self) -> Option<Form> {
        self.unicode_form
    }

    /// Why no fast engine may answer; `None` where one may.
    pub fn unproven(&self) -> Option<&Unproven> {
        self.fast.as_ref().err()
    }

    /// The fast engine, where it is proven.
    pub(crate) fn fast(&self) -> Option<&Proven> {
        self.fast.as_ref().ok()
    }

    /// Number of ids, added tokens included.
    pub fn vocab_size(&self) -> usize {
        self.reference.get_vocab_size(true)
    }

    /// `BPE`, `Unigram`, `WordPiece` or `WordLevel`.
    pub fn model_name(&self) -> &'static str {
        match self.reference.get_model() {
            ModelWrapper::BPE(_) => "BPE",
            ModelWrapper::Unigram(_) => "Unigram",
            ModelWrapper::WordPiece(_) => "WordPiece",
            ModelWrapper::WordLevel(_) => "WordLevel",
        }
    }

    /// What loading changed: `truncation`, `padding`, `dropout`.
    pub fn changed(&self) -> &[&'static str] {
        &self.changed
    }

    /// Every added token by id.
    pub fn added_tokens(&self) -> &HashMap<u32, Added> {
        self.added.by_id()
    }

    /// The added token with this id.
    #[inline]
    pub fn added(&self, id: u32) -> Option<&Added> {
        self.added.get(id)
    }

    /// Whether the model's unknown token has this id.
    pub fn is_unk(&self, id: u32) -> bool {
        self.unk == Some(id)
    }

    /// Whether decoding with `skip_special_tokens` drops this id.
    pub fn is_skipped(&self, id: u32) -> bool {
        self.token(id).is_some_and(|token| self.reference.get_added_vocabulary().is_special_token(token))
    }

    /// Whether this id is a `<0xXX>` byte token of a model with byte fallback.
    pub fn is_byte_token(&self, id: u32) -> bool {
        let falls_back = match self.reference.get_model() {
            ModelWrapper::BPE(model) => model.byte_fallback,
            ModelWrapper::Unigram(model) => model.byte_fallback(),
            _ => false,
        };
        falls_back
            && self.token(id).is_some_and(|token| token.starts_with("<0x"))
            && self.surface(id).is_some_and(|surface| surface.len() == 1)
    }

    /// The bytes that an id stands for by itself, `None` outside the vocabulary.
    pub fn surface(&self, id: u32) -> Option<&[u8]> {
        self.surfaces.get(id)
    }

    /// The string of an id that the decoder is given, `None` outside the vocabulary.
    pub(crate) fn token(&self, id: u32) -> Option<&str> {
        std::str::from_utf8(self.tokens.get(id)?).ok()
    }

    /// The id as the crate sees it: every id beyond the vocabulary is one.
    pub fn known(&self, id: i64) -> u32 {
        self.known.id(id)
    }

    /// How ids become known ones, apart from the tokenizer: a loop over many keeps it in registers.
    pub(crate) fn knowing(&self) -> Known {
        self.known
    }

    /// One more than the largest id; it stands for every id beyond it.
    pub(crate) fn outside(&self) -> u32 {
        self.known.outside
    }

    /// The bytes of all ids.
    pub(crate) fn surfaces(&self) -> &Arc<Surfaces> {
        &self.surfaces
    }

    /// Whether the decoder is byte-level alone, so that a text is its tokens' surfaces end to end.
    pub(crate) fn joins_surfaces(&self) -> bool {
        self.joining == Some(Joining::Lossy)
    }

    /// Decode tokens of a decoder that is byte-level alone, and say where every token lies.
    pub(crate) fn trace_surfaces(&self, ids: &[u32]) -> DecodeTrace {
        let surfaces = ids.iter().map(|id| self.surface(*id));
        self.decoder.as_ref().map(|decoder| decoder.trace(surfaces)).unwrap_or_default()
    }

    /// Whether the string of an id spells its surface, in the stand-ins of byte-level vocabularies.
    pub(crate) fn is_spelled_in_bytes(&self, id: u32) -> bool {
        self.token(id).is_some_and(|token| token.chars().all(|c| byte_level::byte_of(c).is_some()))
    }

    /// Whether an id is outside the vocabulary.
    pub fn is_unknown(&self, id: u32) -> bool {
        !self.surfaces.contains(id)
    }

    /// Whether `id` comes back when its own string is encoded as one pre-token; other models than BPE always say yes.
    pub fn is_reachable(&self, id: u32) -> bool {
        if self.added(id).is_some() || self.fast().is_some_and(|fast| fast.comes_back(id)) {
            return true;
        }
        let (ModelWrapper::BPE(model), Some(token)) = (self.reference.get_model(), self.token(id)) else {
            return true;
        };
        model.tokenize(token).is_ok_and(|tokens| matches!(&tokens[..], [one] if one.id == id))
    }

    /// Whether the merges alone, without the whole-word rule, make the token `id` of a pre-token that became it.
    pub fn merges_make(&self, id: u32, normalized: &str) -> bool {
        let by_model = |model: &ModelWrapper| model.tokenize(normalized).is_ok_and(|tokens| tokens.len() == 1);
        self.fast().map_or_else(|| self.pure_merges.as_ref().is_none_or(by_model), |fast| fast.merges_make(id))
    }

    /// Decode as the reference does; ids outside the vocabulary decode to nothing.
    ///
    /// # Errors
    /// [`Error::Reference`] where the reference fails.
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String> {
        // The reference skips such ids by itself, but some of its decoders cannot bear an empty list.
        let known: Vec<u32> = ids.iter().copied().filter(|&id| !self.is_unknown(id)).collect();
        if known.is_empty() {
            return Ok(String::new());
        }
        self.reference.decode(&known, skip_special_tokens).map_err(Error::reference)
    }

    /// Decode and say where every token lies; `None` where the trace does not give `text`, the reference's own.
    pub fn trace_decode(&self, ids: &[u32], text: &str) -> Option<DecodeTrace> {
        let decoder = self.decoder.as_ref()?;
        let table = if decoder.joins_surfaces() { &*self.surfaces } else { &self.tokens };
        Some(decoder.trace(ids.iter().map(|&id| table.get(id)))).filter(|trace| trace.text == text)
    }

    /// Write D behind what `bytes` holds, with token and owner of every byte, where it follows from the surfaces alone;
    /// nothing is written and the answer is no where it does not.
    pub(crate) fn join(&self, ids: &[u32], owners: Option<&[u8]>, bytes: &mut Bytes) -> bool {
        self.joining.is_some_and(|joining| joining.write(&self.surfaces, ids, owners, bytes))
    }

    /// Encode as the reference does, without special tokens.
    ///
    /// # Errors
    /// [`Error::Reference`] where the reference fails.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.reference.encode_fast(text, false).map_err(Error::reference)?;
        Ok(encoding.get_ids().to_vec())
    }
}

/// Refuse added tokens that are looked for in the normalized text and have no text of their own there.
///
/// The reference searches for an empty text without end, and of two tokens with the same text it finds the one that the
/// order of a hash map puts last: another one after every load.
fn check_normalized_tokens(reference: &tokenizers::Tokenizer) -> Result<()> {
    let Some(normalizer) = reference.get_normalizer() else { return Ok(()) };
    let mut seen: HashMap<String, String> = HashMap::new();
    for token in reference.get_added_tokens_decoder().values().filter(|token| token.normalized) {
        let mut text = NormalizedString::from(token.content.as_str());
        normalizer.normalize(&mut text).map_err(Error::reference)?;
        let content = &token.content;
        if text.get().is_empty() {
            let reason = format!(
                "nothing is left of the added token {content:?} after normalization; add it with normalized=False"
            );
            return Err(Error::Load { reason });
        }
        if let Some(other) = seen.insert(text.get().to_owned(), content.clone()) {
            let reason = format!(
                "the added tokens {other:?} and {content:?} are the same after normalization, and which of them comes back \
                 changes from load to load; add them with normalized=False"
            );
            return Err(Error::Load { reason });
        }
    }
    Ok(())
}

/// Clear what is no property of a text, and say what was cleared.
fn normalise_settings(reference: &mut tokenizers::Tokenizer, options: LoadOptions) -> Result<Vec<&'static str>> {
    let mut changed = Vec::new();
    if reference.get_truncation().is_some() {
        reference.with_truncation(None).map_err(|e| Error::Load { reason: e.to_string() })?;
        changed.push("truncation");
    }
    if reference.get_padding().is_some() {
        reference.with_padding(None);
        changed.push("padding");
    }
    let dropout = match reference.get_model() {
        ModelWrapper::BPE(model) => {
            model.dropout.filter(|&dropout| dropout > 0.0).map(|dropout| (model.clone(), dropout))
        }
        _ => None,
    };
    if let Some((mut model, dropout)) = dropout {
        if !options.ignore_dropout {
            return Err(Error::Dropout { dropout });
        }
        model.dropout = None;
        reference.with_model(model);
        changed.push("dropout");
    }
    reference.set_encode_special_tokens(options.encode_special_tokens);
    Ok(changed)
}

/// Every id in order, and its string.
fn read_vocab(reference: &tokenizers::Tokenizer) -> (Vec<u32>, Vec<String>) {
    let added = reference.get_added_vocabulary().get_added_tokens_decoder();
    let string_of = |id: u32| Some((id, reference.id_to_token(id)?));
    // Most number their tokens without gaps: asking for every number is faster than a copy of the whole vocabulary. As
    // many ids as there are strings are all ids, where each of them is that of a string.
    let size = u32::try_from(reference.get_vocab_size(true)).unwrap_or(u32::MAX);
    let (mut ids, tokens): (Vec<u32>, Vec<String>) = (0..size).filter_map(string_of).unzip();
    let is_named = |(&id, token): (&u32, &AddedToken)| reference.token_to_id(&token.content) == Some(id);
    if ids.len() == size as usize && added.iter().all(is_named) {
        return (ids, tokens);
    }
    ids.extend(reference.get_vocab(true).into_values().chain(added.keys().copied()));
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().filter_map(string_of).unzip()
}

/// One more than the largest of the ids, which rise, or where there is none the largest that is free.
fn outside(ids: &[u32]) -> u32 {
    let above = ids.last().map_or(Some(0), |largest| largest.checked_add(1));
    above.or_else(|| (0..=u32::MAX).rev().find(|id| ids.binary_search(id).is_err())).unwrap_or_default()
}

fn unk_id(reference: &tokenizers::Tokenizer, json: &[u8]) -> Option<u32> {
    let model = reference.get_model();
    let token = match model {
        ModelWrapper::BPE(bpe) => bpe.unk_token.clone()?,
        ModelWrapper::WordPiece(pieces) => pieces.unk_token.clone(),
        ModelWrapper::WordLevel(words) => words.unk_token.clone(),
        // The reference keeps this one to itself.
        ModelWrapper::Unigram(_) => {
            let file: Value = serde_json::from_slice(json).ok()?;
            return file.pointer("/model/unk_id")?.as_u64().and_then(|id| u32::try_from(id).ok());
        }
    };
    model.token_to_id(&token)
}

fn pure_merges(model: &ModelWrapper) -> Option<ModelWrapper> {
    let ModelWrapper::BPE(model) = model else { return None };
    model.ignore_merges.then(|| {
        let mut pure: BPE = model.clone();
        pure.ignore_merges = false;
        ModelWrapper::BPE(pure)
    })
}
