//! Small tokenizers of every family.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::tokenizer::Trainer;

use crate::byte_level;
use crate::split::tests::section;
use crate::tokenizer::{LoadOptions, Tokenizer};

/// What merges are learned from, each beside each, and what rows are made of.
pub(super) const PHRASES: [&str; 49] = [
    " ",
    "  ",
    "\n",
    "\r\n",
    " \n",
    "\t",
    "\u{a0}",
    "\u{3000}x",
    "1",
    "27",
    " 123",
    "٣½",
    "²",
    "'s",
    "'S",
    "'ll",
    "'LL",
    "'ve",
    "'re",
    "'t",
    "'ſ",
    "it's",
    " don't",
    "'string",
    "the",
    " the",
    "The",
    "THe",
    "aB",
    ".",
    "...",
    ".\n",
    "!!\n\n",
    " =",
    "//\n/",
    "(x",
    "_a",
    "日本",
    "あ・い",
    "é",
    "e\u{301}",
    "\u{301}",
    "\u{327}\u{301}",
    "\u{301}\u{327}",
    "\u{316}\u{301}",
    "ᄒ\u{1161}",
    "क\u{93c}",
    "😀",
    "\u{fffd}",
];
/// Added tokens. Of some of them the front can be the end of another, or their text lies in another.
pub(super) const ADDED: [&str; 5] = ["<|im|>", "<a>", "|im", "a>\n", "日"];
/// Added tokens that keep apart.
pub(super) const APART: [&str; 4] = ["<|im|>", "<a>", "[x]", "\u{327}é"];
/// Added tokens of which one begins another.
pub(super) const NESTED: [&str; 6] = ["<|im|>", "<a>", "[x]", "(y)", "\t\t", "\t\t\t"];
/// Tokens beside the bytes.
const GROWTH: usize = 600;

/// What a tokenizer is made of.
#[derive(Clone, Copy, Default)]
pub(super) struct Kind {
    pub(super) family: &'static str,
    pub(super) nfc: bool,
    /// `ignore_merges`, and some merges are missing.
    pub(super) whole_words: bool,
    pub(super) added: &'static [&'static str],
    /// The flags of the first of the added tokens. Where it is `normalized`, the reference looks for it last of all.
    pub(super) flags: &'static [&'static str],
    /// Merges in another order than they were learned in: not every token is what its bytes are encoded to.
    pub(super) scrambled: bool,
}

/// Vocabulary and merges, learned across what pre-tokenizers would cut.
pub(super) static LEARNED: LazyLock<(BTreeMap<String, u32>, Vec<Value>)> = LazyLock::new(|| {
    let alphabet = ByteLevel::alphabet().into_iter().collect();
    let trainer =
        BpeTrainer::builder().vocab_size(256 + GROWTH).initial_alphabet(alphabet).show_progress(false).build();
    let mut trainer = TrainerWrapper::from(trainer);
    let pairs = PHRASES.iter().flat_map(|left| PHRASES.iter().map(move |right| format!("{left}{right}{right}{left}")));
    let texts: Vec<String> = pairs.collect();
    trainer.feed(texts.iter(), |text| Ok(vec![spelled(text.as_bytes())])).unwrap();
    let mut model = tokenizers::ModelWrapper::from(BPE::default());
    trainer.train(&mut model).unwrap();
    let model = serde_json::to_value(&model).unwrap();
    let vocab = serde_json::from_value(model["vocab"].clone()).unwrap();
    (vocab, model["merges"].as_array().unwrap().clone())
});

impl Kind {
    /// A tokenizer of what was learned.
    pub(super) fn learned(self) -> Tokenizer {
        let (vocab, mut merges) = LEARNED.clone();
        if self.whole_words {
            merges = merges.into_iter().enumerate().filter(|(rank, _)| rank % 7 != 3).map(|(_, merge)| merge).collect();
        }
        if self.scrambled {
            let half = merges.len() / 2;
            (0..half).step_by(3).for_each(|rank| merges.swap(rank, rank + half));
        }
        self.tokenizer(&vocab, &merges)
    }

    /// A tokenizer of these tokens and what it takes to make them: each is merged from the left, character by character.
    /// Nothing makes those that are `unmade`.
    pub(super) fn of_few(self, tokens: &[&str], unmade: &[&str]) -> Tokenizer {
        let (mut vocab, mut merges) = (BTreeMap::new(), Vec::new());
        let mut make = |left: &[u8], right: &[u8]| {
            let next = u32::try_from(vocab.len()).unwrap();
            let is_new = *vocab.entry(spelled(&[left, right].concat())).or_insert(next) == next;
            if is_new && !left.is_empty() {
                merges.push(json!([spelled(left), spelled(right)]));
            }
        };
        for text in tokens {
            for (at, c) in text.char_indices() {
                let bytes = &text.as_bytes()[at..at + c.len_utf8()];
                for end in 0..bytes.len() {
                    make(&[], &bytes[end..=end]);
                    make(&bytes[..end], &bytes[end..=end]);
                }
                make(&text.as_bytes()[..at], bytes);
            }
        }
        for text in unmade {
            make(&[], text.as_bytes());
        }
        self.tokenizer(&vocab, &merges)
    }

    fn tokenizer(self, vocab: &BTreeMap<String, u32>, merges: &[Value]) -> Tokenizer {
        let first = vocab.len();
        let added: Vec<Value> = (first..)
            .zip(self.added)
            .map(|(id, content)| {
                let has = |flag| id == first && self.flags.contains(&flag);
                json!({"id": id, "content": content, "single_word": has("single_word"), "lstrip": has("lstrip"),
                       "rstrip": has("rstrip"), "normalized": has("normalized"), "special": id % 2 == 0})
            })
            .collect();
        let json = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
            "normalizer": self.nfc.then(|| json!({"type": "NFC"})), "pre_tokenizer": section(self.family),
            "post_processor": null,
            "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
                      "ignore_merges": self.whole_words, "vocab": vocab, "merges": merges},
        });
        let tokenizer = Tokenizer::from_json(json.to_string().as_bytes(), LoadOptions::default()).unwrap();
        assert_eq!(tokenizer.unproven(), None);
        tokenizer
    }
}

/// Bytes in the stand-ins of byte-level vocabularies.
fn spelled(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| byte_level::char_of(byte)).collect()
}
