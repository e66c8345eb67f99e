//! o200k (GPT-OSS, Llama 4) and Mistral's tekken: words with at most one change from upper to lower case.

use super::Family;
use super::category::Category;
use super::scan::{Contractions, Set, lines_or_blanks};

/// The pattern of o200k.
pub const O200K_PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

/// The pattern of tekken.
pub const TEKKEN_PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

const SPACE: u8 = 0;
const BLANK: u8 = 1;
const LINE_END: u8 = 2;
const NUMBER: u8 = 3;
const SYMBOL: u8 = 4;
const SLASH: u8 = 5;
const MARK: u8 = 6;
const UNCASED: u8 = 7;
const UPPER: u8 = 8;
const LOWER: u8 = 9;
// From here on only o200k has them.
const APOSTROPHE: u8 = 10;
const UPPER_STMD: u8 = 11;
const LOWER_STMD: u8 = 12;
const UPPER_RV: u8 = 13;
const LOWER_RV: u8 = 14;
const UPPER_E: u8 = 15;
const LOWER_E: u8 = 16;
const UPPER_L: u8 = 17;
const LOWER_L: u8 = 18;

const SPACES: Set = Set::of(&[SPACE]);
const LINE_ENDS: Set = Set::of(&[LINE_END]);
const LINE_ENDS_AND_SLASHES: Set = Set::of(&[LINE_END, SLASH]);
const WHITE: Set = Set::of(&[SPACE, BLANK, LINE_END]);
const NUMBERS: Set = Set::of(&[NUMBER]);
/// `[^\s\p{L}\p{N}]`: marks are in it, although they are in both of the next too.
const SYMBOLS: Set = Set::of(&[SYMBOL, SLASH, MARK, APOSTROPHE]);
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
const UPPERS: Set = Set::of(&[MARK, UNCASED, UPPER, UPPER_STMD, UPPER_RV, UPPER_E, UPPER_L]);
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
const LOWERS: Set = Set::of(&[MARK, UNCASED, LOWER, LOWER_STMD, LOWER_RV, LOWER_E, LOWER_L]);
/// `[^\r\n\p{L}\p{N}]`.
const PREFIX: Set = SYMBOLS.or(SPACES).or(Set::of(&[BLANK]));
const CONTRACTIONS: Contractions = Contractions {
    apostrophe: Set::of(&[APOSTROPHE]),
    single: Set::of(&[UPPER_STMD, LOWER_STMD]),
    before_e: Set::of(&[UPPER_RV, LOWER_RV]),
    e: Set::of(&[UPPER_E, LOWER_E]),
    l: Set::of(&[UPPER_L, LOWER_L]),
};

/// o200k, GPT-OSS and Llama 4.
pub static O200K: Family = Family { name: "o200k", classes: 19, class, next_end: next_end::<3> };

/// Tekken: as o200k, but every digit by itself, and without the classes that make a contraction.
pub static TEKKEN: Family = Family { name: "tekken", classes: 10, class: tekken_class, next_end: next_end::<1> };

fn class(c: char, category: Category) -> u8 {
    match c {
        '\'' => APOSTROPHE,
        'S' | 'T' | 'M' | 'D' => UPPER_STMD,
        // U+017F, the long s, is an s when case is ignored. There is no other such letter outside ASCII.
        's' | 'ſ' | 't' | 'm' | 'd' => LOWER_STMD,
        'R' | 'V' => UPPER_RV,
        'r' | 'v' => LOWER_RV,
        'E' => UPPER_E,
        'e' => LOWER_E,
        'L' => UPPER_L,
        'l' => LOWER_L,
        _ => tekken_class(c, category),
    }
}

fn tekken_class(c: char, category: Category) -> u8 {
    match (c, category) {
        (' ', _) => SPACE,
        ('\r' | '\n', _) => LINE_END,
        ('/', _) => SLASH,
        (_, Category::Space) => BLANK,
        (_, Category::Number) => NUMBER,
        (_, Category::Mark) => MARK,
        (_, Category::Uncased) => UNCASED,
        (_, Category::Upper) => UPPER,
        (_, Category::Lower) => LOWER,
        (_, Category::Symbol | Category::Other) => SYMBOL,
    }
}

fn next_end<const DIGITS: usize>(text: &[u8], start: usize) -> usize {
    None.or_else(|| {
        let word = word(text, start)?;
        Some(CONTRACTIONS.end(text, word).unwrap_or(word))
    })
    .or_else(|| NUMBERS.up_to(DIGITS, text, start)) // \p{N}{1,3}
    .or_else(|| {
        let symbols = SYMBOLS.some(text, SPACES.optional(text, start))?;
        Some(LINE_ENDS_AND_SLASHES.run(text, symbols)) //  ?[^\s\p{L}\p{N}]+[\r\n/]*
    })
    .unwrap_or_else(|| {
        let end = WHITE.run(text, start);
        lines_or_blanks(text, start, end, LINE_ENDS, end == text.len()) // \s*[\r\n]+|\s+(?!\S)|\s+
    })
}

/// `prefix?upper*lower+|prefix?upper+lower*`. Where the character may be a prefix, that is tried first; a mark may be one
/// and may be a letter as well.
fn word(text: &[u8], start: usize) -> Option<usize> {
    let behind_prefix = PREFIX.optional(text, start);
    ends_lower(text, behind_prefix)
        .or_else(|| ends_lower(text, start))
        // No lower follows, or the first alternative had matched: `lower*` is empty.
        .or_else(|| UPPERS.some(text, behind_prefix))
        .or_else(|| UPPERS.some(text, start))
}

/// `upper*lower+`, with the backtracking that it needs where both sets share a character.
fn ends_lower(text: &[u8], from: usize) -> Option<usize> {
    let end = UPPERS.run(text, from);
    LOWERS.some(text, end).or_else(|| {
        // `upper*` gives back as little as leaves one character for `lower+`; what it gave back before that is upper only.
        let given_back = text.get(from..end)?.iter().rposition(|&class| LOWERS.has(class))?;
        Some(from + given_back + 1)
    })
}
