//! `DeepSeek` V3 and V4: three splits, each on the pieces of the one before, so that for each the text ends at their borders.

use super::Family;
use super::category::Category;
use super::scan::{Set, lines_or_blanks};

/// The first split.
pub const DIGITS: &str = r"\p{N}{1,3}";

/// The second split.
pub const CHINESE_JAPANESE: &str = "[一-龥\u{3040}-ゟ゠-ヿ]+";

/// The third split; its line ends are written as the characters themselves.
pub const WORDS: &str = concat!(
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"##,
    "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*",
    "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
);

const SPACE: u8 = 0;
const BLANK: u8 = 1;
const LINE_END: u8 = 2;
const NUMBER: u8 = 3;
const LETTER: u8 = 4;
const ASCII_LETTER: u8 = 5;
const SYMBOL: u8 = 6;
const ASCII_SYMBOL: u8 = 7;
const OTHER: u8 = 8;
const CJ_LETTER: u8 = 9;
const CJ_SYMBOL: u8 = 10;
const CJ_OTHER: u8 = 11;

const SPACES: Set = Set::of(&[SPACE]);
const LINE_ENDS: Set = Set::of(&[LINE_END]);
const WHITE: Set = Set::of(&[SPACE, BLANK, LINE_END]);
const NUMBERS: Set = Set::of(&[NUMBER]);
const ASCII_LETTERS: Set = Set::of(&[ASCII_LETTER]);
const ASCII_SYMBOLS: Set = Set::of(&[ASCII_SYMBOL]);
/// What the first two splits take: for the third the text ends before it.
const TAKEN: Set = Set::of(&[NUMBER, CJ_LETTER, CJ_SYMBOL, CJ_OTHER]);

/// What the third split tells apart on either side of a border that the second has drawn.
struct Side {
    letters: Set,
    symbols: Set,
    /// `[\r\n]` behind the symbols.
    line_ends: Set,
    /// `[^\r\n\p{L}\p{P}\p{S}]`. Marks are also in it, but they could as well be the first of the letters.
    prefix: Set,
    /// What nothing matches, but as a prefix.
    other: Set,
}

const PLAIN: Side = Side {
    letters: Set::of(&[LETTER, ASCII_LETTER]),
    symbols: Set::of(&[SYMBOL, ASCII_SYMBOL]),
    line_ends: LINE_ENDS,
    prefix: Set::of(&[SPACE, BLANK, OTHER]),
    other: Set::of(&[OTHER]),
};

const CJ: Side = Side {
    letters: Set::of(&[CJ_LETTER]),
    symbols: Set::of(&[CJ_SYMBOL]),
    line_ends: Set::of(&[]),
    prefix: Set::of(&[CJ_OTHER]),
    other: Set::of(&[CJ_OTHER]),
};

/// `DeepSeek` V3 and V4.
pub static DEEPSEEK: Family = Family { name: "deepseek", classes: 12, class, next_end };

fn class(c: char, category: Category) -> u8 {
    let cj = matches!(c, '一'..='龥' | '\u{3040}'..='ヿ');
    match (c, category) {
        (' ', _) => SPACE,
        ('\r' | '\n', _) => LINE_END,
        ('A'..='Z' | 'a'..='z', _) => ASCII_LETTER,
        (_, Category::Space) => BLANK,
        (_, Category::Number) => NUMBER,
        (_, Category::Symbol) if c.is_ascii() => ASCII_SYMBOL,
        (_, Category::Symbol) if cj => CJ_SYMBOL,
        (_, Category::Symbol) => SYMBOL,
        (_, Category::Other) if cj => CJ_OTHER,
        (_, Category::Other) => OTHER,
        (_, Category::Upper | Category::Lower | Category::Uncased | Category::Mark) if cj => CJ_LETTER,
        (_, Category::Upper | Category::Lower | Category::Uncased | Category::Mark) => LETTER,
    }
}

fn next_end(text: &[u8], start: usize) -> usize {
    // \p{N}{1,3}; the third split matches nothing in such a piece and leaves it whole.
    if let Some(end) = NUMBERS.up_to(3, text, start) {
        return end;
    }
    // [一-龥぀-ゟ゠-ヿ]+
    let side = if TAKEN.at(text, start) { &CJ } else { &PLAIN };
    None.or_else(|| ASCII_LETTERS.some(text, ASCII_SYMBOLS.one(text, start)?)) // [!-/:-~][A-Za-z]+
        .or_else(|| side.letters.some(text, side.prefix.optional(text, start))) // [^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
        .or_else(|| {
            let symbols = side.symbols.some(text, SPACES.optional(text, start))?;
            Some(side.line_ends.run(text, symbols)) //  ?[\p{P}\p{S}]+[\r\n]*
        })
        .or_else(|| {
            let end = WHITE.some(text, start)?;
            let text_ends = end == text.len() || TAKEN.at(text, end);
            Some(lines_or_blanks(text, start, end, LINE_ENDS, text_ends)) // \s*[\r\n]+|\s+(?!\S)|\s+
        })
        .unwrap_or_else(|| side.gap(text, start))
}

impl Side {
    /// The end of the piece that nothing matches: before the first character that begins a match, as a prefix or otherwise.
    fn gap(&self, text: &[u8], start: usize) -> usize {
        let end = self.other.run(text, start);
        if self.letters.at(text, end) { end - 1 } else { end }
    }
}
