//! The families that follow cl100k: Llama 3 with up to three digits, Qwen with one, Qwen 3.5 with marks among the letters.

use super::Family;
use super::category::Category;
use super::scan::{Contractions, Set, lines_or_blanks};

/// The pattern of cl100k and Llama 3.
pub const CL100K_PATTERN: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

/// The pattern of Qwen 2, 2.5 and 3.
pub const QWEN_PATTERN: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

/// The pattern of Qwen 3.5 and 3.6.
pub const QWEN3_5_PATTERN: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}",
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

const SPACE: u8 = 0;
const BLANK: u8 = 1;
const LINE_END: u8 = 2;
const NUMBER: u8 = 3;
const SYMBOL: u8 = 4;
const APOSTROPHE: u8 = 5;
const LETTER: u8 = 6;
const STMD: u8 = 7;
const RV: u8 = 8;
const E: u8 = 9;
const L: u8 = 10;

const SPACES: Set = Set::of(&[SPACE]);
const LINE_ENDS: Set = Set::of(&[LINE_END]);
const WHITE: Set = Set::of(&[SPACE, BLANK, LINE_END]);
const NUMBERS: Set = Set::of(&[NUMBER]);
const SYMBOLS: Set = Set::of(&[SYMBOL, APOSTROPHE]);
const LETTERS: Set = Set::of(&[LETTER, STMD, RV, E, L]);
const PREFIX: Set = LINE_ENDS.or(LETTERS).or(NUMBERS).complement();
const CONTRACTIONS: Contractions = Contractions {
    apostrophe: Set::of(&[APOSTROPHE]),
    single: Set::of(&[STMD]),
    before_e: Set::of(&[RV]),
    e: Set::of(&[E]),
    l: Set::of(&[L]),
};

/// cl100k and Llama 3.
pub static CL100K: Family = Family { name: "cl100k", classes: 11, class, next_end: next_end::<3> };

/// Qwen 2, 2.5 and 3.
pub static QWEN: Family = Family { name: "qwen", classes: 11, class, next_end: next_end::<1> };

/// Qwen 3.5 and 3.6.
pub static QWEN3_5: Family = Family { name: "qwen3.5", classes: 11, class: class_with_marks, next_end: next_end::<1> };

fn class(c: char, category: Category) -> u8 {
    match (c, category) {
        (' ', _) => SPACE,
        ('\r' | '\n', _) => LINE_END,
        ('\'', _) => APOSTROPHE,
        // U+017F, the long s, is an s when case is ignored. There is no other such letter outside ASCII.
        ('s' | 'S' | 'ſ' | 't' | 'T' | 'm' | 'M' | 'd' | 'D', _) => STMD,
        ('r' | 'R' | 'v' | 'V', _) => RV,
        ('e' | 'E', _) => E,
        ('l' | 'L', _) => L,
        (_, Category::Space) => BLANK,
        (_, Category::Number) => NUMBER,
        (_, Category::Upper | Category::Lower | Category::Uncased) => LETTER,
        (_, Category::Mark | Category::Symbol | Category::Other) => SYMBOL,
    }
}

/// A mark may also be the one character before the letters, but then it could as well be the first of them.
fn class_with_marks(c: char, category: Category) -> u8 {
    if category == Category::Mark { LETTER } else { class(c, category) }
}

fn next_end<const DIGITS: usize>(text: &[u8], start: usize) -> usize {
    None.or_else(|| CONTRACTIONS.end(text, start)) // (?i:'s|'t|'re|'ve|'m|'ll|'d)
        .or_else(|| LETTERS.some(text, PREFIX.optional(text, start))) // [^\r\n\p{L}\p{N}]?\p{L}+
        .or_else(|| NUMBERS.up_to(DIGITS, text, start)) // \p{N}{1,3}
        .or_else(|| {
            let symbols = SYMBOLS.some(text, SPACES.optional(text, start))?;
            Some(LINE_ENDS.run(text, symbols)) //  ?[^\s\p{L}\p{N}]+[\r\n]*
        })
        .unwrap_or_else(|| {
            let end = WHITE.run(text, start);
            lines_or_blanks(text, start, end, LINE_ENDS, end == text.len()) // \s*[\r\n]+|\s+(?!\S)|\s+
        })
}
