//! GPT-2, and the family that takes the digits out of the text first.

use super::Family;
use super::category::Category;
use super::scan::{Contractions, Set, blanks};

// The pattern is built into the reference's byte-level step:
// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

const SPACE: u8 = 0;
const BLANK: u8 = 1;
const NUMBER: u8 = 2;
const SYMBOL: u8 = 3;
const APOSTROPHE: u8 = 4;
const LETTER: u8 = 5;
const STMD: u8 = 6;
const RV: u8 = 7;
const E: u8 = 8;
const L: u8 = 9;

const SPACES: Set = Set::of(&[SPACE]);
const WHITE: Set = Set::of(&[SPACE, BLANK]);
const NUMBERS: Set = Set::of(&[NUMBER]);
const SYMBOLS: Set = Set::of(&[SYMBOL, APOSTROPHE]);
const LETTERS: Set = Set::of(&[LETTER, STMD, RV, E, L]);
const CONTRACTIONS: Contractions = Contractions {
    apostrophe: Set::of(&[APOSTROPHE]),
    single: Set::of(&[STMD]),
    before_e: Set::of(&[RV]),
    e: Set::of(&[E]),
    l: Set::of(&[L]),
};

/// `ByteLevel` alone.
pub static GPT2: Family = Family { name: "gpt2", classes: 10, class, next_end };

/// `Digits` one by one, then `ByteLevel` on what is between them: `SmolLM2`, `StarCoder`, Command R.
pub static DIGITS: Family = Family { name: "digits", classes: 10, class: digits_class, next_end: digits_next_end };

fn class(c: char, category: Category) -> u8 {
    match (c, category) {
        (' ', _) => SPACE,
        ('\'', _) => APOSTROPHE,
        ('s' | 't' | 'm' | 'd', _) => STMD,
        ('r' | 'v', _) => RV,
        ('e', _) => E,
        ('l', _) => L,
        (_, Category::Space) => BLANK,
        (_, Category::Number) => NUMBER,
        (_, Category::Upper | Category::Lower | Category::Uncased) => LETTER,
        (_, Category::Mark | Category::Symbol | Category::Other) => SYMBOL,
    }
}

fn next_end(text: &[u8], start: usize) -> usize {
    let word = SPACES.optional(text, start);
    None.or_else(|| CONTRACTIONS.end(text, start)) // 's|'t|'re|'ve|'m|'ll|'d
        .or_else(|| LETTERS.some(text, word)) //  ?\p{L}+
        .or_else(|| NUMBERS.some(text, word)) //  ?\p{N}+
        .or_else(|| SYMBOLS.some(text, word)) //  ?[^\s\p{L}\p{N}]+
        .unwrap_or_else(|| {
            let end = WHITE.run(text, start);
            blanks(start, end, end == text.len()) // \s+(?!\S)|\s+
        })
}

/// What is a digit here is said by Rust's standard library, which may know more of Unicode than the regex engine.
fn digits_class(c: char, category: Category) -> u8 {
    if c.is_numeric() { NUMBER } else { class(c, category) }
}

fn digits_next_end(text: &[u8], start: usize) -> usize {
    if NUMBERS.at(text, start) {
        return start + 1;
    }
    // For the byte-level step the text ends before a digit. Only white space looks that far.
    let blank = WHITE.run(text, start);
    if NUMBERS.at(text, blank) { blank } else { next_end(text, start) }
}
