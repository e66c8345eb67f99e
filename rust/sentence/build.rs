//! Making the engine of a tokenizer, or saying why there is none.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use tokenizers::Model;
use tokenizers::models::bpe::BPE;

use super::kinds::{Crossings, Kind, Kinds, Letters};
use super::shape::Shape;
use super::trie::{Target, Trie};
use super::{LONG, Sentence};
use crate::file::RawMerge;
use crate::ids::Ids;
use crate::pairs::{Atoms, Merge, Pairs};
use crate::sources::SPACE_MARKER;
use crate::terms::{self, Refusal};
use crate::tokenizer::{Added, Tokenizer};

impl Sentence {
    /// The engine of `tokenizer`, which was read from `json`.
    ///
    /// # Errors
    /// Why it is not proven for this tokenizer.
    pub(crate) fn new(tokenizer: &Tokenizer, json: &[u8]) -> Result<Self, Refusal> {
        let reference = tokenizer.reference();
        let model = terms::model(tokenizer)?;
        if model.ignore_merges {
            return Err("its model has whole words that no pre-tokenizer tells apart");
        }
        let section = |stage: Result<Value, serde_json::Error>| stage.unwrap_or_default();
        let shape = Shape::recognise(
            &section(serde_json::to_value(reference.get_normalizer())),
            &section(serde_json::to_value(reference.get_pre_tokenizer())),
            &section(serde_json::to_value(reference.get_decoder())),
        );
        let shape = shape.ok_or("its normalizer, pre-tokenizer and decoder are of no known family")?;
        let count = terms::count(tokenizer)?;
        let file = terms::file(json)?;
        let added = added(tokenizer)?;
        let strings = terms::strings(tokenizer, model, count)?;
        let vocabulary = Vocabulary::new(tokenizer, model, &strings, shape)?;
        let (pairs, crossings) = vocabulary.pairs(&file.model.merges.0)?;
        let kinds = vocabulary.kinds(&added, &pairs);
        let length = |id| u8::try_from(tokenizer.surface(id).unwrap_or_default().len()).unwrap_or(LONG);
        Ok(Self {
            has_spelled_added: tokenizer.added_tokens().keys().any(|&id| !kinds.of(id).is_hard()),
            lengths: (0..=count).map(length).collect(),
            kinds,
            crossings,
            pairs,
            surfaces: Arc::clone(tokenizer.surfaces()),
            added,
            letters: vocabulary.letters,
            has_prefix: shape.has_prefix,
        })
    }
}

/// The texts that encoding turns into added tokens.
fn added(tokenizer: &Tokenizer) -> Result<Trie, Refusal> {
    terms::special_texts(tokenizer)?;
    let mut trie = Trie::new();
    let mut seen = HashSet::new();
    for (&id, added) in tokenizer.added_tokens() {
        let content = added.token.content.as_str();
        terms::added_text(content)?;
        if content.is_empty() || !seen.insert(content) || tokenizer.reference().token_to_id(content) != Some(id) {
            return Err("two of its added tokens have one text, or one has none");
        }
        if is_odd(added) {
            // Wherever it is found, and in whichever spelling of spaces, this text is there.
            trie.insert(content.replace(SPACE_MARKER, " ").as_bytes(), Target::Odd);
        } else if !content.contains(SPACE_MARKER) {
            trie.insert(content.as_bytes(), Target::Token(id));
        }
    }
    Ok(trie)
}

/// Whether what stands beside it, or the normalizer, has a say in where it is found.
fn is_odd(added: &Added) -> bool {
    added.looks_beside() || added.token.normalized
}

/// What every id is.
struct Vocabulary<'t> {
    tokenizer: &'t Tokenizer,
    /// Of the model, by id.
    strings: &'t [Option<&'t str>],
    letters: Letters,
    /// Flags by id, as far as the file tells.
    flags: Vec<u8>,
    atoms: Atoms,
}

impl<'t> Vocabulary<'t> {
    fn new(
        tokenizer: &'t Tokenizer,
        model: &BPE,
        strings: &'t [Option<&'t str>],
        shape: Shape,
    ) -> Result<Self, Refusal> {
        let count = strings.len();
        let byte_ids: Option<Vec<u32>> =
            (0..=u8::MAX).map(|byte| model.token_to_id(&format!("<0x{byte:02X}>"))).collect();
        if model.byte_fallback && !shape.joins_bytes {
            return Err("its model spells characters in bytes that its decoder does not join");
        }
        let bytes = byte_ids.filter(|_| model.byte_fallback).and_then(|ids| <Box<[u32; 256]>>::try_from(ids).ok());
        let mut flags = Vec::with_capacity(count + 1);
        let mut letters = Letters::new(bytes.clone());
        let bytes: HashSet<u32> = bytes.iter().flat_map(|bytes| bytes.iter().copied()).collect();
        for (id, token) in (0..).zip(strings) {
            flags.push(flags_of(tokenizer, id, token.is_some(), &bytes, shape)?);
            if let Some(c) = token.and_then(only_char) {
                letters.insert(c, id);
            }
        }
        flags.push(Kind::ODD);
        if letters.of(SPACE_MARKER).is_none() {
            return Err("its model has no token for a space");
        }
        let mut atoms = Atoms::with_capacity(count);
        for (id, token) in (0..).zip(strings) {
            if flags[id as usize] & Kind::BYTE != 0 {
                atoms.push([id]);
                continue;
            }
            let token = token.unwrap_or_default();
            // A space in a token's string is none that a text has.
            let is_spelled = token.chars().all(|c| c != ' ' && letters.of(c).is_some());
            atoms.push(token.chars().filter(|_| is_spelled).filter_map(|c| letters.of(c)));
        }
        Ok(Self { tokenizer, strings, letters, flags, atoms })
    }

    fn pairs(&self, merges: &[RawMerge<'_>]) -> Result<(Pairs, Crossings), Refusal> {
        const UNKNOWN: Refusal = "its merges are of no known kind";
        let ids = Ids::new(self.strings);
        let mut crossings = Crossings::new();
        let mut list = Vec::with_capacity(merges.len());
        let mut made = String::new();
        let mut product = None;
        for (left, right) in merges {
            let id = |token: &str| ids.of(token).ok_or(UNKNOWN);
            // All merges that make one token often stand together.
            let is_made_again = made.strip_prefix(&**left).is_some_and(|rest| rest == right);
            if product.is_none() || !is_made_again {
                made.clear();
                made.push_str(left);
                made.push_str(right);
                product = Some(id(&made)?);
            }
            let merge = Merge { left: id(left)?, right: id(right)?, product: product.ok_or(UNKNOWN)? };
            if [merge.left, merge.right, merge.product].iter().any(|&id| self.flags[id as usize] & Kind::BYTE != 0) {
                return Err("its merges mention tokens for bytes");
            }
            // What no text is spelled with comes up in no run.
            if !self.atoms.of(merge.left).is_empty() && !self.atoms.of(merge.right).is_empty() {
                crossings.insert(left, right);
                list.push(merge);
            }
        }
        let pairs = Pairs::new(self.atoms.clone(), &list).ok_or(UNKNOWN)?;
        Ok((pairs, crossings))
    }

    fn kinds(&self, added: &Trie, pairs: &Pairs) -> Kinds {
        let mut kinds = Kinds::with_capacity(self.flags.len());
        for (id, &flags) in (0..).zip(&self.flags[..self.strings.len()]) {
            let bytes = self.tokenizer.surface(id).unwrap_or_default();
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            if flags & (Kind::BYTE | Kind::ODD) != 0 {
                kinds.push(flags, text, &[0; 4]);
            } else if flags & Kind::HARD != 0 {
                kinds.push(flags, text, &added.goes_on_with(bytes));
            } else {
                let begins = added.begins_in(bytes);
                let alone = if pairs.is_self_canonical(id) { 0 } else { Kind::ALONE };
                let broken = if begins.holds_one { Kind::BROKEN } else { 0 };
                kinds.push(flags | alone | broken, text, &begins.goes_on_with);
            }
        }
        kinds.push(Kind::ODD, "", &[0; 4]);
        kinds
    }
}

fn flags_of(
    tokenizer: &Tokenizer,
    id: u32,
    is_of_model: bool,
    bytes: &HashSet<u32>,
    shape: Shape,
) -> Result<u8, Refusal> {
    let (Some(surface), Some(token)) = (tokenizer.surface(id), tokenizer.token(id)) else { return Ok(Kind::ODD) };
    let is_byte = bytes.contains(&id);
    let flags = match tokenizer.added(id) {
        Some(_) if is_byte => return Err("a token for a byte is an added token"),
        Some(added) if is_odd(added) => Kind::ADDED | Kind::ODD,
        Some(added) if added.token.content != token => {
            return Err("an added token decodes to another text than its own");
        }
        // Its text is found only where bytes spell the marker, and such rows are left to the reference.
        Some(_) if token.contains(SPACE_MARKER) => Kind::ADDED | if is_of_model { 0 } else { Kind::ODD },
        Some(_) if surface == token.as_bytes() => Kind::ADDED | Kind::HARD,
        Some(_) => Kind::ADDED | Kind::ODD,
        None if is_byte => Kind::BYTE,
        None if !is_of_model => Kind::ODD,
        None => 0,
    };
    // The decoder may read more strings as bytes than the encoder writes.
    let may_be_read_as_byte = !is_byte && shape.joins_bytes && token.starts_with("<0x") && surface.len() == 1;
    // Text that spells the unknown token becomes it, as with any added token; but the model gives it for other text, too.
    let may_be_of_other_text = tokenizer.is_unk(id) && flags & Kind::HARD == 0;
    let is_odd = surface.is_empty() || may_be_of_other_text || may_be_read_as_byte;
    Ok(if is_odd { flags | Kind::ODD } else { flags })
}

fn only_char(token: &str) -> Option<char> {
    let mut chars = token.chars();
    chars.next().filter(|_| chars.next().is_none())
}
