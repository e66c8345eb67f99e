//! What the patterns of all families are made of, on classes.

/// A set of character classes: a bracket expression.
#[derive(Clone, Copy)]
pub struct Set(u64);

impl Set {
    /// The set of these classes.
    pub const fn of(classes: &[u8]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < classes.len() {
            bits |= 1 << classes[at];
            at += 1;
        }
        Self(bits)
    }

    /// The classes of either set.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The classes that are not in this set.
    pub const fn complement(self) -> Self {
        Self(!self.0)
    }

    /// Whether a class is in it.
    pub const fn has(self, class: u8) -> bool {
        self.0 >> class & 1 == 1
    }

    /// Whether the text has one of them at `at`; the end of the text is in no set.
    pub fn at(self, text: &[u8], at: usize) -> bool {
        text.get(at).is_some_and(|&class| self.has(class))
    }

    /// `[..]*`: the end of the stretch of them that begins at `from`, which is `from` where there is none.
    pub fn run(self, text: &[u8], from: usize) -> usize {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|&&class| self.has(class)).count()
    }

    /// `[..]+`.
    pub fn some(self, text: &[u8], from: usize) -> Option<usize> {
        Some(self.run(text, from)).filter(|&end| end > from)
    }

    /// `[..]{1,limit}`.
    pub fn up_to(self, limit: usize, text: &[u8], from: usize) -> Option<usize> {
        self.some(&text[..text.len().min(from + limit)], from)
    }

    /// `[..]`.
    pub fn one(self, text: &[u8], from: usize) -> Option<usize> {
        self.at(text, from).then_some(from + 1)
    }

    /// `[..]?`: behind one of them, if there is one.
    pub fn optional(self, text: &[u8], from: usize) -> usize {
        from + usize::from(self.at(text, from))
    }
}

/// `\s+(?!\S)|\s+`, the whole stretch being `start..end`: the last one is left to a word that follows, unless it is the only one.
pub fn blanks(start: usize, end: usize, text_ends: bool) -> usize {
    if text_ends || end - start == 1 { end } else { end - 1 }
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`, the whole stretch being `start..end`: all up to its last line end, or else as [`blanks`].
pub fn lines_or_blanks(text: &[u8], start: usize, end: usize, line_end: Set, text_ends: bool) -> usize {
    let last = text[start..end].iter().rposition(|&class| line_end.has(class));
    last.map_or_else(|| blanks(start, end, text_ends), |last| start + last + 1)
}

/// The classes that `'s|'t|'re|'ve|'m|'ll|'d` tells apart.
pub struct Contractions {
    /// `'`.
    pub apostrophe: Set,
    /// `s`, `t`, `m` and `d`, which end it.
    pub single: Set,
    /// `r` and `v`, before `e`.
    pub before_e: Set,
    /// `e`.
    pub e: Set,
    /// `l`, twice.
    pub l: Set,
}

impl Contractions {
    /// The end of the contraction at `from`.
    pub fn end(&self, text: &[u8], from: usize) -> Option<usize> {
        if !self.apostrophe.at(text, from) {
            return None;
        }
        let pair = |first: Set, second: Set| first.at(text, from + 1) && second.at(text, from + 2);
        if self.single.at(text, from + 1) {
            Some(from + 2)
        } else if pair(self.before_e, self.e) || pair(self.l, self.l) {
            Some(from + 3)
        } else {
            None
        }
    }
}
