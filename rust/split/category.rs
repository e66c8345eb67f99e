//! What the reference's regex engine thinks of every character, as far as any known pre-tokenizer asks.

use std::ops::Range;

use super::runs::RUNS;

/// A group of Unicode's general categories that no known pattern divides further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Nothing that a pattern names: control and format characters, private use, not assigned.
    Other,
    /// `\s`.
    Space,
    /// `\p{Lu}`, `\p{Lt}`.
    Upper,
    /// `\p{Ll}`.
    Lower,
    /// `\p{Lm}`, `\p{Lo}`: letters without case.
    Uncased,
    /// `\p{M}`.
    Mark,
    /// `\p{N}`.
    Number,
    /// `\p{P}`, `\p{S}`.
    Symbol,
}

impl Category {
    const ALL: [Self; 8] =
        [Self::Other, Self::Space, Self::Upper, Self::Lower, Self::Uncased, Self::Mark, Self::Number, Self::Symbol];
}

/// One more than the last code point.
pub const CODE_POINTS: u32 = 0x11_0000;

/// All code points in order, in stretches of one category. Surrogates, which no text holds, belong to the stretch before.
pub fn runs() -> impl Iterator<Item = (Range<u32>, Category)> {
    let start = |run: u32| run >> 4;
    let ends = RUNS.iter().skip(1).map(move |&next| start(next)).chain([CODE_POINTS]);
    RUNS.iter().zip(ends).map(move |(&run, end)| (start(run)..end, Category::ALL[(run & 0xF) as usize]))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use tokenizers::utils::SysRegex;

    use super::*;
    use crate::split::deepseek::{CHINESE_JAPANESE, WORDS};

    const FILE: &str = "rust/split/runs.rs";

    /// Every character, each once.
    fn everything() -> String {
        ('\0'..=char::MAX).collect()
    }

    /// The characters of `text` that a pattern for one character matches.
    fn matched(pattern: &str, text: &str) -> Vec<char> {
        let stretches = SysRegex::new(&format!("(?:{pattern})+")).unwrap();
        stretches.find_iter(text).flat_map(|(start, end)| text[start..end].chars()).collect()
    }

    /// The category of every code point, asked of the engine.
    fn asked() -> Vec<Category> {
        let text = everything();
        let mut asked = vec![Category::Other; CODE_POINTS as usize];
        for (pattern, category) in [
            (r"\s", Category::Space),
            (r"\p{Lu}|\p{Lt}", Category::Upper),
            (r"\p{Ll}", Category::Lower),
            (r"\p{Lm}|\p{Lo}", Category::Uncased),
            (r"\p{M}", Category::Mark),
            (r"\p{N}", Category::Number),
            (r"\p{P}|\p{S}", Category::Symbol),
        ] {
            for c in matched(pattern, &text) {
                let before = std::mem::replace(&mut asked[c as usize], category);
                assert_eq!(before, Category::Other, "{c:?} has two categories");
            }
        }
        asked
    }

    /// The text of the generated file.
    fn rendered() -> String {
        let asked = asked();
        let starts = (0..asked.len())
            .filter(|&at| char::from_u32(u32::try_from(at).unwrap()).is_some())
            .filter(|&at| at == 0 || asked[at] != asked[at - 1]);
        let runs: Vec<String> = starts.map(|at| format!("0x{at:X}_{:X}", asked[at] as u8)).collect();
        let mut file = String::from(
            "//! Generated from the regex engine: `cargo test --lib write_the_table -- --ignored`. Do not edit.\n\n\
             /// Where each stretch of one category begins: the code point, and the number of the category as last digit.\n\
             #[rustfmt::skip]\n\
             #[allow(clippy::unusual_byte_groupings, clippy::zero_prefixed_literal, reason = \"a code point and a digit\")]\n",
        );
        writeln!(file, "pub static RUNS: [u32; {}] = [", runs.len()).unwrap();
        for line in runs.chunks(11) {
            writeln!(file, "    {},", line.join(", ")).unwrap();
        }
        file.push_str("];\n");
        file
    }

    #[test]
    fn the_table_is_what_the_engine_says() {
        assert!(rendered() == include_str!("runs.rs"), "run the ignored test `write_the_table`");
    }

    #[test]
    #[ignore = "writes the source file"]
    fn write_the_table() {
        std::fs::write(format!("{}/{FILE}", env!("CARGO_MANIFEST_DIR")), rendered()).unwrap();
    }

    /// Not only the categories one by one: the bracket expressions as the patterns write them.
    #[test]
    fn bracket_expressions_are_unions_of_categories() {
        use Category::{Lower, Mark, Number, Other, Space, Symbol, Uncased, Upper};
        let text = everything();
        let mut category = vec![Other; CODE_POINTS as usize];
        for (range, of) in runs() {
            category[range.start as usize..range.end as usize].fill(of);
        }
        let letter = |of| matches!(of, Upper | Lower | Uncased);
        let line_end = |c: char| c == '\r' || c == '\n';
        let check = |pattern: &str, expected: &dyn Fn(char, Category) -> bool| {
            let found = matched(pattern, &text);
            let expected = text.chars().filter(|&c| expected(c, category[c as usize]));
            assert!(expected.eq(found), "{pattern}");
        };
        check(r"\p{L}", &|_, of| letter(of));
        check(r"\S", &|_, of| of != Space);
        check(r"[\p{L}\p{M}]", &|_, of| letter(of) || of == Mark);
        check(r"[^\r\n\p{L}\p{N}]", &|c, of| !line_end(c) && !letter(of) && of != Number);
        check(r"[^\s\p{L}\p{N}]", &|_, of| matches!(of, Other | Mark | Symbol));
        check(r"[^\s\p{L}\p{M}\p{N}]", &|_, of| matches!(of, Other | Symbol));
        check(r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", &|_, of| matches!(of, Upper | Uncased | Mark));
        check(r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", &|_, of| matches!(of, Lower | Uncased | Mark));
        check("[^\r\n\\p{L}\\p{P}\\p{S}]", &|c, of| !line_end(c) && !letter(of) && of != Symbol);
        check(r"[\p{P}\p{S}]", &|_, of| of == Symbol);
        let punctuation = &WORDS[..=WORDS.find("}~]").unwrap() + 2];
        check(punctuation, &|c, _| c.is_ascii_punctuation());
        let chinese_japanese = CHINESE_JAPANESE.strip_suffix('+').unwrap();
        check(chinese_japanese, &|c, _| matches!(c, '\u{3040}'..='\u{30FF}' | '\u{4E00}'..='\u{9FA5}'));
    }
}
