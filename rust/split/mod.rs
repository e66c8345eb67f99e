//! Where the pre-tokenizers of the known families cut a text, without their regular expressions.
//!
//! A [`Splitter`] works on *classes* of characters. Those of one class are interchangeable, so what it does on all texts
//! can be found out by trying short strings of a dozen classes. Each family is one function that goes through the
//! alternatives of its pattern in order; `category` knows what the reference's own regex engine (not Rust's tables, which
//! are of another version of Unicode) takes for a letter.

mod category;
mod cl100k;
mod deepseek;
mod gpt2;
mod o200k;
mod recognise;
mod runs;
mod scan;
mod table;
#[cfg(test)]
pub(crate) mod tests;

use serde_json::Value;

use crate::ByteRange;
use category::Category;
use table::ClassTable;

/// What makes a family.
struct Family {
    name: &'static str,
    classes: usize,
    /// The class of a character, given its category.
    class: fn(char, Category) -> u8,
    next_end: fn(&[u8], usize) -> usize,
}

/// A pre-tokenizer of a known family.
pub struct Splitter {
    family: &'static Family,
    table: ClassTable,
}

impl Splitter {
    /// The splitter that does what this `pre_tokenizer` section of a tokenizer.json does; None for a section that is not
    /// certainly that of a known family.
    pub fn recognise(pre_tokenizer: &Value) -> Option<Self> {
        let family = recognise::family(pre_tokenizer)?;
        Some(Self { family, table: ClassTable::new(family.class) })
    }

    /// Name of the family, for reports.
    pub fn family(&self) -> &'static str {
        self.family.name
    }

    /// Number of character classes, at most 64: they are `0..classes()`.
    pub fn classes(&self) -> usize {
        self.family.classes
    }

    /// The class of a character: those of one class are interchangeable everywhere.
    pub fn class(&self, c: char) -> u8 {
        self.table.class(c)
    }

    /// The classes of characters of several bytes.
    pub fn classes_beyond_ascii(&self) -> Vec<u8> {
        let mut is_one = [false; 256];
        for c in '\u{80}'..=char::MAX {
            is_one[usize::from(self.class(c))] = true;
        }
        (0..=u8::MAX).filter(|&class| is_one[usize::from(class)]).collect()
    }

    /// End of the piece that begins at `start` in a text given as classes.
    ///
    /// The end of the slice is the end of the text, and what is left of `start` is never looked at: `start` must be below
    /// the end, and 0 or the end of a piece.
    pub fn next_end(&self, classes: &[u8], start: usize) -> usize {
        (self.family.next_end)(classes, start)
    }

    /// The pieces of a text, in order and without gaps.
    pub fn pieces(&self, text: &str) -> Vec<ByteRange> {
        let classes: Vec<u8> = text.chars().map(|c| self.class(c)).collect();
        let mut sizes = text.chars().map(char::len_utf8);
        let mut pieces = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        while start < classes.len() {
            let end = self.next_end(&classes, start);
            let size: usize = sizes.by_ref().take(end - start).sum();
            pieces.push(bytes..bytes + size);
            (start, bytes) = (end, bytes + size);
        }
        pieces
    }
}
