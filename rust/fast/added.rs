//! Added tokens in the text of ordinary ones.

use std::collections::HashSet;

/// The texts that encoding turns into added tokens.
pub(crate) struct AddedTexts {
    /// In order; none begins another.
    texts: Vec<Box<[u8]>>,
    first_bytes: [bool; 256],
    longest: usize,
}

impl AddedTexts {
    /// `None` where one is empty or begins another: then what follows it decides which one is found.
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Option<Self> {
        let mut texts: Vec<Box<[u8]>> = texts.map(Into::into).collect();
        texts.sort_unstable();
        let mut first_bytes = [false; 256];
        for text in &texts {
            first_bytes[usize::from(*text.first()?)] = true;
        }
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let is_prefix = |pair: &[Box<[u8]>]| pair[1].starts_with(&pair[0]);
        (!texts.windows(2).any(is_prefix)).then_some(Self { texts, first_bytes, longest })
    }

    /// Those that another one, which begins earlier, can take the front of, or all.
    pub(crate) fn overlapped(&self) -> HashSet<&[u8]> {
        let mut overlapped = HashSet::new();
        for earlier in &self.texts {
            for rest in
                (1..earlier.len()).map(|at| &earlier[at..]).filter(|rest| self.first_bytes[usize::from(rest[0])])
            {
                // Texts in order: those that `rest` begins stand together, and the one that begins it before them.
                let next = self.texts.partition_point(|text| **text < *rest);
                overlapped
                    .extend(self.texts[next..].iter().take_while(|text| text.starts_with(rest)).map(|text| &**text));
                overlapped.extend(self.texts[..next].last().filter(|text| rest.starts_with(text)).map(|text| &**text));
            }
        }
        overlapped
    }

    /// Whether an added token may begin in `text`: whole, or as far as the text goes.
    pub(crate) fn may_begin_in(&self, text: &[u8]) -> bool {
        (0..text.len()).any(|at| self.begins_at(text, at))
    }

    fn begins_at(&self, text: &[u8], at: usize) -> bool {
        let rest = &text[at..];
        self.first_bytes[usize::from(rest[0])] && {
            // Texts in order: one that begins `rest` is the last that is not behind it, one that `rest` begins the next.
            let next = self.texts.partition_point(|text| **text <= *rest);
            self.texts.get(next).is_some_and(|text| text.starts_with(rest))
                || next > 0 && rest.starts_with(&self.texts[next - 1])
        }
    }

    /// The end of the first added token in `text` that begins before `limit`.
    pub(crate) fn find(&self, text: &[u8], limit: usize) -> Option<usize> {
        (0..limit.min(text.len())).find_map(|at| {
            let rest = &text[at..];
            let next =
                self.first_bytes[usize::from(rest[0])].then(|| self.texts.partition_point(|text| **text <= *rest))?;
            let found = self.texts[..next].last().filter(|found| rest.starts_with(found))?;
            Some(at + found.len())
        })
    }

    /// Length of the longest text.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }
}
