//! Properties that hold for every tokenizer and every id sequence, on tokenizers that are drawn too.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use proptest::prelude::*;
use serde_json::{Value, json};
use tito_audit::audit::{PipelineOptions, Row, RowAudit};
use tito_audit::batch::{Batch, Ids};
use tito_audit::cause::Cause;
use tito_audit::tokenizer::{LoadOptions, Tokenizer};

/// Kinds of byte pair encoding that are built from drawn merges.
const KINDS: [&str; 5] = ["byte_level", "byte_level_nfc", "prefix_space", "sentencepiece", "plain"];

/// A tokenizer.json with an alphabet, the drawn merges, and the stages of one kind.
fn tokenizer_json(kind: &str, merges: &[(usize, usize)], ignore_merges: bool) -> Value {
    let byte_fallback = kind == "sentencepiece";
    let alphabet: Vec<String> = match kind {
        "sentencepiece" => "▁ab\n".chars().map(String::from).collect(),
        "plain" => "ab é".chars().map(String::from).collect(),
        _ => "abeĠĊÃ©ÌģğŁĺĢ".chars().map(String::from).collect(),
    };
    let mut symbols = alphabet;
    let mut rules = Vec::new();
    for &(left, right) in merges {
        let (left, right) = (symbols[left % symbols.len()].clone(), symbols[right % symbols.len()].clone());
        let joined = format!("{left}{right}");
        if !symbols.contains(&joined) {
            symbols.push(joined);
        }
        rules.push(json!([left, right]));
    }
    if byte_fallback {
        symbols.extend((0..=255u8).map(|byte| format!("<0x{byte:02X}>")));
        symbols.push("<unk>".to_owned());
    }
    let vocab: serde_json::Map<String, Value> =
        symbols.into_iter().enumerate().map(|(id, symbol)| (symbol, id.into())).collect();
    let special = json!({"id": vocab.len(), "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                         "normalized": false, "special": true});
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": kind == "prefix_space", "trim_offsets": true,
                            "use_regex": true});
    let replace = |from: &str, to: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": to});
    let (normalizer, pre_tokenizer, decoder) = match kind {
        "sentencepiece" => (
            json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")]}),
            Value::Null,
            json!({"type": "Sequence", "decoders": [replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                   {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}),
        ),
        "plain" => (Value::Null, Value::Null, json!({"type": "Fuse"})),
        "byte_level_nfc" => (json!({"type": "NFC"}), byte_level.clone(), byte_level),
        _ => (Value::Null, byte_level.clone(), byte_level),
    };
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [special], "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": decoder,
        "model": {"type": "BPE", "dropout": null, "unk_token": byte_fallback.then_some("<unk>"),
                  "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": byte_fallback,
                  "byte_fallback": byte_fallback, "ignore_merges": ignore_merges, "vocab": vocab, "merges": rules},
    })
}

fn load(json: &Value) -> Tokenizer {
    Tokenizer::from_json(json.to_string().as_bytes(), LoadOptions::default()).unwrap()
}

#[derive(Debug, Clone)]
struct Case {
    json: Value,
    ids: Vec<i64>,
    mask: Vec<u8>,
}

prop_compose! {
    fn case()(
        kind in prop::sample::select(&KINDS[..]),
        merges in prop::collection::vec((0usize..40, 0usize..40), 0..16),
        ignore_merges in any::<bool>(),
        ids in prop::collection::vec(prop_oneof![20 => 0i64..40, 1 => -1i64..600], 0..16),
        mask_seed in any::<u16>(),
    ) -> Case {
        let mask = (0..ids.len()).map(|index| u8::from(mask_seed >> (index % 16) & 1 == 1)).collect();
        Case { json: tokenizer_json(kind, &merges, ignore_merges), ids, mask }
    }
}

fn audit(case: &Case) -> (Tokenizer, Vec<u32>, RowAudit) {
    let tokenizer = load(&case.json);
    let ids: Vec<u32> = case.ids.iter().map(|&id| tokenizer.known(id)).collect();
    let row = Row { ids: &ids, mask: Some(&case.mask), ..Row::default() };
    let audit = tokenizer.audit(&row, PipelineOptions::default()).unwrap();
    (tokenizer, ids, audit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_verdict_is_that_of_the_reference_and_spans_rebuild_it(case in case()) {
        let reference = tokenizers::Tokenizer::from_bytes(case.json.to_string().as_bytes()).unwrap();
        let (tokenizer, ids, audit) = audit(&case);
        let known: Vec<u32> = ids.iter().copied().filter(|&id| !tokenizer.is_unknown(id)).collect();
        let text = reference.decode(&known, false).unwrap();
        let expected = reference.encode_fast(text.as_str(), false).unwrap().get_ids().to_vec();
        prop_assert_eq!(&audit.reencoded, &expected);
        prop_assert_eq!(audit.first_diff.is_some(), ids != expected);

        let mut rebuilt = Vec::new();
        let mut done = 0;
        for finding in &audit.findings {
            rebuilt.extend_from_slice(&ids[done..finding.span.sampled.start]);
            rebuilt.extend_from_slice(&expected[finding.span.reencoded.clone()]);
            done = finding.span.sampled.end;
        }
        rebuilt.extend_from_slice(&ids[done..]);
        prop_assert_eq!(&rebuilt, &expected);
        prop_assert_eq!(audit.first_diff, audit.findings.first().map(|finding| finding.span.sampled.start));
        prop_assert!(audit.located, "every BPE places its tokens");
    }

    #[test]
    fn the_encode_trace_covers_what_it_says(case in case()) {
        let (tokenizer, ids, audit) = audit(&case);
        let text = tokenizer.decode(&ids, false).unwrap();
        let trace = tokenizer.trace_encode(&text).unwrap();
        prop_assert_eq!(&trace.ids, &audit.reencoded);
        prop_assert!(trace.ranges.is_sorted_by_key(|range| range.start));
        if trace.changed.is_empty() {
            // A token lies on the bytes it stands for, but for a space put in front and bytes that are in no vocabulary
            // entry: those are dropped, and a token can reach across them.
            for (&id, range) in trace.ids.iter().zip(&trace.ranges).filter(|(id, _)| !tokenizer.is_unk(**id)) {
                let surface = tokenizer.surface(id).unwrap();
                let bytes = &text.as_bytes()[range.clone()];
                let kept = |bytes: &[u8]| -> Vec<u8> {
                    let in_vocab = |byte: &u8| *byte == b' ' || surface.contains(byte);
                    bytes.iter().copied().filter(in_vocab).collect()
                };
                let lies_on = |surface: &[u8]| surface == kept(bytes) && surface.first() == bytes.first() && surface.last() == bytes.last();
                prop_assert!(lies_on(surface) || surface.strip_prefix(b" ").is_some_and(lies_on), "{id} {surface:?} {bytes:?}");
            }
        }
    }

    #[test]
    fn straddling_tokens_are_those_whose_bytes_have_both_mask_values(case in case()) {
        let (tokenizer, ids, audit) = audit(&case);
        let text = tokenizer.decode(&ids, false).unwrap();
        let sampled = tokenizer.trace_decode(&ids, &text).unwrap().ranges;
        let reencoded = tokenizer.trace_encode(&text).unwrap().ranges;
        let masks_on = |at: usize| {
            sampled.iter().zip(&case.mask).filter(move |(range, _)| range.contains(&at)).map(|(_, &mask)| mask)
        };
        let straddles = |range: &std::ops::Range<usize>| {
            [0, 1].iter().all(|value| range.clone().any(|at| masks_on(at).any(|mask| mask == *value)))
        };
        let expected: Vec<usize> =
            reencoded.iter().enumerate().filter(|(_, range)| straddles(range)).map(|(index, _)| index).collect();
        // A clean row cannot straddle: its re-encoded tokens are the sampled ones.
        let found: Vec<usize> = audit.straddling.iter().map(|token| token.index).collect();
        prop_assert_eq!(found, if audit.first_diff.is_some() { expected } else { Vec::new() });
    }

    #[test]
    fn a_clean_sequence_never_has_a_span_and_encoding_again_is_clean(case in case()) {
        let (tokenizer, ids, audit) = audit(&case);
        prop_assert_eq!(audit.findings.is_empty(), audit.first_diff.is_none());
        if audit.findings.iter().all(|finding| finding.cause == Cause::Merge) && !ids.is_empty() {
            let again = tokenizer.audit(&Row { ids: &audit.reencoded, ..Row::default() }, PipelineOptions::default()).unwrap();
            prop_assert_eq!(again.first_diff, None, "merging is idempotent where the text does not change");
        }
    }

    #[test]
    fn threads_and_widths_give_the_same_rows(case in case(), rows in 1usize..9) {
        let tokenizer = load(&case.json);
        let ids: Vec<i64> = case.ids.iter().copied().cycle().take(case.ids.len() * rows).collect();
        let mask: Vec<u8> = case.mask.iter().copied().cycle().take(ids.len()).collect();
        let step = i64::try_from(case.ids.len()).unwrap();
        let offsets: Vec<i64> = (0..=i64::try_from(rows).unwrap()).map(|row| row * step).collect();
        let narrow: Vec<i32> = ids.iter().map(|&id| i32::try_from(id).unwrap()).collect();
        let run = |ids, threads| -> Vec<RowAudit> {
            let batch = Batch::new(ids, &offsets).unwrap().with_mask(Some(&mask)).unwrap();
            batch.audit(&tokenizer, PipelineOptions::default(), threads).into_iter().map(Result::unwrap).collect()
        };
        let one = run(Ids::I64(&ids), 1);
        prop_assert_eq!(one.len(), rows);
        prop_assert_eq!(&one, &run(Ids::I64(&ids), 3));
        prop_assert_eq!(&one, &run(Ids::I32(&narrow), 2));
        prop_assert!(one.iter().all(|row| row == &one[0]));
    }
}

#[test]
fn the_linked_version_is_the_locked_one() {
    let lock = include_str!("../Cargo.lock");
    let locked = format!("name = \"tokenizers\"\nversion = \"{}\"", tito_audit::TOKENIZERS_VERSION);
    assert!(lock.contains(&locked), "TOKENIZERS_VERSION must follow Cargo.lock");
}

#[test]
fn ragged_input_that_does_not_fit_is_refused() {
    let ids = [0i64, 1, 2];
    for offsets in [&[][..], &[0], &[1, 3], &[0, 2], &[0, 2, 1, 3], &[0, -1, 3]] {
        assert!(Batch::new(Ids::I64(&ids), offsets).is_err(), "{offsets:?}");
    }
    let batch = Batch::new(Ids::I64(&ids), &[0, 3]).unwrap();
    assert!(batch.clone().with_mask(Some(&[1, 0])).is_err());
    assert!(batch.clone().with_mask(Some(&[1, 0, 2])).is_err());
    assert!(batch.with_owners(Some(&[1])).is_err());
}
