//! Making the engine of a tokenizer, or saying why there is none.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use tokenizers::Model;

use super::Fast;
use super::added::AddedTexts;
use super::cuts::Cuts;
use super::doubtful::Doubtful;
use super::fragments::fragments;
use super::normal::{Composition, Normal};
use super::texts::Texts;
use super::words::Words;
use crate::byte_level;
use crate::few_ids::FewIds;
use crate::file::RawMerge;
use crate::ids::Ids;
use crate::machine::{self, Builder, Kinds, States, Sync, Traits};
use crate::pairs::{Atoms, Merge, Pairs};
use crate::split::Splitter;
use crate::terms::{self, Refusal};
use crate::tokenizer::Tokenizer;

impl Fast {
    /// The engine of `tokenizer`, which was read from `json`.
    ///
    /// # Errors
    /// Why it is not proven for this tokenizer.
    pub(crate) fn new(tokenizer: &Tokenizer, json: &[u8]) -> Result<Self, Refusal> {
        let model = terms::model(tokenizer)?;
        let file = terms::file(json)?;
        let splitter = Splitter::recognise(&file.pre_tokenizer).ok_or("its pre-tokenizer is of no known family")?;
        let normal = normal(&file.normalizer).ok_or("its normalizer is of no known kind")?;
        let added = added(tokenizer, &normal)?;
        let count = terms::count(tokenizer)?;
        let strings = terms::strings(tokenizer, model, count)?;
        let texts = Texts::new(count, tokenizer.surfaces(), &splitter).ok_or("one of its tokens is too long")?;

        let atoms = std::array::from_fn(|byte| {
            let byte = u8::try_from(byte).expect("there are 256 bytes");
            model.token_to_id(byte_level::char_of(byte).encode_utf8(&mut [0; 4]))
        });
        let ids = Ids::new(&strings);
        let mut pairs =
            pairs(&ids, &file.model.merges.0, &texts, count, &atoms).ok_or("its merges are of no known kind")?;
        let mut comes_back = vec![false; count as usize + 1].into_boxed_slice();
        let mut whole_words = HashMap::new();
        let mut forbidden = HashSet::new();
        for id in (0..count).filter(|&id| tokenizer.added(id).is_none()) {
            let is_made = pairs.is_self_canonical(id);
            // The whole-word rule goes by the token's string, which not every odd token spells its bytes with.
            let is_word = model.ignore_merges && tokenizer.is_spelled_in_bytes(id);
            comes_back[id as usize] = is_made || is_word;
            if is_word && !is_made {
                let bytes = texts.bytes(id);
                let mut symbols = bytes.iter().map(|&byte| atoms[usize::from(byte)]).collect::<Option<Vec<u32>>>();
                if let Some(symbols) = &mut symbols {
                    pairs.encode(symbols);
                    forbidden.extend(symbols.first().copied().zip(symbols.get(1).copied()));
                }
                whole_words.insert(bytes.into(), id);
            }
        }
        for &(left, right) in &forbidden {
            pairs.forbid(left, right);
        }

        let family = Family(&splitter);
        let states = States::new(&family, machine::CONTINUATION).ok_or("its pre-tokenizer has too many states")?;
        let sync = Sync::new(&family, &states, machine::CONTEXT);
        let doubtful = Doubtful::new(tokenizer, &normal);
        let overlapping = added.overlapping();
        // Where one can share bytes with another one, the texts around it have to be looked at. A doubtful one stands beside
        // nothing that reaches into it, or the row is the reference's.
        let keeps_apart = |id: u32| doubtful.holds(id) || !overlapping.contains(texts.bytes(id));
        let borders: FewIds<bool> = tokenizer.added_tokens().keys().map(|&id| (id, keeps_apart(id))).collect();
        let kinds = kinds(&borders, &splitter, &states, &texts, &added, &normal, &comes_back)
            .ok_or("its tokens are of too many kinds")?;
        let cuts = Cuts::new(&texts, &kinds, &sync, splitter.classes());
        let words = Words::new(&texts, (0..count).filter(|&id| pairs.is_self_canonical(id)));
        Ok(Self {
            splitter,
            states,
            kinds,
            cuts,
            words,
            pairs,
            texts,
            added,
            doubtful,
            normal,
            atoms,
            comes_back,
            whole_words: model.ignore_merges.then_some(whole_words),
            forbidden,
        })
    }
}

/// A splitter as the enumeration sees it.
struct Family<'s>(&'s Splitter);

impl machine::Split for Family<'_> {
    fn classes(&self) -> usize {
        self.0.classes()
    }

    fn next_end(&self, text: &[u8], start: usize) -> usize {
        self.0.next_end(text, start)
    }
}

fn normal(section: &Value) -> Option<Normal> {
    match section.get("type") {
        None => section.is_null().then_some(Normal::Identity),
        Some(kind) if kind == "NFC" => Some(Normal::Composed(Composition::new())),
        Some(kind) if kind == "Sequence" => match &section.get("normalizers")?.as_array()?[..] {
            [] => Some(Normal::Identity),
            [one] => normal(one),
            _ => None,
        },
        Some(_) => None,
    }
}

fn added(tokenizer: &Tokenizer, normal: &Normal) -> Result<AddedTexts, Refusal> {
    terms::special_texts(tokenizer)?;
    let tokens = || tokenizer.added_tokens().values().map(|added| &added.token);
    if tokens().any(|token| token.content.is_empty()) {
        return Err("an added token has no text");
    }
    if tokens().any(|token| token.normalized && !normal.keeps(&token.content)) {
        return Err("its normalizer changes the text of an added token that is looked for behind it");
    }
    tokens().try_for_each(|token| terms::added_text(&token.content))?;
    // What decoding prints for a token is its content only if the decoder does not read it as stand-ins for bytes.
    if tokenizer.added_tokens().iter().any(|(&id, added)| tokenizer.surface(id) != Some(added.token.content.as_bytes()))
    {
        return Err("the text of an added token is not what decoding prints for it");
    }
    Ok(AddedTexts::new(tokens().map(|token| token.content.as_bytes())))
}

fn pairs(
    ids: &Ids<'_>,
    merges: &[RawMerge<'_>],
    texts: &Texts,
    count: u32,
    atoms: &[Option<u32>; 256],
) -> Option<Pairs> {
    let mut product = String::new();
    let merge = |(left, right): &RawMerge<'_>| {
        product.clear();
        product.push_str(left);
        product.push_str(right);
        Some(Merge { left: ids.of(left)?, right: ids.of(right)?, product: ids.of(&product)? })
    };
    let merges: Vec<Merge> = merges.iter().map(merge).collect::<Option<_>>()?;
    let mut spelled = Atoms::with_capacity(count as usize);
    for id in 0..count {
        let bytes = texts.bytes(id);
        let is_spelled = bytes.iter().all(|&byte| atoms[usize::from(byte)].is_some());
        spelled.push(bytes.iter().filter(|_| is_spelled).filter_map(|&byte| atoms[usize::from(byte)]));
    }
    Pairs::new(spelled, &merges)
}

/// The kinds of all tokens. Of the added tokens those keep apart that `borders` says.
fn kinds(
    borders: &FewIds<bool>,
    splitter: &Splitter,
    states: &States,
    texts: &Texts,
    added: &AddedTexts,
    normal: &Normal,
    comes_back: &[bool],
) -> Option<Kinds> {
    let (_outside, comes_back) = comes_back.split_last()?;
    let mut kinds = Builder::new(states, comes_back.len());
    let beyond_ascii = splitter.classes_beyond_ascii();
    for (id, &comes_back) in (0..).zip(comes_back) {
        let bytes = texts.bytes(id);
        if let Some(&keeps_apart) = borders.get(id) {
            if keeps_apart {
                kinds.set_border(id);
            }
        } else if comes_back {
            match std::str::from_utf8(bytes) {
                Ok(text) if !text.is_empty() && normal.keeps(text) => {
                    let traits = Traits { may_begin_added: added.may_begin_in(bytes), ..normal.traits(text) };
                    kinds.set(id, texts.classes(id), traits)?;
                }
                Ok(_) => {}
                Err(_) => {
                    for fragment in fragments(bytes, splitter, &beyond_ascii) {
                        kinds.set_fragment(fragment);
                    }
                }
            }
        }
    }
    Some(kinds.finish(states))
}
