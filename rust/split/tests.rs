//! Every family against the reference's own pre-tokenizer.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::utils::SysRegex;
use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};

use super::Splitter;
use crate::ByteRange;

/// A `Split` as the files write it, and the byte-level step after it.
fn split_by(pattern: &str) -> Value {
    json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
    ]})
}

fn byte_level() -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})
}

/// The section of each family as the published files have it; the patterns are written out once more.
pub(crate) fn section(family: &str) -> Value {
    match family {
        "gpt2" => byte_level(),
        "digits" => {
            json!({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, byte_level()]})
        }
        "cl100k" => split_by(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        "qwen" => split_by(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        "qwen3.5" => split_by(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        "o200k" => split_by(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        "tekken" => split_by(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        "deepseek" => json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r"\p{N}{1,3}"}, "behavior": "Isolated", "invert": false},
            {"type": "Split", "pattern": {"Regex": "[\u{4e00}-\u{9fa5}\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+"},
             "behavior": "Isolated", "invert": false},
            {"type": "Split", "pattern": {"Regex": "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"},
             "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        ]}),
        _ => panic!("no such family: {family}"),
    }
}

/// A splitter beside the pre-tokenizer that it stands for.
struct Pair {
    splitter: Splitter,
    reference: PreTokenizerWrapper,
    /// The characters of each class.
    members: Vec<Vec<char>>,
}

impl Pair {
    fn new(family: &str) -> Self {
        let section = section(family);
        let splitter = Splitter::recognise(&section).unwrap();
        assert_eq!(splitter.family(), family);
        let mut members = vec![Vec::new(); splitter.classes()];
        ('\0'..=char::MAX).for_each(|c| members[usize::from(splitter.class(c))].push(c));
        assert!(members.iter().all(|members| !members.is_empty()), "a class without characters");
        Self { splitter, reference: serde_json::from_value(section).unwrap(), members }
    }

    fn expected(&self, text: &str) -> Vec<ByteRange> {
        let mut text = PreTokenizedString::from(text);
        self.reference.pre_tokenize(&mut text).unwrap();
        let splits = text.get_splits(OffsetReferential::Original, OffsetType::Byte);
        splits.into_iter().map(|(_, (start, end), _)| start..end).collect()
    }

    fn agree_on(&self, text: &str) {
        let (ours, expected) = (self.splitter.pieces(text), self.expected(text));
        if ours == expected {
            return;
        }
        // Texts may be long: show the first piece that differs.
        let at = ours.iter().zip(&expected).take_while(|(ours, expected)| ours == expected).count();
        let show = |pieces: &[ByteRange]| pieces.get(at).map(|piece| text[piece.clone()].to_owned());
        let before = at.checked_sub(1).map(|before| &text[ours[before].clone()]);
        panic!("after {before:?}: {:?}, but the reference has {:?}", show(&ours), show(&expected));
    }

    /// Random text: nasty pieces, and characters from all of Unicode, each class as likely as another.
    fn text(&self) -> impl Strategy<Value = String> {
        let run = |c: BoxedStrategy<char>| (c, 1..=8usize).prop_map(|(c, n)| String::from(c).repeat(n));
        let members = self.members.clone();
        let member = (any::<Index>(), any::<Index>())
            .prop_map(move |(class, at)| *at.get(class.get::<Vec<char>>(&members)))
            .boxed();
        let nasty = select(NASTY.as_slice()).boxed();
        let atom = prop_oneof![
            4 => nasty.clone().prop_map(String::from),
            4 => member.clone().prop_map(String::from),
            2 => run(nasty),
            1 => run(member),
            2 => select(PHRASES).prop_map(str::to_owned),
        ];
        prop::collection::vec(atom, 0..12).prop_map(|atoms| atoms.concat())
    }

    /// Calls `check` with texts of up to `length` classes, all there are, and one character for each class.
    fn exhaust(&self, length: usize) {
        let classes = self.members.len();
        for length in 1..=length {
            for number in 0..classes.pow(u32::try_from(length).unwrap()) {
                let digits = (0..length).scan(number, |rest, _| {
                    let digit = *rest % classes;
                    *rest /= classes;
                    Some(digit)
                });
                // Always the same character of a class would do; others cost nothing.
                let member = |class: usize| self.members[class][(number * 31) % self.members[class].len().min(50)];
                self.agree_on(&digits.map(member).collect::<String>());
            }
        }
    }

    /// Every character of `chars` in a few places.
    fn sweep(&self, chars: impl Iterator<Item = char>) {
        let mut text = String::new();
        for c in chars {
            for [before, after] in CONTEXTS {
                text.extend([before, c.encode_utf8(&mut [0; 4]), after, "\n7\n"]);
            }
            text.extend([c, c, '\n', '7']);
            if text.len() > 4096 {
                self.agree_on(&text);
                text.clear();
            }
        }
        self.agree_on(&text);
    }

    /// First and last characters of each stretch of a class, and some others.
    fn sample(&self) -> impl Iterator<Item = char> {
        let class = |at: u32| char::from_u32(at).map(|c| self.splitter.class(c));
        let border = move |at: u32| class(at.saturating_sub(1)) != class(at) || class(at) != class(at + 1);
        (0..=u32::from(char::MAX)).filter(move |&at| border(at) || at % 211 == 0).filter_map(char::from_u32)
    }
}

const CONTEXTS: [[&str; 2]; 12] = [
    ["", ""],
    ["a", ""],
    ["", "a"],
    ["A", "B"],
    [" ", ""],
    ["", " "],
    ["1", ""],
    [".", "\n"],
    ["'", "e"],
    ["a'", "l"],
    ["'l", "n"],
    ["", "'s"],
];

const PHRASES: &[&str] = &[
    "'s",
    "'S",
    "'ſ",
    "'t",
    "'T",
    "'re",
    "'rE",
    "'RE",
    "'ve",
    "'Ve",
    "'m",
    "'M",
    "'ll",
    "'lL",
    "'LL",
    "'d",
    "'D",
    "'l",
    "'r",
    "'v",
    "’s",
    "''s",
    "'x",
    "don't",
    "I'LL",
    "it'ſ",
    "'string",
    " 's",
    "\r\n",
    "\n\n",
    " \n ",
    "  5",
    "\t\tx",
    "12345",
    "٣٤٥",
    "½¾",
    "http://",
    "//\n/",
    "ABCdef",
    "ǅab",
    "aʰB",
    "中A",
    "あ・い",
    "ア゛",
    "ー々",
    "!abc",
    "!é",
    "👩‍👩‍👧‍👦",
    "e\u{301}",
    "\u{301}A",
    "\u{FEFF}a",
    "<|im_start|>",
];

/// Characters of which at least two fall into any group that a pattern may tell apart.
static NASTY: LazyLock<Vec<char>> = LazyLock::new(|| {
    let mut nasty: Vec<char> = (' '..='~').collect();
    nasty.extend(
        "\t\n\r\u{B}\u{C}\0\u{1}\u{1C}\u{1F}\u{7F}\u{85}\u{A0}\u{1680}\u{180E}\u{2003}\u{2028}\u{2029}\u{202F}\u{3000}"
            .chars(),
    );
    nasty.extend("\u{AD}\u{200B}\u{200C}\u{200D}\u{2060}\u{FEFF}\u{FE0F}\u{E000}\u{F8FF}\u{378}\u{FFFE}\u{FFFF}\u{10FFFF}\u{E0001}".chars());
    nasty.extend("ſſßéÉİıKÅǅǈᾈʰˢªºאبกあ한中ａＡ𝐀𝐚𐐀𐐨꟱".chars());
    nasty.extend("\u{301}\u{308}\u{345}\u{20DD}\u{20E3}\u{903}\u{1D165}\u{E0100}\u{9FA6}".chars());
    nasty.extend("٣५１²½Ⅷⅷ〇㊀𝟘𐄇\u{1CCF0}\u{16D70}".chars());
    nasty.extend("’ʼ＇‘´`«»…—€™°§©÷×+＋♥\u{1F469}\u{1F3FD}".chars());
    nasty.extend(
        "一龥龦\u{3040}\u{3041}\u{3097}\u{3098}\u{3099}\u{309B}\u{309F}\u{30A0}\u{30FB}\u{30FC}\u{30FF}\u{3100}、々"
            .chars(),
    );
    nasty
});

/// The tests that hold for every family.
macro_rules! families {
    ($($module:ident $name:literal $length:literal;)*) => {$(
        mod $module {
            use super::*;

            static PAIR: LazyLock<Pair> = LazyLock::new(|| Pair::new($name));

            #[test]
            fn pieces_are_those_of_the_reference() {
                let mut runner = TestRunner::new(Config { cases: 20_000, ..Config::default() });
                let agree = |text: String| {
                    prop_assert_eq!(PAIR.splitter.pieces(&text), PAIR.expected(&text));
                    Ok(())
                };
                runner.run(&PAIR.text(), agree).unwrap();
            }

            #[test]
            fn all_short_texts_agree() {
                PAIR.exhaust($length);
            }

            #[test]
            fn characters_agree_in_many_places() {
                PAIR.sweep(PAIR.sample().chain(NASTY.iter().copied()));
            }

            #[test]
            #[ignore = "takes minutes: every character instead of a sample"]
            fn every_character_agrees_in_many_places() {
                PAIR.sweep('\0'..=char::MAX);
                for c in '\0'..=char::MAX {
                    PAIR.agree_on(c.encode_utf8(&mut [0; 4]));
                    PAIR.agree_on(&format!(" {c}"));
                    PAIR.agree_on(&format!("{c} "));
                }
            }

            /// Of the reference itself: other characters of the same classes change nothing.
            #[test]
            fn characters_of_a_class_are_interchangeable() {
                let choices = prop::collection::vec(any::<Index>(), 16);
                let mut runner = TestRunner::new(Config { cases: 2_000, ..Config::default() });
                let same = |(text, choices): (String, Vec<Index>)| {
                    let other = |(c, choice): (char, &Index)| {
                        *choice.get(&PAIR.members[usize::from(PAIR.splitter.class(c))])
                    };
                    let other: String = text.chars().zip(choices.iter().cycle()).map(other).collect();
                    let lengths = |text: &str| -> Vec<usize> {
                        PAIR.expected(text).into_iter().map(|piece| text[piece].chars().count()).collect()
                    };
                    prop_assert_eq!(lengths(&text), lengths(&other));
                    Ok(())
                };
                runner.run(&(PAIR.text(), choices), same).unwrap();
            }
        }
    )*};
}

families! {
    gpt2 "gpt2" 5;
    digits "digits" 5;
    cl100k "cl100k" 5;
    qwen "qwen" 5;
    qwen3_5 "qwen3.5" 5;
    o200k "o200k" 4;
    tekken "tekken" 5;
    deepseek "deepseek" 5;
}

fn recognised(section: &Value) -> Option<&'static str> {
    Splitter::recognise(section).map(|splitter| splitter.family())
}

#[test]
fn an_empty_text_has_no_pieces() {
    assert!(Pair::new("gpt2").splitter.pieces("").is_empty());
}

#[test]
fn variants_without_meaning_are_recognised() {
    let default = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false});
    assert_eq!(recognised(&default), Some("gpt2"));
    assert_eq!(recognised(&json!({"type": "Sequence", "pretokenizers": [default]})), Some("gpt2"));
    for family in ["cl100k", "o200k"] {
        let mut section = section(family);
        section["pretokenizers"][0]["behavior"] = json!("Removed");
        section["pretokenizers"][0]["invert"] = json!(true);
        section["pretokenizers"][1]["trim_offsets"] = json!(false);
        assert_eq!(recognised(&section), Some(family));
    }
}

#[test]
fn what_differs_in_meaning_is_not_recognised() {
    let changed = |family: &str, path: &str, value: Value| {
        let mut section = section(family);
        *section.pointer_mut(path).unwrap() = value;
        section
    };
    for section in [
        Value::Null,
        json!({}),
        json!([]),
        json!({"type": "Sequence", "pretokenizers": []}),
        json!({"type": "Whitespace"}),
        json!({"type": "ByteLevel", "add_prefix_space": false}),
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}),
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true, "new": 1}),
        changed("gpt2", "/add_prefix_space", json!(true)),
        changed("digits", "/pretokenizers/0/individual_digits", json!(false)),
        changed("digits", "/pretokenizers/1/add_prefix_space", json!(true)),
        changed("qwen", "/pretokenizers/0/behavior", json!("Removed")),
        changed("qwen", "/pretokenizers/0/behavior", json!("MergedWithNext")),
        changed("qwen", "/pretokenizers/0/invert", json!(true)),
        changed("qwen", "/pretokenizers/0/pattern", json!({"String": "x"})),
        changed("qwen", "/pretokenizers/0/pattern/Regex", json!(r"\p{N}")),
        changed("qwen", "/pretokenizers/1/use_regex", json!(true)),
        changed("qwen", "/pretokenizers/1/add_prefix_space", json!(true)),
        changed("deepseek", "/pretokenizers/0/behavior", json!("Removed")),
        changed("deepseek", "/pretokenizers/3/use_regex", json!(true)),
    ] {
        assert_eq!(recognised(&section), None, "{section}");
    }
}

/// Ignoring case may bring in characters from anywhere, even one for two letters: all are tried in every place.
#[test]
fn one_letter_outside_ascii_makes_a_contraction() {
    let regex = SysRegex::new("(?i:'s|'t|'re|'ve|'m|'ll|'d)").unwrap();
    let mut found = BTreeSet::new();
    for [before, after] in [["'", ""], ["'", "e"], ["'", "l"], ["'r", ""], ["'v", ""], ["'l", ""], ["", "s"]] {
        let mut text = String::new();
        ('\0'..=char::MAX).for_each(|c| text.extend([before, c.encode_utf8(&mut [0; 4]), after, "\n"]));
        found.extend(regex.find_iter(&text).map(|(start, end)| text[start..end].to_owned()));
    }
    let expected = "'D 'Ll 'M 'Re 'S 'T 'Ve 'd 'lL 'll 'm 'rE 're 's 't 'vE 've 'ſ";
    assert_eq!(found.into_iter().collect::<Vec<_>>().join(" "), expected);
}

/// The standard library is asked about single characters, which a family may do only where they are looked up one by one.
#[test]
fn digits_are_those_of_the_standard_library() {
    let splitter = Splitter::recognise(&section("digits")).unwrap();
    let number = splitter.class('0');
    assert!(('\0'..=char::MAX).all(|c| (splitter.class(c) == number) == c.is_numeric()));
}
