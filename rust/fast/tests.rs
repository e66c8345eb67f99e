//! Four ways to judge a row, and the reference.

mod few;
mod made;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use unicode_normalization_alignments::UnicodeNormalization;
use unicode_normalization_alignments::char::canonical_combining_class;

use made::{ADDED, APART, Kind, LEARNED, NESTED, PHRASES};

use super::Fast;
use crate::audit::{PipelineOptions, Row, RowAudit};
use crate::batch::{Batch, Ids};
use crate::byte_level;
use crate::engine::{Answered, Engine, Proven};
use crate::machine::tests::{Family, Sequential};
use crate::tokenizer::Tokenizer;

/// How a row is made. A part is one of a group.
#[derive(Debug)]
struct Draw {
    /// So many tokens stand before it: it lies where blocks of tokens end.
    before: usize,
    parts: Vec<(Index, Index)>,
    /// Encode the text of the parts again, so that it comes back.
    is_encoded: bool,
    inserted: Vec<(Index, (Index, Index))>,
}

fn draws() -> impl Strategy<Value = Draw> {
    let part = || (any::<Index>(), any::<Index>());
    let before = prop_oneof![19 => Just(0usize), 1 => 50usize..130];
    let inserted = prop_oneof![3 => Just(0usize), 2 => Just(1), 1 => Just(2)];
    let inserted = inserted.prop_flat_map(move |count| prop::collection::vec((any::<Index>(), part()), count));
    (before, prop::collection::vec(part(), 1..=9), any::<bool>(), inserted)
        .prop_map(|(before, parts, is_encoded, inserted)| Draw { before, parts, is_encoded, inserted })
}

/// Rows per tokenizer.
const ROWS: u32 = 3_000;

/// A tokenizer, and what judges its rows besides the fast engine.
struct Judges {
    kind: Kind,
    tokenizer: Tokenizer,
    machine: Sequential,
    /// The model's tokens by their bytes.
    ids: HashMap<Vec<u8>, u32>,
    /// Parts that rows are made of, in groups of which each is as likely as another.
    groups: Vec<Vec<Vec<u32>>>,
}

impl Judges {
    fn new(kind: Kind) -> Self {
        let tokenizer = kind.learned();
        let ids = LEARNED.0.iter().map(|(token, &id)| (byte_level::decode_token(token), id)).collect();
        let machine = Sequential::new(&Family::new(kind.family));
        let mut judges = Self { kind, tokenizer, machine, ids, groups: Vec::new() };
        judges.groups = judges.groups();
        judges
    }

    fn fast(&self) -> &Fast {
        let Some(Proven::ByteLevel(fast)) = self.tokenizer.fast() else { panic!("every family has its engine") };
        fast
    }

    fn bytes(&self, ids: &[u32]) -> Vec<u8> {
        ids.iter().flat_map(|&id| self.tokenizer.surface(id).unwrap_or_default()).copied().collect()
    }

    /// The ids of a text, each token as long as it can be.
    fn greedy(&self, text: &str) -> Vec<u32> {
        let mut rest = text.as_bytes();
        let mut ids = Vec::new();
        while !rest.is_empty() {
            let (length, id) =
                (1..=rest.len()).rev().find_map(|end| Some((end, *self.ids.get(&rest[..end])?))).unwrap();
            ids.push(id);
            rest = &rest[length..];
        }
        ids
    }

    fn bytewise(&self, text: &str) -> Vec<u32> {
        text.bytes().map(|byte| self.ids[&[byte][..]]).collect()
    }

    fn groups(&self) -> Vec<Vec<Vec<u32>>> {
        let mut tokens: Vec<(&[u8], u32)> = self.ids.iter().map(|(bytes, &id)| (&bytes[..], id)).collect();
        tokens.sort_by_key(|&(bytes, id)| (bytes.len(), id));
        let texts: Vec<(&str, u32)> =
            tokens.iter().filter_map(|&(bytes, id)| Some((std::str::from_utf8(bytes).ok()?, id))).collect();
        let those = |holds: &dyn Fn(&str) -> bool| -> Vec<Vec<u32>> {
            texts.iter().filter(|(text, _)| holds(text)).map(|&(_, id)| vec![id]).collect()
        };
        let marks = |text: &str, least: usize| text.chars().take_while(|&c| is_mark(c)).count() >= least;
        let bytes = tokens.iter().filter(|(bytes, _)| std::str::from_utf8(bytes).is_err()).map(|&(_, id)| vec![id]);
        let halves = tokens.iter().flat_map(|&(bytes, _)| {
            (1..bytes.len()).filter_map(|at| Some(vec![*self.ids.get(&bytes[..at])?, *self.ids.get(&bytes[at..])?]))
        });
        // What only a whole word reaches: as the merges spell it, and as one token.
        let unmade =
            tokens.iter().filter(|&&(_, id)| !self.fast().pairs.is_self_canonical(id)).flat_map(|&(bytes, id)| {
                let mut pieces: Vec<u32> = bytes.iter().map(|&byte| self.ids[&[byte][..]]).collect();
                self.fast().pairs.encode(&mut pieces);
                [pieces, vec![id]]
            });
        let outside = self.tokenizer.outside();
        let mut groups = vec![
            texts.iter().map(|&(_, id)| vec![id]).collect(),
            those(&|text| text.chars().count() <= 2),
            those(&|text| text.chars().all(char::is_whitespace)),
            those(&|text| text.chars().all(char::is_numeric)),
            those(&|text| text.contains('\'')),
            those(&|text| !text.chars().any(|c| c.is_alphanumeric() || c.is_whitespace())),
            those(&|text| text.ends_with(char::is_whitespace)),
            those(&|text| text.chars().count() == 1 && text.chars().all(char::is_alphabetic)),
            bytes.collect(),
            halves.collect(),
            PHRASES.iter().map(|phrase| self.greedy(phrase)).collect(),
            PHRASES.iter().map(|phrase| self.tokenizer.encode(phrase).unwrap()).collect(),
            vec![vec![outside], vec![outside, outside]],
        ];
        if self.kind.nfc {
            groups.extend([
                those(&|text| marks(text, 1)),
                those(&|text| marks(text, 2)),
                those(&|text| text.chars().next_back().is_some_and(|c| is_mark(c) || !c.is_ascii())),
            ]);
        }
        if self.kind.whole_words || self.kind.scrambled {
            groups.push(unmade.collect());
        }
        if !self.kind.added.is_empty() {
            let mut added: Vec<u32> = self.tokenizer.added_tokens().keys().copied().collect();
            added.sort_unstable();
            groups.push(added.into_iter().map(|id| vec![id]).collect());
            let parts = self.kind.added.iter().flat_map(|text| (1..=text.len()).filter_map(|end| text.get(..end)));
            groups.push(parts.clone().map(|text| self.greedy(text)).collect());
            groups.push(parts.map(|text| self.bytewise(text)).collect());
            groups.push(self.kind.added.iter().map(|text| self.greedy(text)).collect());
        }
        for (number, group) in groups.iter().enumerate() {
            assert!(!group.is_empty(), "group {number} is empty");
        }
        groups
    }

    /// The ids of a row.
    fn row(&self, draw: &Draw) -> Vec<u32> {
        let part = |(group, part): &(Index, Index)| part.get(group.get::<Vec<Vec<u32>>>(&self.groups)).clone();
        let parts: Vec<u32> = draw.parts.iter().flat_map(part).collect();
        let mut ids = if draw.is_encoded { self.by_characters(&parts) } else { parts };
        for (at, inserted) in &draw.inserted {
            let at = at.index(ids.len() + 1);
            ids.splice(at..at, part(inserted));
        }
        let before = self.tokenizer.encode(&PHRASES.concat()).unwrap();
        before.into_iter().cycle().take(draw.before).chain(ids).collect()
    }

    /// What encoding gives, character by character and by all merges: decode, look for added tokens, normalize, split.
    fn by_characters(&self, ids: &[u32]) -> Vec<u32> {
        let bytes = self.bytes(ids);
        let text = String::from_utf8_lossy(&bytes);
        // Of all numbers in rows these are no decimal digits.
        let is_word = |c: char| c.is_alphanumeric() && !['²', '½'].contains(&c) || c == '_' || is_mark(c);
        let (mut done, mut at) = (0, 0);
        let mut encoded = Vec::new();
        while let Some((before, id, found)) = self.first_added(&text[at..]) {
            let (start, end) = (at + before, at + before + found.len());
            at = end;
            let token = &self.tokenizer.added(id).unwrap().token;
            if token.single_word && (text[..start].ends_with(is_word) || text[end..].starts_with(is_word)) {
                continue;
            }
            let stripped = text[..start].trim_end().len();
            self.encode_segment(&text[done..if token.lstrip { stripped.max(done) } else { start }], &mut encoded);
            encoded.push(id);
            done = if token.rstrip { text.len() - text[end..].trim_start().len() } else { end };
        }
        self.encode_segment(&text[done..], &mut encoded);
        encoded
    }

    fn first_added<'t>(&'t self, text: &str) -> Option<(usize, u32, &'t str)> {
        let added = self.tokenizer.added_tokens().iter().map(|(&id, added)| (id, added.token.content.as_str()));
        let found = added.filter_map(|(id, content)| Some((text.find(content)?, id, content)));
        found.min_by_key(|&(at, id, content)| (at, Reverse(content.len()), id))
    }

    fn encode_segment(&self, text: &str, encoded: &mut Vec<u32>) {
        let text: String = if self.kind.nfc { text.nfc().map(|(c, _)| c).collect() } else { text.to_owned() };
        for piece in self.fast().splitter.pieces(&text) {
            let bytes = &text.as_bytes()[piece];
            if let Some(&word) = self.ids.get(bytes).filter(|_| self.kind.whole_words) {
                encoded.push(word);
            } else {
                let mut symbols: Vec<u32> = bytes.iter().map(|byte| self.ids[&[*byte][..]]).collect();
                self.fast().pairs.encode(&mut symbols);
                encoded.extend(symbols);
            }
        }
    }

    /// Whether a row comes back, by states and pairs; `None` where these do not tell.
    fn by_machine(&self, ids: &[u32]) -> Option<bool> {
        let is_added = |id: &u32| self.tokenizer.added(*id).is_some();
        if ids.iter().filter_map(|id| self.tokenizer.added(*id)).any(|added| !added.is_border()) {
            return None;
        }
        let segments: Vec<Option<bool>> = ids.split(is_added).map(|segment| self.segment_by_machine(segment)).collect();
        // The text of an added token may begin in one and reach into a sampled one.
        let bytes = self.bytes(ids);
        let mut rest = std::str::from_utf8(&bytes).ok()?;
        for &id in ids.iter().filter(|id| is_added(id)) {
            let (at, found, content) = self.first_added(rest)?;
            rest = (found == id).then(|| &rest[at + content.len()..])?;
        }
        segments.into_iter().try_fold(true, |all, segment| segment.map(|segment| all && segment))
    }

    fn segment_by_machine(&self, ids: &[u32]) -> Option<bool> {
        let fast = self.fast();
        let bytes = self.bytes(ids);
        let text = std::str::from_utf8(&bytes).ok()?;
        let is_normal = !self.kind.nfc || text.nfc().map(|(c, _)| c).eq(text.chars());
        if !is_normal || self.first_added(text).is_some() {
            return None;
        }
        let classes: Vec<&[u8]> = ids.iter().map(|&id| fast.texts.classes(id)).collect();
        let is_plain = |(&id, classes): (&u32, &&[u8])| !classes.is_empty() && fast.pairs.is_self_canonical(id);
        if !ids.iter().zip(&classes).all(is_plain) {
            return None;
        }
        let is_boundary = self.machine.walk(classes)?;
        let ends: HashSet<usize> = fast.splitter.pieces(text).into_iter().map(|piece| piece.end).collect();
        let mut at = 0;
        let mut comes_back = true;
        for (pair, is_boundary) in ids.windows(2).zip(is_boundary.into_iter().skip(1)) {
            at += fast.texts.bytes(pair[0]).len();
            assert!(!is_boundary || ends.contains(&at), "no boundary at {at} of {ids:?}");
            if !ends.contains(&at) && !fast.pairs.fit(pair[0], pair[1]) {
                // Whether it is part of a whole word is another question.
                (!fast.forbidden.contains(&(pair[0], pair[1]))).then_some(())?;
                comes_back = false;
            }
        }
        Some(comes_back)
    }

    fn check(&self, row: &Row<'_>, counts: &Counts) -> Result<(), TestCaseError> {
        let expected = self.tokenizer.audit(row, PipelineOptions::default(), Engine::Reference).unwrap();
        let is_clean = expected.first_diff.is_none();
        prop_assert_eq!(&self.by_characters(row.ids)[..], if is_clean { row.ids } else { &expected.reencoded });
        if let Some(comes_back) = self.by_machine(row.ids) {
            prop_assert_eq!(comes_back, is_clean, "by the machine");
            counts.by_machine.set(counts.by_machine.get() + 1);
        }
        for is_cleared in [true, false] {
            if is_cleared {
                self.fast().with_scratch(|scratch| scratch.work.cache.clear());
            }
            let Some(found) = by_fast(&self.tokenizer, row) else { continue };
            counts.fast.set(counts.fast.get() + 1);
            prop_assert_eq!(&same_work(found, &expected), &expected, "with an empty cache: {}", is_cleared);
        }
        counts.clean.set(counts.clean.get() + u32::from(is_clean));
        Ok(())
    }

    /// Rows end to end, the empty one among them, are judged as each by itself.
    fn check_together(&self, rows: &[Vec<u32>]) {
        let rows = [rows, &[Vec::new()]].concat();
        let ids = rows.concat();
        let ends = rows.iter().scan(0, |end, row| {
            *end += i64::try_from(row.len()).unwrap();
            Some(*end)
        });
        let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
        let mask: Vec<u8> = ids.iter().map(|id| u8::from(id.is_multiple_of(3))).collect();
        let batch = Batch::new(Ids::U32(&ids), &offsets).unwrap().with_mask(Some(&mask)).unwrap();
        let [mut found, expected] = [Engine::Fast, Engine::Reference]
            .map(|engine| batch.audit(&self.tokenizer, PipelineOptions::default(), engine, 1));
        let by_fast: usize = found.engine.iter().map(|&engine| usize::from(engine == Answered::Fast.index())).sum();
        assert!(by_fast > rows.len() / 3);
        (found.engine, found.encoded_bytes) = (expected.engine.clone(), expected.encoded_bytes.clone());
        assert!(found == expected, "{:?}", {
            let differs = |(found, expected)| found != expected;
            let at = found.drifted.iter().zip(&expected.drifted).position(differs);
            at.map(|at| &rows[at])
        });
    }
}

fn is_mark(c: char) -> bool {
    canonical_combining_class(c) != 0
}

/// An audit as if it had been as much work as another: who answered and how is no part of what a row is.
fn same_work(audit: RowAudit, other: &RowAudit) -> RowAudit {
    RowAudit { engine: other.engine, encoded_bytes: other.encoded_bytes, ..audit }
}

/// How often what was true: a test that decides nothing shows nothing.
#[derive(Default, Debug)]
struct Counts {
    by_machine: Cell<u32>,
    fast: Cell<u32>,
    clean: Cell<u32>,
}

fn agree(kind: Kind) {
    let judges = Judges::new(kind);
    let counts = Counts::default();
    let owners = prop::collection::vec(0u8..3, 1..20);
    let options = (any::<Option<Index>>(), any::<bool>(), any::<bool>());
    let mut runner = TestRunner::new(Config { cases: ROWS, failure_persistence: None, ..Config::default() });
    let rows = RefCell::new(Vec::new());
    let result = runner.run(&(draws(), owners, options), |(draw, owners, (join, has_owners, lacks_context))| {
        let ids = judges.row(&draw);
        rows.borrow_mut().push(ids.clone());
        let owners: Vec<u8> = owners.iter().copied().cycle().take(ids.len()).collect();
        let mask: Vec<u8> = owners.iter().map(|owner| owner % 2).collect();
        let row = Row {
            ids: &ids,
            mask: Some(&mask),
            owners: has_owners.then_some(&owners),
            join: join.map(|join| join.index(ids.len() + 1)),
            lacks_context,
        };
        judges.check(&row, &counts)
    });
    result.unwrap();
    let (of_machine, fast, clean) = (counts.by_machine.get(), counts.fast.get(), counts.clean.get());
    assert!(of_machine > ROWS / 20 && fast > ROWS && clean > ROWS / 5, "{counts:?}");
    judges.check_together(&rows.into_inner());
}

macro_rules! kinds {
    ($($name:ident $kind:expr;)*) => {$(
        #[test]
        fn $name() {
            agree($kind);
        }
    )*};
}

kinds! {
    gpt2 Kind { family: "gpt2", ..Kind::default() };
    gpt2_beside Kind { family: "gpt2", added: &APART, flags: &["lstrip", "rstrip"], ..Kind::default() };
    qwen_nfc_beside Kind { family: "qwen", nfc: true, added: &APART, flags: &["single_word", "rstrip"], ..Kind::default() };
    gpt2_scrambled Kind { family: "gpt2", scrambled: true, added: &APART, ..Kind::default() };
    gpt2_nfc_nested Kind { family: "gpt2", nfc: true, added: &NESTED, ..Kind::default() };
    digits Kind { family: "digits", added: &APART, ..Kind::default() };
    cl100k_whole_words Kind { family: "cl100k", whole_words: true, added: &APART, ..Kind::default() };
    qwen_nfc Kind { family: "qwen", nfc: true, added: &APART, ..Kind::default() };
    qwen3_5_nfc_overlapping Kind { family: "qwen3.5", nfc: true, added: &ADDED, ..Kind::default() };
    o200k_whole_words Kind { family: "o200k", whole_words: true, added: &ADDED, ..Kind::default() };
    tekken Kind { family: "tekken", added: &ADDED, ..Kind::default() };
    deepseek_nfc_whole_words Kind { family: "deepseek", nfc: true, whole_words: true, ..Kind::default() };
}

/// What the fast engine says of a row, in memory that another row was in.
fn by_fast(tokenizer: &Tokenizer, row: &Row<'_>) -> Option<RowAudit> {
    let mut audit = RowAudit { reencoded: vec![1], unknown: vec![2], artefact: true, ..RowAudit::default() };
    tokenizer.audit_proven(&mut audit, tokenizer.fast()?, row)?;
    Some(audit)
}

/// A character that does not begin begins nowhere: it has the owner of its own bytes.
#[test]
fn a_broken_character_behind_an_added_token_is_shared_with_nobody() {
    let judges = Judges::new(Kind { family: "gpt2", added: &APART, ..Kind::default() });
    let added = *judges.tokenizer.added_tokens().keys().min().unwrap();
    let row = Row { ids: &[added, judges.ids[&[0x80][..]]], mask: Some(&[0, 1]), ..Row::default() };
    let found = by_fast(&judges.tokenizer, &row).unwrap();
    assert_eq!((found.shared_characters, found.first_diff), (0, Some(1)));
}

/// Ids without bytes between the parts of a character, whole and broken, under every mask.
#[test]
fn parts_of_characters_around_ids_without_bytes() {
    let judges = Judges::new(Kind { family: "gpt2", ..Kind::default() });
    let parts = [&[0xE2][..], &[0x82], &[0xAC], b"a"].map(|bytes| judges.ids[bytes]);
    let ids = [&parts[..], &[judges.tokenizer.outside()]].concat();
    let mut rows = vec![Vec::new()];
    for length in 0..5 {
        for row in rows.clone() {
            for mask in 0..1u8 << length {
                let mask: Vec<u8> = (0..length).map(|at| mask >> at & 1).collect();
                let row = Row { ids: &row, mask: Some(&mask), ..Row::default() };
                let expected = judges.tokenizer.audit(&row, PipelineOptions::default(), Engine::Reference).unwrap();
                let found = by_fast(&judges.tokenizer, &row).unwrap();
                assert_eq!(same_work(found, &expected), expected, "{row:?}");
            }
        }
        rows = rows.iter().flat_map(|row| ids.iter().map(|&id| [&row[..], &[id]].concat())).collect();
    }
}
