//! The tables against the reference's own BPE, and against the definition where the reference cannot go.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::sample::Index;
use tokenizers::Model;
use tokenizers::models::bpe::{BPE, Vocab};

use super::spine::Answer;
use super::{Atoms, Merge, PairCache, Pairs, Waiting, general, run};

/// A small vocabulary of strings over an alphabet of atoms.
#[derive(Debug, Clone)]
struct Vocabulary {
    /// By id.
    tokens: Vec<String>,
    merges: Vec<(String, String)>,
}

/// How a vocabulary is made out of the merges that it grew by.
#[derive(Debug, Clone)]
struct Plan {
    letters: usize,
    growth: Vec<(Index, Index)>,
    /// Further merges: a token, and where it is cut. They are listed only if both parts are tokens.
    splits: Vec<(Index, Index)>,
    duplicates: Vec<Index>,
    dropped: Vec<Index>,
    /// Sort keys of merges and ids; none leaves the order of growth.
    shuffle: Option<Vec<u32>>,
    shuffled_ids: bool,
}

impl Plan {
    fn vocabulary(&self) -> Vocabulary {
        let mut tokens: Vec<String> = ('a'..='z').take(self.letters).map(String::from).collect();
        let mut merges = Vec::new();
        for (left, right) in &self.growth {
            let (left, right) = (left.get(&tokens).clone(), right.get(&tokens).clone());
            let product = format!("{left}{right}");
            if product.len() <= 12 && !tokens.contains(&product) {
                tokens.push(product);
                merges.push((left, right));
            }
        }
        for (token, cut) in &self.splits {
            let token = token.get(&tokens);
            let (left, right) = token.split_at(cut.index(token.len()));
            if [left, right].iter().all(|part| tokens.iter().any(|token| token == part)) {
                merges.push((left.to_owned(), right.to_owned()));
            }
        }
        for merge in self.duplicates.iter().filter(|_| !merges.is_empty()).collect::<Vec<_>>() {
            merges.push(merge.get(&merges).clone());
        }
        for merge in &self.dropped {
            if !merges.is_empty() {
                merges.remove(merge.index(merges.len()));
            }
        }
        if let Some(keys) = &self.shuffle {
            let mut keyed: Vec<_> = keys.iter().cycle().zip(merges).collect();
            keyed.sort_by_key(|(key, _)| **key);
            merges = keyed.into_iter().map(|(_, merge)| merge).collect();
            if self.shuffled_ids {
                let mut keyed: Vec<_> = keys.iter().cycle().zip(tokens).collect();
                keyed.sort_by_key(|(key, _)| **key);
                tokens = keyed.into_iter().map(|(_, token)| token).collect();
            }
        }
        Vocabulary { tokens, merges }
    }
}

fn models() -> impl Strategy<Value = Vocabulary> {
    let index = any::<Index>;
    let some = |count| prop_oneof![Just(Vec::new()), prop::collection::vec(index(), 0..count)];
    let splits = prop_oneof![Just(Vec::new()), prop::collection::vec((index(), index()), 0..40)];
    (
        1usize..=4,
        prop::collection::vec((index(), index()), 0..40),
        splits,
        some(5),
        some(5),
        prop::option::of(prop::collection::vec(any::<u32>(), 83)),
        any::<bool>(),
    )
        .prop_map(|(letters, growth, splits, duplicates, dropped, shuffle, shuffled_ids)| {
            Plan { letters, growth, splits, duplicates, dropped, shuffle, shuffled_ids }.vocabulary()
        })
}

impl Vocabulary {
    fn ids(&self) -> HashMap<&str, u32> {
        self.tokens.iter().map(String::as_str).zip(0..).collect()
    }

    fn symbols(&self, text: &str) -> Vec<u32> {
        let ids = self.ids();
        let mut buffer = [0; 4];
        text.chars().map(|c| ids[&*c.encode_utf8(&mut buffer)]).collect()
    }

    fn pairs(&self) -> Pairs {
        let ids = self.ids();
        let mut atoms = Atoms::with_capacity(self.tokens.len());
        for token in &self.tokens {
            atoms.push(self.symbols(token));
        }
        let merge = |(left, right): &(String, String)| Merge {
            left: ids[left.as_str()],
            right: ids[right.as_str()],
            product: ids[format!("{left}{right}").as_str()],
        };
        Pairs::new(atoms, &self.merges.iter().map(merge).collect::<Vec<_>>()).unwrap()
    }

    fn reference(&self) -> BPE {
        let vocab: Vocab = self.tokens.iter().cloned().zip(0..).collect();
        BPE::builder().vocab_and_merges(vocab, self.merges.clone()).cache_capacity(0).build().unwrap()
    }
}

fn tokenize(reference: &BPE, text: &str) -> Vec<u32> {
    reference.tokenize(text).unwrap().into_iter().map(|token| token.id).collect()
}

fn all_pairs(ids: usize) -> impl Iterator<Item = (u32, u32)> {
    let ids = u32::try_from(ids).unwrap();
    (0..ids).flat_map(move |left| (0..ids).map(move |right| (left, right)))
}

/// The encoding, each token with the number of its atoms: look at all pairs, apply the first of least rank, and again.
fn by_definition(merges: &[Merge], atoms: &[u32]) -> Vec<(u32, usize)> {
    let mut tokens: Vec<(u32, usize)> = atoms.iter().map(|atom| (*atom, 1)).collect();
    loop {
        let rank = |pair: &[(u32, usize)]| {
            merges.iter().rposition(|merge| (merge.left, merge.right) == (pair[0].0, pair[1].0))
        };
        let ranked = tokens.windows(2).enumerate().filter_map(|(at, pair)| Some((rank(pair)?, at)));
        let Some((rank, at)) = ranked.min() else { return tokens };
        tokens[at] = (merges[rank].product, tokens[at].1 + tokens[at + 1].1);
        tokens.remove(at + 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn encodes_as_the_reference(model in models(), draws in prop::collection::vec(any::<Index>(), 1..100), repeats in 1usize..20) {
        let (pairs, reference) = (model.pairs(), model.reference());
        let text: String = draws.iter().map(|draw| draw.get(&model.tokens).as_str()).collect();
        let run = model.tokens[0].repeat(draws.len());
        for text in [text.repeat(repeats), run, text] {
            let mut symbols = model.symbols(&text);
            pairs.encode(&mut symbols);
            prop_assert_eq!(symbols, tokenize(&reference, &text));
        }
    }

    #[test]
    fn pairs_fit_iff_the_reference_leaves_them(model in models()) {
        let (pairs, reference) = (model.pairs(), model.reference());
        for (id, token) in (0..).zip(&model.tokens) {
            prop_assert_eq!(pairs.is_self_canonical(id), tokenize(&reference, token) == [id]);
        }
        for (left, right) in all_pairs(model.tokens.len()) {
            let text = format!("{}{}", model.tokens[left as usize], model.tokens[right as usize]);
            prop_assert_eq!(pairs.fit(left, right), tokenize(&reference, &text) == [left, right], "{} {}", left, right);
        }
    }

    #[test]
    fn sequences_are_canonical_iff_all_pairs_fit(
        model in models(),
        draws in prop::collection::vec(any::<Index>(), 1..8),
        encoded in any::<bool>(),
    ) {
        let (pairs, reference) = (model.pairs(), model.reference());
        let mut ids: Vec<u32> = draws.iter().map(|draw| u32::try_from(draw.index(model.tokens.len())).unwrap()).collect();
        if encoded {
            let mut symbols: Vec<u32> = ids.iter().flat_map(|id| pairs.atoms().of(*id).to_vec()).collect();
            pairs.encode(&mut symbols);
            ids = symbols;
        }
        let text: String = ids.iter().map(|id| model.tokens[*id as usize].as_str()).collect();
        let by_pairs = match ids[..] {
            [id] => pairs.is_self_canonical(id),
            _ => ids.windows(2).all(|pair| pairs.fit(pair[0], pair[1])),
        };
        prop_assert_eq!(by_pairs, tokenize(&reference, &text) == ids);
    }

    #[test]
    fn spines_agree_with_the_general_check(model in models()) {
        let pairs = model.pairs();
        for (left, right) in all_pairs(model.tokens.len()) {
            let general = general::fit(&pairs.atoms, &pairs.merges, left, right);
            let expected = if general { Answer::Fit } else { Answer::NoFit };
            let answer = pairs.spines.ask(&pairs.merges, left, right);
            prop_assert_eq!(answer, expected, "{} {}", left, right);
        }
    }

    #[test]
    fn edges_that_wait_are_told_as_one_by_one(model in models(), draws in prop::collection::vec(any::<Index>(), 2..300)) {
        let pairs = model.pairs();
        let ids: Vec<u32> = draws.iter().map(|draw| u32::try_from(draw.index(model.tokens.len())).unwrap()).collect();
        let (mut cache, mut waiting) = (PairCache::new(), Waiting::default());
        cache.serve(&pairs);
        let mut found = Vec::new();
        for edge in 1..ids.len() {
            pairs.wait(&ids, edge, &mut waiting);
            if edge % 150 == 0 {
                prop_assert!(waiting.are_many());
                pairs.misfits(&ids, &mut waiting, &mut cache, |edge| found.push(edge));
                prop_assert!(!waiting.are_many());
            }
        }
        pairs.misfits(&ids, &mut waiting, &mut cache, |edge| found.push(edge));
        let expected: Vec<usize> = (1..ids.len()).filter(|&edge| !pairs.fit(ids[edge - 1], ids[edge])).collect();
        prop_assert_eq!(found, expected);
        for pair in ids.windows(2) {
            // Of pairs with one slot the last is remembered.
            let known = cache.recall(pair[0], pair[1]);
            prop_assert!(known.is_none_or(|fits| fits == pairs.fit(pair[0], pair[1])));
        }
        let [.., left, right] = ids[..] else { unreachable!("there are two") };
        prop_assert_eq!(cache.recall(left, right), Some(pairs.fit(left, right)));
    }

    #[test]
    fn what_is_forbidden_does_not_fit(model in models(), draws in prop::collection::vec((any::<Index>(), any::<Index>()), 1..9)) {
        let mut pairs = model.pairs();
        let unforbidden = model.pairs();
        let id = |draw: Index| u32::try_from(draw.index(model.tokens.len())).unwrap();
        let forbidden: HashSet<(u32, u32)> = draws.into_iter().map(|(left, right)| (id(left), id(right))).collect();
        for (left, right) in &forbidden {
            pairs.forbid(*left, *right);
        }
        for (left, right) in all_pairs(model.tokens.len()) {
            let expected = unforbidden.fit(left, right) && !forbidden.contains(&(left, right));
            prop_assert_eq!(pairs.fit(left, right), expected);
            let mut symbols = [pairs.atoms().of(left), pairs.atoms().of(right)].concat();
            let mut expected = symbols.clone();
            pairs.encode(&mut symbols);
            unforbidden.encode(&mut expected);
            prop_assert_eq!(symbols, expected);
        }
    }

    #[test]
    fn long_runs_are_those_of_short_ones(
        model in models(),
        draws in prop::collection::vec(any::<Index>(), 1..20),
        is_repeated in any::<bool>(),
        length in 1..=run::SHORT,
    ) {
        let pairs = model.pairs();
        let drawn = if is_repeated { &draws[..1] } else { &draws };
        let text: String = drawn.iter().map(|draw| draw.get(&model.tokens).as_str()).collect();
        let symbols = model.symbols(&text);
        let symbols: Vec<u32> = symbols.iter().copied().cycle().take(if is_repeated { length } else { symbols.len().min(run::SHORT) }).collect();
        let (mut short, mut long) = ((symbols.clone(), Vec::new()), (symbols, Vec::new()));
        run::run_short(&pairs.merges, &mut short.0, |step| short.1.push(step));
        run::run_long(&pairs.merges, &mut long.0, |step| long.1.push(step));
        prop_assert_eq!(short, long);
    }

    /// Merges of ids that stand for no strings: products are anything or what their parts are, tokens are spelled with
    /// anything, atoms with others.
    #[test]
    fn any_merges_of_ids(
        mut atoms in prop::collection::vec(prop::collection::vec(0u32..8, 0..6), 8),
        merges in prop::collection::vec((0u32..8, 0u32..8, 0u32..8), 0..20),
        letters in 0u32..4,
        are_regular in any::<bool>(),
        text in prop::collection::vec(0u32..8, 0..70),
    ) {
        let mut merges: Vec<Merge> =
            merges.into_iter().map(|(left, right, product)| Merge { left, right, product }).collect();
        for letter in 0..letters {
            atoms[letter as usize] = vec![letter];
        }
        if are_regular {
            let parts = |atoms: &[Vec<u32>], merge: &Merge| [merge.left, merge.right].map(|id| atoms[id as usize].clone());
            merges.sort_by_key(|merge| merge.product);
            for merge in merges.iter().filter(|merge| merge.product > merge.left.max(merge.right)) {
                atoms[merge.product as usize] = parts(&atoms, merge).concat();
            }
            merges.retain(|merge| {
                let parts = parts(&atoms, merge);
                parts.iter().all(|part| !part.is_empty()) && parts.concat() == atoms[merge.product as usize]
            });
            merges.sort_by_key(|merge| merge.left * 5 % 8 + merge.right * 3 % 8);
        }
        let mut spelled = Atoms::with_capacity(8);
        for atoms in &atoms {
            spelled.push(atoms.iter().copied());
        }
        let pairs = Pairs::new(spelled, &merges).unwrap();
        let whole = |id: u32| vec![(id, atoms[id as usize].len())];
        for id in 0..8 {
            prop_assert_eq!(pairs.is_self_canonical(id), by_definition(&merges, &atoms[id as usize]) == whole(id));
        }
        for (left, right) in all_pairs(8) {
            let both = [&atoms[left as usize][..], &atoms[right as usize]].concat();
            let expected = [whole(left), whole(right)].concat();
            let are_there = !atoms[left as usize].is_empty() && !atoms[right as usize].is_empty();
            prop_assert_eq!(pairs.fit(left, right), are_there && by_definition(&merges, &both) == expected);
        }
        let is_atom = |id: &u32| atoms[*id as usize] == [*id];
        let mut symbols: Vec<u32> = text.into_iter().filter(is_atom).collect();
        let expected: Vec<u32> = by_definition(&merges, &symbols).into_iter().map(|(id, _)| id).collect();
        pairs.encode(&mut symbols);
        prop_assert_eq!(symbols, expected);
    }
}

fn vocabulary(tokens: &[&str], merges: &[(&str, &str)]) -> Vocabulary {
    Vocabulary {
        tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
        merges: merges.iter().map(|(left, right)| ((*left).to_owned(), (*right).to_owned())).collect(),
    }
}

#[test]
fn an_edge_may_have_many_symbols() {
    // Every run of `a` meets a merge with `b` just before it grows.
    let runs: Vec<String> = (1..=12).map(|length| "a".repeat(length)).collect();
    let mut tokens = vec!["b".to_owned()];
    let mut merges = Vec::new();
    for run in &runs {
        tokens.extend([run.clone(), format!("b{run}")]);
        merges.extend([("b".to_owned(), run.clone()), (run.clone(), "a".to_owned())]);
    }
    merges.pop();
    let model = Vocabulary { tokens, merges };
    let (pairs, reference) = (model.pairs(), model.reference());
    for (left, right) in all_pairs(model.tokens.len()) {
        let text = format!("{}{}", model.tokens[left as usize], model.tokens[right as usize]);
        assert_eq!(pairs.fit(left, right), tokenize(&reference, &text) == [left, right]);
        assert_ne!(pairs.spines.ask(&pairs.merges, left, right), Answer::Unknown);
    }
    assert!(pairs.spines.left.line(model.ids()[runs[11].as_str()]).unwrap().entries().is_none());
}

#[test]
fn a_million_equal_symbols() {
    let pairs = vocabulary(&["a", "aa", "aaaa"], &[("a", "a"), ("aa", "aa")]).pairs();
    let mut symbols = vec![0; 1_000_003];
    pairs.encode(&mut symbols);
    assert_eq!(symbols.len(), 250_002);
    assert_eq!(symbols[249_999..], [2, 1, 0]);
}

#[test]
fn without_merges_all_atoms_fit_until_forbidden() {
    let mut pairs = vocabulary(&["a", "b", "ab"], &[]).pairs();
    assert!(pairs.fit(0, 1) && !pairs.is_self_canonical(2) && !pairs.fit(0, 2));
    pairs.forbid(0, 1);
    pairs.forbid(1, 1);
    pairs.forbid(0, 2);
    let fitting: Vec<_> = all_pairs(3).filter(|(left, right)| pairs.fit(*left, *right)).collect();
    assert_eq!(fitting, [(0, 0), (1, 0)]);
}

#[test]
fn unknown_ids_fit_nothing() {
    let pairs = vocabulary(&["a", "aa"], &[("a", "a")]).pairs();
    for id in [2, super::ID_LIMIT, u32::MAX] {
        assert!(
            !pairs.is_self_canonical(id) && !pairs.fit(id, 0) && !pairs.fit(0, id) && pairs.atoms().of(id).is_empty()
        );
    }
}

#[test]
fn what_the_tables_cannot_hold_is_refused() {
    let atoms = |ids: usize| {
        let mut atoms = Atoms::with_capacity(ids);
        (0..ids).for_each(|_| atoms.push([]));
        atoms
    };
    let limit = super::ID_LIMIT as usize;
    assert!(Pairs::new(atoms(limit), &[]).is_some());
    assert!(Pairs::new(atoms(limit + 1), &[]).is_none());
    assert!(Pairs::new(atoms(2), &[Merge { left: 0, right: 1, product: 2 }]).is_none());
    assert!(Pairs::new(atoms(1), &vec![Merge { left: 0, right: 0, product: 0 }; 1 << super::RANK_BITS]).is_none());
}
