//! Random small tokenizers of both shapes and random rows against the reference, in everything a row audit says.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::audit::{PipelineOptions, Row, RowAudit};
use crate::engine::{Answered, Engine};
use crate::error::guarded;
use crate::tokenizer::{LoadOptions, Tokenizer};

/// Characters with a token of their own; `é` and `日` are spelled in bytes, `<` and newline begin added tokens.
const LETTERS: [&str; 6] = ["▁", "a", "b", "<", "\n", "ß"];
const BYTES: [u8; 14] = [0x20, 0x61, 0x0A, b'<', 0xC3, 0xA9, 0xE2, 0x96, 0x81, 0xE6, 0x97, 0xA5, 0x9F, 0xFF];

#[derive(Debug, Clone)]
struct Added {
    content: String,
    /// Strips on either side, single word, normalized.
    flags: [bool; 4],
}

/// When there is an unknown token in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// Where its text is found.
    Found,
    /// There, and for every character without a token.
    OfOtherText,
    /// Never: characters without a token are spelled in bytes, and its text is no added token's.
    Never,
}

#[derive(Debug, Clone)]
struct Plan {
    has_prefix: bool,
    has_split: bool,
    unknown: Unknown,
    /// Each a new token out of two.
    growth: Vec<(Index, Index)>,
    /// Sort keys of the merges; none leaves the order of growth.
    shuffle: Option<Vec<u32>>,
    /// Tokens without a merge.
    strays: Vec<String>,
    added: Vec<Added>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let flags = prop_oneof![6 => Just([false; 4]), 1 => any::<[bool; 4]>()];
    let content = prop_oneof![
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\n\n\n".to_owned()),
        Just("▁▁".to_owned()),
        Just("<b>".to_owned()),
        Just("<s>".to_owned()),
        Just("ab".to_owned()),
        Just(" a".to_owned()),
        Just("b ".to_owned()),
        "[ab< \n▁]{1,3}",
    ];
    let added = (content, flags).prop_map(|(content, flags)| Added { content, flags });
    (
        any::<bool>(),
        any::<bool>(),
        prop_oneof![6 => Just(Unknown::Found), 2 => Just(Unknown::OfOtherText), 1 => Just(Unknown::Never)],
        prop::collection::vec(any::<(Index, Index)>(), 0..14),
        prop::option::weighted(0.3, prop::collection::vec(any::<u32>(), 14)),
        prop::collection::vec("[ab<▁\n ]{2,3}", 0..3),
        prop::collection::vec(added, 0..5),
    )
        .prop_map(|(has_prefix, has_split, unknown, growth, shuffle, strays, added)| Plan {
            has_prefix,
            has_split,
            unknown,
            growth,
            shuffle,
            strays,
            added,
        })
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            has_prefix: false,
            has_split: false,
            unknown: Unknown::Found,
            growth: Vec::new(),
            shuffle: None,
            strays: Vec::new(),
            added: Vec::new(),
        }
    }
}

impl Plan {
    fn file(&self) -> Value {
        let mut tokens: Vec<String> = vec!["<unk>".into()];
        tokens.extend((0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")));
        let letters = tokens.len();
        tokens.extend(LETTERS.map(String::from));
        let mut merges = Vec::new();
        for (left, right) in &self.growth {
            let (left, right) = (left.get(&tokens[letters..]).clone(), right.get(&tokens[letters..]).clone());
            let product = format!("{left}{right}");
            if product.chars().count() <= 6 && !tokens.contains(&product) {
                tokens.push(product);
                merges.push(json!([left, right]));
            }
        }
        if let Some(keys) = &self.shuffle {
            let mut keyed: Vec<_> = keys.iter().zip(merges.clone()).collect();
            keyed.sort_by_key(|(key, _)| **key);
            merges = keyed.into_iter().map(|(_, merge)| merge).collect();
        }
        tokens.extend(self.strays.iter().filter(|stray| !tokens.contains(stray)).cloned().collect::<Vec<_>>());
        tokens.sort_by_key(|token| tokens_order(token));
        tokens.dedup();
        let unk = json!({
            "id": 0, "content": "<unk>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true
        });
        let mut added: Vec<Value> = (self.unknown != Unknown::Never).then_some(unk).into_iter().collect();
        let mut next = tokens.len();
        let mut seen = vec!["<unk>".to_owned()];
        for Added { content, flags: [lstrip, rstrip, single_word, normalized] } in &self.added {
            if seen.contains(content) {
                continue;
            }
            seen.push(content.clone());
            let id = tokens.iter().position(|token| token == content).unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            added.push(json!({
                "id": id, "content": content, "single_word": single_word, "lstrip": lstrip, "rstrip": rstrip,
                "normalized": normalized, "special": false
            }));
        }
        let vocab: serde_json::Map<String, Value> =
            tokens.iter().enumerate().map(|(id, token)| (token.clone(), id.into())).collect();
        let marks = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
        let mut decoders = vec![
            json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
            json!({"type": "ByteFallback"}),
            json!({"type": "Fuse"}),
        ];
        if self.has_prefix {
            decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
        }
        let split = json!({
            "type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false
        });
        json!({
            "version": "1.0",
            "added_tokens": added,
            "normalizer": if self.has_prefix {
                json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, marks]})
            } else {
                marks
            },
            "pre_tokenizer": if self.has_split { split } else { Value::Null },
            "decoder": {"type": "Sequence", "decoders": decoders},
            "model": {
                "type": "BPE", "unk_token": "<unk>", "fuse_unk": true,
                "byte_fallback": self.unknown != Unknown::OfOtherText, "vocab": vocab, "merges": merges
            },
        })
    }
}

/// The unknown token first, then bytes and letters, so that ids do not move with the growth.
fn tokens_order(token: &str) -> (bool, bool, usize) {
    (token != "<unk>", !token.starts_with("<0x"), token.chars().count())
}

/// A row out of tokens, bytes, and what encoding texts gives.
#[derive(Debug, Clone)]
enum Piece {
    Token(Index),
    Byte(Index),
    Text(String),
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        6 => any::<Index>().prop_map(Piece::Token),
        2 => any::<Index>().prop_map(Piece::Byte),
        2 => "([ab<>s \n▁éß日]|<unk>){0,6}".prop_map(Piece::Text),
    ]
}

fn ids(tokenizer: &Tokenizer, pieces: &[Piece]) -> Vec<u32> {
    let mut ids = Vec::new();
    let unk = 0;
    let others: Vec<u32> = std::iter::once(unk).chain(257..tokenizer.outside()).collect();
    for piece in pieces {
        match piece {
            Piece::Token(index) => ids.push(*index.get(&others)),
            Piece::Byte(index) => ids.push(u32::from(*index.get(&BYTES)) + 1),
            Piece::Text(text) => ids.extend(guarded(|| tokenizer.encode(text)).unwrap_or_default()),
        }
    }
    ids
}

fn without_work(audit: RowAudit) -> RowAudit {
    RowAudit { engine: Answered::Reference, encoded_bytes: 0, ..audit }
}

fn compare(tokenizer: &Tokenizer, row: &Row<'_>) -> std::result::Result<Answered, TestCaseError> {
    // The reference refuses some rows with added tokens that strip what stands beside them.
    let audit = |engine| guarded(|| tokenizer.audit(row, PipelineOptions::default(), engine)).ok();
    let fast = audit(Engine::Auto);
    let answered = fast.as_ref().map_or(Answered::Reference, |fast| fast.engine);
    prop_assert_eq!(fast.map(without_work), audit(Engine::Reference).map(without_work));
    Ok(answered)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_row_is_judged_as_the_reference_judges_it(
        plan in plan(),
        rows in prop::collection::vec(prop::collection::vec((piece(), 0..3u8, any::<bool>()), 0..14), 1..12),
        join in prop::option::of(1usize..6),
        lacks_context in any::<bool>(),
    ) {
        let json = serde_json::to_vec(&plan.file()).unwrap();
        // Some added tokens are refused.
        let Ok(tokenizer) = Tokenizer::from_json(&json, LoadOptions::default()) else { return Ok(()) };
        for row in rows {
            let mut row_ids = Vec::new();
            let mut owners = Vec::new();
            let mut mask = Vec::new();
            for (piece, owner, trained) in row {
                row_ids.extend(ids(&tokenizer, &[piece]));
                owners.resize(row_ids.len(), owner);
                mask.resize(row_ids.len(), u8::from(trained));
            }
            let row = Row { ids: &row_ids, join, lacks_context, ..Row::default() };
            compare(&tokenizer, &Row { mask: Some(&mask), owners: Some(&owners), ..row })?;
            compare(&tokenizer, &Row { mask: Some(&mask), ..row })?;
            compare(&tokenizer, &row)?;
        }
    }
}

/// A tokenizer with a few words.
fn small(has_prefix: bool, added: &[&str]) -> Tokenizer {
    let added = added.iter().map(|&content| Added { content: content.to_owned(), flags: [false; 4] }).collect();
    few_words(&Plan { has_prefix, added, ..Plan::default() })
}

fn few_words(plan: &Plan) -> Tokenizer {
    let mut file = plan.file();
    let merges = [["a", "a"], ["▁", "a"], ["▁", "▁"], ["aa", "aa"], ["a", "b"], ["<", "b"]];
    for (at, [left, right]) in merges.iter().enumerate() {
        let vocab = file["model"]["vocab"].as_object_mut().unwrap();
        let next = 1000 + at;
        vocab.entry(format!("{left}{right}")).or_insert_with(|| next.into());
    }
    file["model"]["merges"] = json!(merges);
    Tokenizer::from_json(&serde_json::to_vec(&file).unwrap(), LoadOptions::default()).unwrap()
}

fn answers(tokenizer: &Tokenizer, tokens: &[&str]) -> (Answered, bool, bool) {
    let ids: Vec<u32> = tokens.iter().map(|token| tokenizer.reference().token_to_id(token).unwrap()).collect();
    let row = Row { ids: &ids, ..Row::default() };
    let answered = compare(tokenizer, &row).unwrap();
    let audit = tokenizer.audit(&row, PipelineOptions::default(), Engine::Auto).unwrap();
    (answered, audit.first_diff.is_some(), audit.artefact)
}

const CLEAN: (Answered, bool, bool) = (Answered::Fast, false, false);
const DRIFT: (Answered, bool, bool) = (Answered::Fast, true, false);
const ARTEFACT: (Answered, bool, bool) = (Answered::Fast, true, true);

#[test]
fn a_space_in_front_is_cut_off_and_put_back() {
    let tokenizer = small(true, &["</s>"]);
    assert_eq!(answers(&tokenizer, &["▁", "aa", "b"]), CLEAN);
    assert_eq!(answers(&tokenizer, &["▁", "b"]), CLEAN);
    assert_eq!(answers(&tokenizer, &["▁"]), DRIFT);
    assert_eq!(answers(&tokenizer, &["▁", "</s>"]), DRIFT);
    assert_eq!(answers(&tokenizer, &["b", "▁a"]), DRIFT);
    assert_eq!(answers(&tokenizer, &["▁a", "</s>", "▁a"]), ARTEFACT);
    assert_eq!(answers(&tokenizer, &["▁a", "</s>", "a"]), DRIFT);
    assert_eq!(answers(&tokenizer, &["</s>", "</s>"]), CLEAN);
}

#[test]
fn without_a_prefix_added_tokens_leave_everything_alone() {
    let tokenizer = small(false, &["\n", "\n\n", "<b>", "▁▁", "<e>"]);
    assert_eq!(answers(&tokenizer, &["aa", "\n", "▁a", "<e>", "a", "▁▁", "b"]), CLEAN);
    assert_eq!(answers(&tokenizer, &["a", "\n", "\n", "a"]), DRIFT);
    assert_eq!(answers(&tokenizer, &["a", "\n\n", "\n", "a"]), CLEAN);
    assert_eq!(answers(&tokenizer, &["<b>", "aa", "<e>", "a", "a", "<e>", "aa"]), DRIFT);
    assert_eq!(answers(&tokenizer, &["<", "a", "<b"]), CLEAN);
}

#[test]
fn bytes_stay_where_they_spell_what_has_no_token() {
    let tokenizer = small(false, &["<e>"]);
    assert_eq!(answers(&tokenizer, &["a", "<0xC3>", "<0xA9>", "a"]), CLEAN);
    assert_eq!(answers(&tokenizer, &["a", "<0x61>", "a"]), DRIFT);
    assert_eq!(answers(&tokenizer, &["a", "<0xC3>", "<e>"]), DRIFT);
    assert_eq!(answers(&tokenizer, &["<0xC3>", "<0xA9>", "<0xC3>"]), DRIFT);
}

#[test]
fn the_unknown_token_is_an_added_token_where_its_text_is_found() {
    let tokenizer = small(true, &["</s>"]);
    assert_eq!(answers(&tokenizer, &["▁a", "<unk>"]), CLEAN);
    assert_eq!(answers(&tokenizer, &["▁a", "<unk>", "▁a"]), ARTEFACT);
    assert_eq!(answers(&tokenizer, &["▁a", "<unk>", "aa", "</s>"]), DRIFT);
    let found_nowhere = few_words(&Plan { unknown: Unknown::Never, ..Plan::default() });
    assert_eq!(answers(&found_nowhere, &["a", "<unk>"]).0, Answered::Reference);
    let of_other_text = few_words(&Plan { unknown: Unknown::OfOtherText, ..Plan::default() });
    assert_eq!(answers(&of_other_text, &["a", "<unk>", "a", "<unk>"]), CLEAN);
}

#[test]
fn the_reference_judges_what_is_not_proven() {
    let tokenizer = small(false, &["<e>"]);
    assert_eq!(answers(&tokenizer, &["<0xE2>", "<0x96>", "<0x81>"]).0, Answered::Reference);
}

#[test]
fn one_token_a_million_times_takes_no_longer_than_it_must() {
    let tokenizer = small(true, &["\n", "\n\n", "<b>"]);
    for token in ["a", "aa", "▁", "\n", "<", "<0x61>", "<0xA9>"] {
        let ids = vec![tokenizer.reference().token_to_id(token).unwrap(); 200_000];
        let audit = tokenizer.audit(&Row { ids: &ids, ..Row::default() }, PipelineOptions::default(), Engine::Auto);
        assert_eq!(audit.unwrap().engine, Answered::Fast, "{token:?}");
    }
}

#[test]
fn other_shapes_are_refused() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut file = Plan { has_prefix: true, ..Plan::default() }.file();
        change(&mut file);
        let tokenizer = Tokenizer::from_json(&serde_json::to_vec(&file).unwrap(), LoadOptions::default()).unwrap();
        tokenizer.unproven().map(|unproven| unproven.reason.clone())
    };
    assert_eq!(refused(&|_| {}), None);
    let family = Some("its normalizer, pre-tokenizer and decoder are of no known family".to_owned());
    assert_eq!(refused(&|file| file["normalizer"] = json!({"type": "NFC"})), family);
    assert_eq!(refused(&|file| file["pre_tokenizer"] = json!({"type": "Whitespace"})), family);
    assert_eq!(refused(&|file| drop(file["decoder"]["decoders"].as_array_mut().unwrap().pop())), family);
    assert!(refused(&|file| file["model"]["ignore_merges"] = true.into()).is_some());
    let merges_bytes = |file: &mut Value| {
        file["model"]["vocab"]["<0x4"] = 1000.into();
        file["model"]["vocab"]["1>"] = 1001.into();
        file["model"]["merges"] = json!([["<0x4", "1>"]]);
    };
    assert_eq!(refused(&merges_bytes), Some("its merges mention tokens for bytes".to_owned()));
}
