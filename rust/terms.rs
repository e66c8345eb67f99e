//! What both fast engines ask of a tokenizer before they take it.

use tokenizers::models::bpe::BPE;
use tokenizers::{Model, ModelWrapper};

use crate::file::File;
use crate::pairs::ID_LIMIT;
use crate::tokenizer::Tokenizer;

/// Why there is no fast engine, in words for a report.
pub(crate) type Refusal = &'static str;

/// The model, a BPE whose symbols are the same wherever they stand.
pub(crate) fn model(tokenizer: &Tokenizer) -> Result<&BPE, Refusal> {
    let ModelWrapper::BPE(model) = tokenizer.reference().get_model() else {
        return Err("its model is no BPE");
    };
    let is_set = |affix: &Option<String>| affix.as_ref().is_some_and(|affix| !affix.is_empty());
    if is_set(&model.continuing_subword_prefix) || is_set(&model.end_of_word_suffix) {
        return Err("its symbols depend on their place in the word");
    }
    Ok(model)
}

/// One more than the largest id; it stands for all ids outside the vocabulary.
pub(crate) fn count(tokenizer: &Tokenizer) -> Result<u32, Refusal> {
    let count = tokenizer.outside();
    if count > ID_LIMIT { Err("its ids are too many or too far apart") } else { Ok(count) }
}

/// The strings of the model's tokens, by id.
///
/// No two have one id, as those of a vocabulary with gaps may that tokens were added to: what decoding prints for an id would not
/// be what the model made it of.
pub(crate) fn strings<'t>(tokenizer: &'t Tokenizer, model: &BPE, count: u32) -> Result<Vec<Option<&'t str>>, Refusal> {
    let string = |id| match tokenizer.added(id) {
        // Of one that is looked for in the normalized text, decoding gives another.
        Some(added) => Some(added.token.content.as_str()).filter(|content| model.token_to_id(content) == Some(id)),
        None => tokenizer.token(id),
    };
    let strings: Vec<_> = (0..count).map(string).collect();
    // Of the model are at least as many ids as are left, and at most as many as it has strings.
    let is_one_each = strings.iter().flatten().count() == model.get_vocab_size();
    if is_one_each { Ok(strings) } else { Err("two of its tokens have one id") }
}

/// The file that the tokenizer was read from.
pub(crate) fn file(json: &[u8]) -> Result<File<'_>, Refusal> {
    serde_json::from_slice(json).map_err(|_| "its file is written in an unknown way")
}

/// The texts of special tokens are looked for as those of all added tokens are.
pub(crate) fn special_texts(tokenizer: &Tokenizer) -> Result<(), Refusal> {
    if tokenizer.reference().get_encode_special_tokens() {
        return Err("the texts of its special tokens are encoded as ordinary text");
    }
    Ok(())
}

/// No added token is spelled like bytes that are no UTF-8.
pub(crate) fn added_text(content: &str) -> Result<(), Refusal> {
    if content.contains(char::REPLACEMENT_CHARACTER) {
        return Err("an added token holds a replacement character");
    }
    Ok(())
}
