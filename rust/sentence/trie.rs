//! The texts of added tokens, found as the reference finds them: of those that begin first the longest.

use std::collections::HashMap;

/// What a text stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The added token of this id, whatever stands beside it.
    Token(u32),
    /// An added token that looks at what stands beside it, or is looked for in the normalized text.
    Odd,
}

/// A text that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) len: usize,
    pub(super) target: Target,
}

/// 256 bits, one per byte.
pub(super) type Bytes = [u64; 4];

/// The node of the empty text.
const ROOT: u32 = 0;

/// Texts byte by byte.
#[derive(Default)]
pub(super) struct Trie {
    edges: HashMap<(u32, u8), u32>,
    first: Bytes,
    /// By node.
    follow: Vec<Bytes>,
    targets: Vec<Option<Target>>,
    longest: usize,
}

impl Trie {
    /// No text yet.
    pub(super) fn new() -> Self {
        Self { follow: vec![[0; 4]], targets: vec![None], ..Self::default() }
    }

    /// Add a text; of equal ones an odd one counts.
    pub(super) fn insert(&mut self, text: &[u8], target: Target) {
        let mut node = ROOT;
        for &byte in text {
            set(&mut self.follow[node as usize], byte);
            let next = u32::try_from(self.targets.len()).expect("added tokens have less than 4 GiB of text");
            node = *self.edges.entry((node, byte)).or_insert(next);
            if node == next {
                self.follow.push([0; 4]);
                self.targets.push(None);
            }
        }
        let slot = &mut self.targets[node as usize];
        *slot = Some(if *slot == Some(Target::Odd) { Target::Odd } else { target });
        self.first = self.follow[ROOT as usize];
        self.longest = self.longest.max(text.len());
    }

    /// Length of the longest text.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The longest text that `rest` begins with.
    #[inline]
    pub(super) fn find(&self, rest: &[u8]) -> Option<Found> {
        self.walk(rest).0
    }

    /// What a token with these bytes can begin.
    pub(super) fn begins_in(&self, bytes: &[u8]) -> Begins {
        let mut begins = Begins { holds_one: false, goes_on_with: [0; 4] };
        for at in 0..bytes.len() {
            let (found, goes_on_with) = self.walk(&bytes[at..]);
            begins.holds_one |= found.is_some();
            begins.goes_on_with.iter_mut().zip(goes_on_with).for_each(|(all, more)| *all |= more);
        }
        begins
    }

    /// The bytes with which a text of these bytes goes on to be a longer one.
    pub(super) fn goes_on_with(&self, bytes: &[u8]) -> Bytes {
        self.walk(bytes).1
    }

    /// The longest text at the front of `rest`, and where `rest` ends inside a text what that goes on with.
    #[inline]
    pub(super) fn walk(&self, rest: &[u8]) -> (Option<Found>, Bytes) {
        if rest.first().is_some_and(|&first| has(&self.first, first)) { self.walk_on(rest) } else { (None, [0; 4]) }
    }

    fn walk_on(&self, rest: &[u8]) -> (Option<Found>, Bytes) {
        let mut node = ROOT;
        let mut found = None;
        for (at, &byte) in rest.iter().enumerate() {
            match self.edges.get(&(node, byte)) {
                Some(&next) => node = next,
                None => return (found, [0; 4]),
            }
            if let Some(target) = self.targets[node as usize] {
                found = Some(Found { len: at + 1, target });
            }
        }
        (found, self.follow[node as usize])
    }
}

/// What a token can begin.
pub(super) struct Begins {
    /// A text lies inside it.
    pub(super) holds_one: bool,
    /// One may begin in it that goes on with one of these bytes.
    pub(super) goes_on_with: Bytes,
}

pub(super) fn set(bytes: &mut Bytes, byte: u8) {
    bytes[usize::from(byte >> 6)] |= 1 << (byte & 63);
}

#[inline]
pub(super) fn has(bytes: &Bytes, byte: u8) -> bool {
    bytes[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_longest_text_is_found(texts in prop::collection::btree_set("[ab<]{1,4}", 0..6), rest in "[ab<]{0,8}") {
            let mut trie = Trie::new();
            for (id, text) in (0..).zip(&texts) {
                trie.insert(text.as_bytes(), Target::Token(id));
            }
            let longest = texts.iter().filter(|text| rest.starts_with(*text)).map(String::len).max();
            prop_assert_eq!(trie.find(rest.as_bytes()).map(|found| found.len), longest);
            let begins = trie.begins_in(rest.as_bytes());
            prop_assert_eq!(begins.holds_one, texts.iter().any(|text| rest.contains(text)));
            for byte in [b'a', b'b', b'<', b'c'] {
                let goes_on = |tail: &str| texts.iter().any(|text| {
                    text.len() > tail.len() && text.starts_with(tail) && text.as_bytes()[tail.len()] == byte
                });
                let expected = (0..rest.len()).any(|at| goes_on(&rest[at..]));
                prop_assert_eq!(has(&begins.goes_on_with, byte), expected);
            }
        }
    }

    #[test]
    fn an_odd_text_stays_odd() {
        let mut trie = Trie::new();
        trie.insert(b"a", Target::Odd);
        trie.insert(b"a", Target::Token(1));
        assert_eq!(trie.find(b"ab"), Some(Found { len: 1, target: Target::Odd }));
    }
}
