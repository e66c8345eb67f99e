//! Whether a normalizer leaves tokens as they are, told token by token.

use unicode_normalization_alignments::UnicodeNormalization;
use unicode_normalization_alignments::char::canonical_combining_class;

use crate::machine::{Start, Traits};

/// The last code point, rounded up, that a composition of two characters involves.
const LAST: u32 = 0x2_FFFF;

/// A normalizer that the fast engine knows.
pub(crate) enum Normal {
    /// It leaves every text as it is.
    Identity,
    /// Canonical composition (NFC).
    Composed(Composing),
}

/// Characters that can be joined with what is before them, in order.
pub(crate) struct Composing(Vec<char>);

impl Normal {
    /// Whether `text` comes through as it is.
    pub(crate) fn keeps(&self, text: &str) -> bool {
        match self {
            Self::Identity => true,
            Self::Composed(_) => text.is_ascii() || text.nfc().map(|(c, _)| c).eq(text.chars()),
        }
    }

    /// What the two ends of a token can do under this normalizer.
    pub(crate) fn traits(&self, text: &str) -> Traits {
        let Self::Composed(composing) = self else { return Traits::default() };
        // What is behind a mark at the front cannot reach the character before it unless it is a mark too.
        let mut front = text.char_indices().take_while(|&(at, c)| at == 0 || is_mark(c)).map(|(_, c)| c);
        let start = if text.is_ascii() {
            Start::Inert
        } else if front.clone().any(|c| composing.contains(c)) {
            Start::Composes
        } else if front.next().is_some_and(is_mark) {
            Start::Reorders
        } else {
            Start::Inert
        };
        Traits { start, ends_in_mark: text.chars().next_back().is_some_and(is_mark), may_begin_added: false }
    }
}

impl Composing {
    /// Every character behind the first of some decomposition.
    pub(crate) fn new() -> Self {
        let mut composing = Vec::new();
        for c in (0..=LAST).filter_map(char::from_u32).filter(|c| !c.is_ascii()) {
            composing.extend(std::iter::once(c).nfd().skip(1).map(|(part, _)| part));
        }
        composing.sort_unstable();
        composing.dedup();
        Self(composing)
    }

    pub(crate) fn contains(&self, c: char) -> bool {
        self.0.binary_search(&c).is_ok()
    }
}

fn is_mark(c: char) -> bool {
    canonical_combining_class(c) != 0
}
