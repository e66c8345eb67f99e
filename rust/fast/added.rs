//! Added tokens in the text of ordinary ones.

use std::collections::HashSet;

/// The texts that encoding turns into added tokens.
pub(crate) struct AddedTexts {
    /// In order; none begins another: where the longer one is found, the shorter one is there.
    texts: Vec<Box<[u8]>>,
    first_bytes: [bool; 256],
    /// Bytes that one goes on with; all of them where a text is its first byte.
    second_bytes: [bool; 256],
}

impl AddedTexts {
    /// None of them is empty. Those that another one begins are left out.
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut texts: Vec<Box<[u8]>> = texts.map(Into::into).collect();
        texts.sort_unstable();
        texts.dedup_by(|text, before| text.starts_with(before));
        let (mut first_bytes, mut second_bytes) = ([false; 256], [false; 256]);
        for text in &texts {
            first_bytes[usize::from(text[0])] = true;
            match text.get(1) {
                Some(second) => second_bytes[usize::from(*second)] = true,
                None => second_bytes.fill(true),
            }
        }
        Self { texts, first_bytes, second_bytes }
    }

    /// Those that share bytes with another one in some text: which of the two is found there is told by what else is
    /// there, and by the order in which the reference looks for them.
    pub(crate) fn overlapping(&self) -> HashSet<&[u8]> {
        let mut overlapping: HashSet<&[u8]> = HashSet::new();
        for earlier in &self.texts {
            for rest in
                (1..earlier.len()).map(|at| &earlier[at..]).filter(|rest| self.first_bytes[usize::from(rest[0])])
            {
                // Texts in order: those that `rest` begins stand together, and the one that begins it before them.
                let next = self.texts.partition_point(|text| **text < *rest);
                let begun = self.texts[next..].iter().take_while(|text| text.starts_with(rest));
                let begins = self.texts[..next].last().filter(|text| rest.starts_with(text));
                for later in begun.chain(begins) {
                    overlapping.insert(earlier);
                    overlapping.insert(later);
                }
            }
        }
        overlapping
    }

    /// Whether an added token may begin in `text`: whole, or as far as the text goes.
    pub(crate) fn may_begin_in(&self, text: &[u8]) -> bool {
        (0..text.len()).any(|at| self.begins_at(text, at))
    }

    fn begins_at(&self, text: &[u8], at: usize) -> bool {
        let rest = &text[at..];
        self.looks_begun(rest) && (self.is_begun(rest) || self.in_front_of(rest).is_some())
    }

    /// Whether the first two bytes are those of an added token, as far as there are two: no search for most texts.
    fn looks_begun(&self, text: &[u8]) -> bool {
        self.first_bytes[usize::from(text[0])]
            && text.get(1).is_none_or(|&second| self.second_bytes[usize::from(second)])
    }

    /// Whether an added token that begins before `limit` may go on where `text` ends.
    pub(crate) fn may_go_on_behind(&self, text: &[u8], limit: usize) -> bool {
        (0..limit.min(text.len())).any(|at| self.looks_begun(&text[at..]) && self.is_begun(&text[at..]))
    }

    /// Whether `text` is the front of an added token, and not all of it.
    fn is_begun(&self, text: &[u8]) -> bool {
        // Texts in order: one that `text` begins is the first behind it.
        let next = self.texts.partition_point(|other| **other <= *text);
        self.texts.get(next).is_some_and(|other| other.starts_with(text))
    }

    /// The added token that `text` begins with.
    fn in_front_of(&self, text: &[u8]) -> Option<&[u8]> {
        // Texts in order: one that begins `text` is the last that is not behind it.
        let next = self.texts.partition_point(|other| **other <= *text);
        self.texts[..next].last().map(|found| &**found).filter(|found| text.starts_with(found))
    }

    /// The farthest end of the added tokens in `text` that begin before `limit`.
    pub(crate) fn reach(&self, text: &[u8], limit: usize) -> Option<usize> {
        let begins = (0..limit.min(text.len())).filter(|&at| self.looks_begun(&text[at..]));
        begins.filter_map(|at| Some(at + self.in_front_of(&text[at..])?.len())).max()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(lengths: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(&b"abc"[..]), lengths)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn where_added_tokens_are_and_may_be(
            texts in prop::collection::hash_set(bytes(1..5), 1..5),
            text in bytes(0..12),
            limit in 0usize..14,
        ) {
            let added = AddedTexts::new(texts.iter().map(Vec::as_slice));
            let is_begun = |text: &Vec<u8>| texts.iter().any(|own| own != text && text.starts_with(own));
            let texts: Vec<_> = texts.iter().filter(|text| !is_begun(text)).collect();
            let rest = |at: &usize| &text[*at..];
            let whole = |at: usize| texts.iter().find(|own| rest(&at).starts_with(own)).map(|own| at + own.len());
            let is_front = |at: usize| texts.iter().any(|own| own.len() > text.len() - at && own.starts_with(rest(&at)));
            let begins = || 0..limit.min(text.len());
            prop_assert_eq!(added.reach(&text, limit), begins().filter_map(whole).max());
            prop_assert_eq!(added.may_go_on_behind(&text, limit), begins().any(is_front));
            prop_assert_eq!(added.may_begin_in(&text), (0..text.len()).any(|at| whole(at).is_some() || is_front(at)));
        }
    }
}
