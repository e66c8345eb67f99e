//! Vocabularies of real size, from the files that `TITO_TOKENIZERS` names (separated by colons): not in the repository.
//!
//! `TITO_TOKENIZERS=a/tokenizer.json:b/tokenizer.json cargo test --release --lib pairs::real_tests -- --ignored`

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::{TestRng, TestRunner};
use serde_json::Value;
use tokenizers::Model;
use tokenizers::models::bpe::{BPE, Vocab};

use super::{Atoms, Merge, Pairs};

struct Real {
    tokens: Vec<String>,
    atoms: Atoms,
    merges: Vec<Merge>,
    reference: BPE,
}

/// The file's model, without `ignore_merges`. A byte token of a model with byte fallback is its own atom.
fn load(path: &str) -> Real {
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let model = &file["model"];
    let falls_back = model["byte_fallback"].as_bool().unwrap_or(false);
    let id = |id: &Value| u32::try_from(id.as_u64().unwrap()).unwrap();
    let vocab: Vocab = model["vocab"].as_object().unwrap().iter().map(|(k, v)| (k.clone(), id(v))).collect();
    let mut tokens = vec![String::new(); vocab.values().max().map_or(0, |id| *id as usize + 1)];
    for (token, id) in &vocab {
        tokens[*id as usize].clone_from(token);
    }
    let mut atoms = Atoms::with_capacity(tokens.len());
    for token in &tokens {
        let is_byte = falls_back && token.len() == 6 && token.starts_with("<0x");
        let letters = token.chars().map(|c| vocab.get(c.encode_utf8(&mut [0; 4]) as &str).copied());
        let letters = || letters.collect::<Option<Vec<u32>>>().unwrap_or_default();
        atoms.push(if is_byte { vec![vocab[token]] } else { letters() });
    }
    let halves = |merge: &Value| match merge {
        Value::String(line) => line.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned())).unwrap(),
        pair => (pair[0].as_str().unwrap().to_owned(), pair[1].as_str().unwrap().to_owned()),
    };
    let merges: Vec<(String, String)> = model["merges"].as_array().unwrap().iter().map(halves).collect();
    let merge = |(left, right): &(String, String)| Merge {
        left: vocab[left],
        right: vocab[right],
        product: vocab[&format!("{left}{right}")],
    };
    Real {
        atoms,
        merges: merges.iter().map(merge).collect(),
        tokens,
        reference: BPE::builder().vocab_and_merges(vocab, merges).cache_capacity(0).build().unwrap(),
    }
}

/// Any two tokens, or the text of two tokens cut elsewhere into two tokens.
fn draw(random: &mut TestRng, real: &Real, by_text: &HashMap<&str, u32>) -> (u32, u32) {
    let mut below = |limit: usize| random.next_u32() % u32::try_from(limit).unwrap();
    let (left, right) = (below(real.tokens.len()), below(real.tokens.len()));
    let text = format!("{}{}", real.tokens[left as usize], real.tokens[right as usize]);
    let parts = text.split_at_checked(below(text.len() + 1) as usize);
    let cut = parts.and_then(|(left, right)| Some((*by_text.get(left)?, *by_text.get(right)?)));
    cut.unwrap_or((left, right))
}

#[test]
#[ignore = "needs TITO_TOKENIZERS"]
fn real_vocabularies() {
    for path in std::env::var("TITO_TOKENIZERS").unwrap().split(':') {
        let real = load(path);
        let pairs = Pairs::new(real.atoms.clone(), &real.merges).unwrap();
        // An id without atoms that merges makes a vocabulary irregular: all merges are kept, the general check decides.
        let stranger = u32::try_from(real.tokens.len()).unwrap();
        let mut atoms = real.atoms.clone();
        atoms.push([]);
        let merges = [&real.merges[..], &[Merge { left: stranger, right: stranger, product: stranger }]].concat();
        let irregular = Pairs::new(atoms, &merges).unwrap();
        let by_text: HashMap<&str, u32> = real.tokens.iter().map(String::as_str).zip(0..).collect();
        let mut random = TestRunner::deterministic().new_rng();
        for round in 0..2_000_000 {
            let (left, right) = draw(&mut random, &real, &by_text);
            let fit = pairs.fit(left, right);
            assert_eq!(fit, irregular.fit(left, right), "{path}: {left} {right}");
            // The reference spells a byte token out: only what has an atom per character has the same text there.
            let token = |id: u32| real.tokens[id as usize].as_str();
            let is_spelled = |id: &u32| token(*id).chars().count() == pairs.atoms().of(*id).len();
            if round % 7 == 0 && [left, right].iter().all(is_spelled) {
                let tokens = real.reference.tokenize(&format!("{}{}", token(left), token(right))).unwrap();
                let ids: Vec<u32> = tokens.into_iter().map(|token| token.id).collect();
                assert_eq!(fit, ids == [left, right], "{path}: {left} {right}");
                let mut symbols = [pairs.atoms().of(left), pairs.atoms().of(right)].concat();
                pairs.encode(&mut symbols);
                assert_eq!(symbols, ids, "{path}: {left} {right}");
            }
        }
    }
}
