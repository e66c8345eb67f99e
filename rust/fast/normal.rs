//! Whether a normalizer leaves tokens as they are, told token by token.

use tokenizers::AddedToken;
use unicode_normalization_alignments::UnicodeNormalization;
use unicode_normalization_alignments::char::canonical_combining_class;

use crate::machine::{End, Start, Traits};

/// The last code point, rounded up, that a composition of two characters involves.
const LAST: u32 = 0x2_FFFF;
const WORD: usize = u64::BITS as usize;

/// A normalizer that the fast engine knows.
pub(crate) enum Normal {
    /// It leaves every text as it is.
    Identity,
    /// Canonical composition (NFC).
    Composed(Composition),
}

/// What composition does to single characters.
pub(crate) struct Composition {
    /// Those that can be joined with what is before them, in order.
    joining: Vec<char>,
    /// Those that others can be joined with.
    joinable: Characters,
    /// Those that come through as they are, and leave alone what stands before them and behind them.
    settled: Characters,
    /// Marks that do so behind any of these, in the order of their classes.
    passive: Characters,
}

/// Code points up to `LAST`, a bit for each.
struct Characters(Box<[u64]>);

impl Characters {
    fn none() -> Self {
        Self(vec![0; (LAST as usize + 1) / WORD].into())
    }

    fn insert(&mut self, c: char) {
        self.0[c as usize / WORD] |= 1 << (c as usize % WORD);
    }

    fn contains(&self, c: char) -> bool {
        self.0.get(c as usize / WORD).is_some_and(|word| word >> (c as usize % WORD) & 1 == 1)
    }
}

impl Normal {
    /// Whether an added token is looked for in what it makes of a text.
    pub(crate) fn precedes(&self, token: &AddedToken) -> bool {
        token.normalized && !matches!(self, Self::Identity)
    }

    /// Whether `text` comes through as it is.
    pub(crate) fn keeps(&self, text: &str) -> bool {
        match self {
            Self::Identity => true,
            Self::Composed(composition) => {
                text.is_ascii() || composition.passes(text) || composed(text.chars()).eq(text.chars())
            }
        }
    }

    /// Whether `text` comes through as it is, whatever stands before it, and behind it what does nothing to what is before it.
    pub(crate) fn settles(&self, text: &str) -> bool {
        match self {
            Self::Identity => true,
            Self::Composed(composition) => text.chars().all(|c| composition.settles(c)),
        }
    }

    /// Whether `text` comes through as it is, and so does what stands beside it, texts with these traits.
    pub(crate) fn keeps_between(&self, before: Traits, text: &str, behind: Traits) -> bool {
        if behind.start == Start::Inert && self.settles(text) {
            return true;
        }
        let own = self.traits(text);
        !own.joins(before) && !behind.joins(own) && self.keeps(text)
    }

    /// What the two ends of a token can do under this normalizer.
    pub(crate) fn traits(&self, text: &str) -> Traits {
        let Self::Composed(composition) = self else { return Traits::default() };
        // What is behind a mark at the front cannot reach the character before it unless it is a mark too.
        let mut front = text.char_indices().take_while(|&(at, c)| at == 0 || is_mark(c)).map(|(_, c)| c);
        let start = if text.is_ascii() {
            Start::Inert
        } else if front.clone().any(|c| composition.joins(c)) {
            Start::Composes
        } else if front.next().is_some_and(is_mark) {
            Start::Reorders
        } else {
            Start::Inert
        };
        let end = match text.chars().next_back() {
            Some(c) if is_mark(c) => End::Mark,
            Some(c) if composition.joinable.contains(c) => End::Joinable,
            _ => End::Inert,
        };
        Traits { start, end, may_begin_added: false }
    }
}

impl Composition {
    /// By the tables of the reference.
    pub(crate) fn new() -> Self {
        let (mut joining, mut joinable) = (Vec::new(), Characters::none());
        // A character that is its own decomposition, or composes to itself again, and how that begins.
        let mut stable = Vec::new();
        for c in (0..=LAST).filter_map(char::from_u32) {
            let mut parts = std::iter::once(c).nfd().map(|(part, _)| part);
            let Some(first) = parts.next() else { continue };
            let others = joining.len();
            joining.extend(parts);
            let is_composed = joining.len() > others && composed(std::iter::once(c)).eq([c]);
            if is_composed {
                // Both: what is composed is taken apart first, and its parts may be joined with something else.
                joinable.insert(first);
                joinable.insert(c);
            }
            if first == c || is_composed {
                stable.push((c, first));
            }
        }
        joining.sort_unstable();
        joining.dedup();
        let mut composition = Self { joining, joinable, settled: Characters::none(), passive: Characters::none() };
        for (c, first) in stable {
            if composition.joins(first) {
                continue;
            }
            // Nothing before it goes past a starter that joins nothing, so that what is on either side is composed apart.
            let kind = if is_mark(first) { &mut composition.passive } else { &mut composition.settled };
            kind.insert(c);
        }
        composition
    }

    /// Whether `text` surely comes through as it is: the quick check of the standard (Unicode Standard Annex 15, section 9).
    fn passes(&self, text: &str) -> bool {
        let mut class = 0;
        text.chars().all(|c| {
            let before = std::mem::take(&mut class);
            self.settles(c)
                || self.passive.contains(c) && {
                    class = canonical_combining_class(c);
                    class >= before
                }
        })
    }

    pub(crate) fn joins(&self, c: char) -> bool {
        self.joining.binary_search(&c).is_ok()
    }

    fn settles(&self, c: char) -> bool {
        self.settled.contains(c)
    }
}

fn composed(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    chars.nfc().map(|(c, _)| c)
}

fn is_mark(c: char) -> bool {
    canonical_combining_class(c) != 0
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    static COMPOSITION: LazyLock<Composition> = LazyLock::new(Composition::new);
    static NORMAL: LazyLock<Normal> = LazyLock::new(|| Normal::Composed(Composition::new()));

    fn characters() -> impl Iterator<Item = char> {
        (0..=u32::from(char::MAX)).filter_map(char::from_u32)
    }

    fn any_character() -> impl Strategy<Value = char> {
        let marks: Vec<char> = characters().filter(|&c| is_mark(c)).collect();
        prop_oneof![
            any::<char>(),
            prop::sample::select(COMPOSITION.joining.clone()),
            prop::sample::select(characters().filter(|&c| COMPOSITION.joinable.contains(c)).collect::<Vec<_>>()),
            prop::sample::select(marks),
            // Vowels of Bengali in two parts, and consonants beside them.
            prop::char::range('\u{995}', '\u{9d7}'),
            prop::char::range('\u{a0}', '\u{2ff}'),
            prop::char::range('\u{ac00}', '\u{d7a3}'),
            Just('e'),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn what_is_kept_is_what_composition_leaves(characters in prop::collection::vec(any_character(), 0..6)) {
            let text = String::from_iter(&characters);
            prop_assert_eq!(NORMAL.keeps(&text), composed(text.chars()).eq(text.chars()));
        }

        #[test]
        fn texts_that_do_not_join_are_kept_end_to_end(
            texts in prop::collection::vec(prop::collection::vec(any_character(), 1..4), 1..5),
        ) {
            let texts: Vec<String> = texts.iter().map(String::from_iter).filter(|text| NORMAL.keeps(text)).collect();
            let traits: Vec<Traits> = texts.iter().map(|text| NORMAL.traits(text)).collect();
            if !traits.windows(2).any(|pair| pair[1].joins(pair[0])) {
                prop_assert!(NORMAL.keeps(&texts.concat()), "{:?}", texts);
            }
            if let ([before, text, behind], [of_before, _, of_behind]) = (&texts[..], &traits[..]) {
                let is_kept = NORMAL.keeps_between(*of_before, text, *of_behind);
                prop_assert!(!is_kept || NORMAL.keeps(&[before.as_str(), text, behind].concat()), "{:?}", texts);
            }
        }
    }

    #[test]
    fn a_settled_character_comes_through_alone_and_joins_nothing() {
        for c in characters().filter(|&c| COMPOSITION.settles(c)) {
            assert!(composed([c].into_iter()).eq([c]) && !is_mark(c) && !COMPOSITION.joins(c), "{c:?}");
        }
        for (text, are_settled) in [("aéŃ가漢→─", true), ("\u{301}\u{1161}\u{212a}\u{344}", false)] {
            assert!(text.chars().all(|c| COMPOSITION.settles(c) == are_settled), "{text:?}");
        }
    }

    /// A token's front is told by its characters, not by the parts of them: that takes tables of which this holds.
    #[test]
    fn what_begins_with_a_part_that_joins_joins_by_itself() {
        for c in characters().filter(|&c| NORMAL.keeps(&String::from(c))) {
            let first = std::iter::once(c).nfd().map(|(part, _)| part).next().unwrap();
            assert!(COMPOSITION.joins(c) || !COMPOSITION.joins(first), "{c:?}");
        }
    }

    #[test]
    fn marks_that_join_nothing_pass_in_the_order_of_their_classes() {
        let passes = |text: &str| COMPOSITION.passes(text);
        assert!(passes("हिन्दी") && passes("ที่นี่") && passes("é\u{316}\u{315}") && passes("\u{316}\u{315}x\u{316}"));
        assert!(!passes("\u{315}\u{316}") && !passes("e\u{301}") && !passes("\u{344}") && !passes("क\u{93c}"));
        let marks: Vec<char> = characters().filter(|&c| is_mark(c)).collect();
        for (&a, &b) in marks.iter().flat_map(|a| marks.iter().map(move |b| (a, b))) {
            let text = ['é', a, b];
            if passes(&String::from_iter(text)) {
                assert!(composed(text.into_iter()).eq(text), "{text:?}");
            }
        }
    }
}
