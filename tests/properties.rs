//! Properties that hold for every tokenizer and every id sequence, on tokenizers that are drawn too.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use proptest::prelude::*;
use serde_json::{Value, json};
use tito_audit::audit::{PipelineOptions, Row, RowAudit};
use tito_audit::batch::{Batch, Ids};
use tito_audit::cause::Cause;
use tito_audit::engine::{Answered, Engine};
use tito_audit::realised::{Kind, Pair, Realised};
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
    let audit = tokenizer.audit(&row, PipelineOptions::default(), Engine::Auto).unwrap();
    (tokenizer, ids, audit)
}

/// What a row's ids come back as: those of a clean row are its own.
fn reencoded<'a>(ids: &'a [u32], audit: &'a RowAudit) -> &'a [u32] {
    if audit.first_diff.is_some() { &audit.reencoded } else { ids }
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
        prop_assert_eq!(reencoded(&ids, &audit), &expected);
        prop_assert_eq!(audit.first_diff.is_some(), ids != expected);
        prop_assert!(audit.first_diff.is_some() || audit.reencoded.is_empty());

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
        prop_assert_eq!(&trace.ids, reencoded(&ids, &audit));
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
    fn provenance_of_many_rows_over_threads_is_that_of_the_traced_decoder(case in case(), cuts in prop::collection::vec(0usize..16, 0..6), threads in 1usize..5) {
        let tokenizer = load(&case.json);
        let mut ends: Vec<usize> = cuts.into_iter().map(|cut| cut % (case.ids.len() + 1)).chain([0, case.ids.len()]).collect();
        ends.sort_unstable();
        let offsets: Vec<i64> = ends.iter().map(|&end| i64::try_from(end).unwrap()).collect();
        for owners in [None, Some(&case.mask[..])] {
            let batch = Batch::new(Ids::I64(&case.ids), &offsets).unwrap().with_owners(owners).unwrap();
            let columns = batch.provenance(&tokenizer, threads);
            prop_assert!(columns.errors().is_empty());
            for (row, pair) in ends.windows(2).enumerate() {
                let ids: Vec<u32> = case.ids[pair[0]..pair[1]].iter().map(|&id| tokenizer.known(id)).collect();
                let (text, expected) = tokenizer.provenance(&ids, owners.map(|owners| &owners[pair[0]..pair[1]])).unwrap();
                let at = columns.offsets()[row].try_into().unwrap()..columns.offsets()[row + 1].try_into().unwrap();
                prop_assert_eq!(&columns.text()[at.clone()], text.as_bytes());
                prop_assert_eq!(columns.byte_owner().get(at.clone()).unwrap_or_default(), expected.byte_owner);
                let tokens: Vec<usize> = columns.byte_token()[at].iter().map(|&token| token.try_into().unwrap()).collect();
                prop_assert_eq!(tokens, expected.byte_token);
            }
            prop_assert_eq!(columns, batch.provenance(&tokenizer, 1));
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
            let row = Row { ids: reencoded(&ids, &audit), ..Row::default() };
            let again = tokenizer.audit(&row, PipelineOptions::default(), Engine::Auto).unwrap();
            prop_assert_eq!(again.first_diff, None, "merging is idempotent where the text does not change");
        }
    }

    #[test]
    fn whichever_engine_may_answer_the_row_is_the_same(case in case()) {
        let (tokenizer, ids, audit) = audit(&case);
        let row = Row { ids: &ids, mask: Some(&case.mask), ..Row::default() };
        let expected = tokenizer.audit(&row, PipelineOptions::default(), Engine::Reference).unwrap();
        prop_assert_eq!(expected.engine, Answered::Reference);
        // Who answered and what work it took is no part of the verdict.
        prop_assert_eq!(RowAudit { engine: expected.engine, encoded_bytes: expected.encoded_bytes, ..audit }, expected);
    }

    #[test]
    fn threads_and_widths_give_the_same_rows(case in case(), rows in 1usize..9) {
        let tokenizer = load(&case.json);
        let ids: Vec<i64> = case.ids.iter().copied().cycle().take(case.ids.len() * rows).collect();
        let mask: Vec<u8> = case.mask.iter().copied().cycle().take(ids.len()).collect();
        let step = i64::try_from(case.ids.len()).unwrap();
        let offsets: Vec<i64> = (0..=i64::try_from(rows).unwrap()).map(|row| row * step).collect();
        let narrow: Vec<i32> = ids.iter().map(|&id| i32::try_from(id).unwrap()).collect();
        let run = |ids, threads| {
            let batch = Batch::new(ids, &offsets).unwrap().with_mask(Some(&mask)).unwrap();
            batch.audit(&tokenizer, PipelineOptions::default(), Engine::Auto, threads)
        };
        let one = run(Ids::I64(&ids), 1);
        prop_assert_eq!(one.drifted.len(), rows);
        prop_assert!(one.errors.is_empty());
        prop_assert_eq!(&one, &run(Ids::I64(&ids), 3));
        prop_assert_eq!(&one, &run(Ids::I32(&narrow), 2));
        prop_assert!(one.first_diff.iter().all(|first| first == &one.first_diff[0]));
    }
}

/// What the trainer scored, drawn so that every kind comes up: what a round trip gives, the reverse of one, a part of the
/// sampled ids, and sampled ids with a few changed.
fn pair(case: &Case, how: u8, at: usize) -> (Tokenizer, Vec<i64>, Vec<i64>) {
    let (tokenizer, known, audit) = audit(case);
    let canonical: Vec<i64> = reencoded(&known, &audit).iter().map(|&id| id.into()).collect();
    let ids = case.ids.clone();
    let at = at % (ids.len() + 1);
    let (sampled, trained) = match how {
        0 => (ids, canonical),
        1 => (canonical, ids),
        2 => (ids.clone(), ids[..at].to_vec()),
        3 => (ids.clone(), ids[at..].to_vec()),
        _ => {
            let mut trained = canonical;
            trained.insert(at.min(trained.len()), i64::from(how) * 50 - 250);
            (ids, trained)
        }
    };
    (tokenizer, sampled, trained)
}

fn compared(tokenizer: &Tokenizer, sampled: &[i64], trained: &[i64], mask: &[u8], train_mask: &[u8]) -> Realised {
    let mask_of = |mask: &[u8], len| mask.iter().copied().cycle().take(len).collect::<Vec<u8>>();
    let (mask, train_mask) = (mask_of(mask, sampled.len()), mask_of(train_mask, trained.len()));
    tokenizer.realised(&Pair { sampled, trained, mask: Some(&mask), train_mask: Some(&train_mask) }).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_kind_is_its_definition_and_spans_rebuild_the_trained_ids(case in case(), how in 0u8..8, at in 0usize..16) {
        let (tokenizer, sampled, trained) = pair(&case, how, at);
        let reference = tokenizers::Tokenizer::from_bytes(case.json.to_string().as_bytes()).unwrap();
        let text = |ids: &[i64]| {
            let known: Vec<u32> = ids.iter().filter_map(|&id| u32::try_from(id).ok()).collect();
            reference.decode(&known, false).unwrap()
        };
        let expected = if sampled == trained {
            Kind::Identical
        } else if sampled.starts_with(&trained) || sampled.ends_with(&trained) {
            Kind::Truncated
        } else if text(&sampled) == text(&trained) {
            Kind::Retokenized
        } else {
            Kind::Rewritten
        };
        let realised = compared(&tokenizer, &sampled, &trained, &[0, 1], &[1]);
        prop_assert_eq!(realised.kind, expected);
        let differ = (0..sampled.len().max(trained.len())).find(|&at| sampled.get(at) != trained.get(at));
        prop_assert_eq!(realised.first_diff, differ);
        prop_assert_eq!(realised.spans.len(), realised.causes.len());
        prop_assert!(realised.causes.iter().all(|cause| cause.is_some() == (expected == Kind::Retokenized)));
        if expected == Kind::Truncated {
            let kept = realised.kept_start..realised.kept_start + trained.len();
            prop_assert_eq!(&sampled[kept], &trained[..]);
            prop_assert_eq!(realised.lost, sampled.len() - trained.len());
            prop_assert!(realised.spans.is_empty());
        } else {
            let mut rebuilt = Vec::new();
            let mut done = 0;
            for span in &realised.spans {
                rebuilt.extend_from_slice(&sampled[done..span.sampled.start]);
                rebuilt.extend_from_slice(&trained[span.reencoded.clone()]);
                prop_assert_ne!(&sampled[span.sampled.clone()], &trained[span.reencoded.clone()]);
                done = span.sampled.end;
            }
            rebuilt.extend_from_slice(&sampled[done..]);
            prop_assert_eq!(&rebuilt, &trained);
            prop_assert_eq!(realised.first_diff, realised.spans.first().map(|span| span.sampled.start));
        }
    }

    #[test]
    fn what_a_round_trip_gave_has_the_spans_and_causes_of_the_audit(case in case()) {
        let (tokenizer, sampled, trained) = pair(&case, 0, 0);
        let realised = compared(&tokenizer, &sampled, &trained, &[1], &[1]);
        let (_, _, audit) = audit(&case);
        if realised.kind == Kind::Retokenized {
            let expected: Vec<_> = audit.findings.iter().map(|found| (found.span.clone(), Some(found.cause))).collect();
            let found: Vec<_> = realised.spans.into_iter().zip(realised.causes).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_trained_token_is_wrong_iff_its_mask_is_not_that_of_its_bytes(
        case in case(), how in 0u8..8, at in 0usize..16, train_mask in prop::collection::vec(0u8..2, 1..9),
    ) {
        let (tokenizer, sampled, trained) = pair(&case, how, at);
        let mask: Vec<u8> = if case.mask.is_empty() { vec![1] } else { case.mask.clone() };
        let realised = compared(&tokenizer, &sampled, &trained, &mask, &train_mask);
        let mask_at = |at: usize| mask[at % mask.len()];
        // The mask values that a trained token has among the sampled ones; none where nothing says.
        let mut expected: Vec<Vec<u8>> = vec![Vec::new(); trained.len()];
        match realised.kind {
            Kind::Identical | Kind::Truncated => {
                for (at, values) in expected.iter_mut().enumerate() {
                    values.push(mask_at(realised.kept_start + at));
                }
            }
            Kind::Rewritten => {
                let (mut from, mut to) = (0, 0);
                for (stop, start, next) in realised.spans.iter().map(|s| (s.sampled.start, s.reencoded.start, (s.sampled.end, s.reencoded.end)))
                    .chain([(sampled.len(), trained.len(), (0, 0))])
                {
                    prop_assert_eq!(stop - from, start - to, "what is in no span is equal");
                    for at in from..stop {
                        expected[to + at - from].push(mask_at(at));
                    }
                    (from, to) = next;
                }
            }
            Kind::Retokenized => {
                let known = |ids: &[i64]| ids.iter().map(|&id| tokenizer.known(id)).collect::<Vec<u32>>();
                let text = tokenizer.decode(&known(&sampled), false).unwrap();
                let ours = tokenizer.trace_decode(&known(&sampled), &text).unwrap().ranges;
                let encoded = tokenizer.trace_encode(&text).unwrap();
                let theirs = if encoded.ids == known(&trained) {
                    encoded.ranges
                } else {
                    tokenizer.trace_decode(&known(&trained), &text).unwrap().ranges
                };
                for (values, range) in expected.iter_mut().zip(theirs) {
                    for byte in range {
                        values.extend(ours.iter().enumerate().filter(|(_, r)| r.contains(&byte)).map(|(at, _)| mask_at(at)));
                    }
                }
            }
        }
        let (mut wrong, mut straddling) = ([0; 2], 0);
        let mut positions = Vec::new();
        for (at, mut values) in expected.into_iter().enumerate() {
            let value = train_mask[at % train_mask.len()];
            values.sort_unstable();
            values.dedup();
            straddling += usize::from(values.len() > 1);
            if values.len() == 1 && values[0] != value {
                wrong[usize::from(value)] += 1;
                positions.push(at);
            }
        }
        let found = realised.mask.unwrap();
        prop_assert_eq!((found.untrained, found.trained, found.straddling), (wrong[0], wrong[1], straddling));
        prop_assert_eq!(found.positions, positions);
    }

    #[test]
    fn comparing_many_rows_over_threads_in_any_width_is_comparing_each(case in case(), how in 0u8..8, at in 0usize..16, rows in 1usize..7) {
        let (tokenizer, sampled, trained) = pair(&case, how, at);
        let many = |ids: &[i64]| -> (Vec<i64>, Vec<i64>) {
            let step = i64::try_from(ids.len()).unwrap();
            let offsets = (0..=i64::try_from(rows).unwrap()).map(|row| row * step).collect();
            (ids.iter().copied().cycle().take(ids.len() * rows).collect(), offsets)
        };
        let ((ids, offsets), (others, other_offsets)) = (many(&sampled), many(&trained));
        let narrow: Vec<i32> = ids.iter().map(|&id| i32::try_from(id).unwrap()).collect();
        let one = tokenizer.realised(&Pair { sampled: &sampled, trained: &trained, ..Pair::default() }).unwrap();
        prop_assert_eq!(&one.mask, &None);
        for (width, threads) in [(Ids::I64(&ids), 1), (Ids::I32(&narrow), 3)] {
            let trained = Batch::new(Ids::I64(&others), &other_offsets).unwrap();
            let found = Batch::new(width, &offsets).unwrap().realised(&trained, &tokenizer, threads).unwrap();
            prop_assert_eq!(found.len(), rows);
            prop_assert!(found.into_iter().all(|row| row.unwrap() == one));
        }
    }
}

#[test]
fn two_integers_outside_the_vocabulary_are_two_ids() {
    let tokenizer = load(&tokenizer_json("plain", &[], false));
    let compare =
        |sampled: &[i64], trained: &[i64]| tokenizer.realised(&Pair { sampled, trained, ..Pair::default() }).unwrap();
    for (one, other) in [(-1, -2), (9_999, 10_000), (i64::MAX, i64::MIN), (1 << 32, 1 << 33), (-1, u32::MAX.into())] {
        let realised = compare(&[0, one, 1], &[0, other, 1]);
        assert_eq!((realised.kind, realised.first_diff), (Kind::Retokenized, Some(1)), "neither decodes to anything");
        assert_eq!(realised.causes, [Some(Cause::UnknownId); 2]);
        assert_eq!(compare(&[0, one, 1], &[0, one, 1]).kind, Kind::Identical);
        assert_eq!(compare(&[0, 1], &[0, other, 1]).causes, [Some(Cause::UnknownId)]);
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
    let tokenizer = load(&tokenizer_json("plain", &[], false));
    let rows = |offsets: &[i64]| Batch::new(Ids::I64(&ids), offsets).unwrap();
    let error = rows(&[0, 3]).realised(&rows(&[0, 1, 3]), &tokenizer, 1).unwrap_err();
    assert_eq!(error.to_string(), "there are trained ids of 2 rows and sampled ids of 1");
}
