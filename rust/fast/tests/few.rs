//! Every short row over a few tokens.

use super::made::Kind;
use super::{by_fast, same_work};
use crate::audit::{PipelineOptions, Row};
use crate::engine::Engine;
use crate::tokenizer::Tokenizer;

const FAMILIES: [&str; 8] = ["gpt2", "digits", "cl100k", "qwen", "qwen3.5", "o200k", "tekken", "deepseek"];
const LONGEST: usize = 4;

type Rows = &'static [&'static [&'static str]];

/// What the fast engine says of a row, if it says anything, against the reference.
fn check(tokenizer: &Tokenizer, row: &Row<'_>) {
    if let Some(found) = by_fast(tokenizer, row) {
        let expected = tokenizer.audit(row, PipelineOptions::default(), Engine::Reference).unwrap();
        assert_eq!(same_work(found, &expected), expected, "{:?}", row.ids);
    }
}

/// The token with this text.
fn id_of(tokenizer: &Tokenizer, text: &str) -> Option<u32> {
    (0..tokenizer.outside()).find(|&id| tokenizer.surface(id) == Some(text.as_bytes()))
}

/// All rows of up to [`LONGEST`] of some tokens of a tokenizer, against the reference.
fn exhaust(kind: Kind, tokens: &[&str], unmade: &[&str]) {
    exhaust_parts(kind, tokens, unmade, &[]);
}

/// The same with tokens that the others are made of.
fn exhaust_parts(kind: Kind, tokens: &[&str], unmade: &[&str], parts: &[&[u8]]) {
    let tokenizer = kind.of_few(tokens, unmade);
    let texts = [tokens, unmade, kind.added].concat().into_iter().map(str::as_bytes);
    let texts: Vec<&[u8]> = texts.chain(parts.iter().copied()).collect();
    let ids: Vec<u32> =
        (0..tokenizer.outside()).filter(|&id| texts.iter().any(|text| tokenizer.surface(id) == Some(text))).collect();
    assert_eq!(ids.len(), texts.len());
    let mut rows = vec![Vec::new()];
    let mut at = 0;
    while let Some(ids_of_row) = rows.get(at).cloned() {
        at += 1;
        let mask: Vec<u8> = [0, 1].into_iter().cycle().take(ids_of_row.len()).collect();
        let row = Row { ids: &ids_of_row, mask: Some(&mask), ..Row::default() };
        check(&tokenizer, &row);
        if ids_of_row.len() < LONGEST {
            rows.extend(ids.iter().map(|&id| [&ids_of_row[..], &[id]].concat()));
        }
    }
}

#[test]
fn white_space_and_contractions() {
    for family in FAMILIES {
        exhaust(Kind { family, ..Kind::default() }, &[" ", "  ", "\n", "'", "l", "'l", "1"], &[]);
    }
}

#[test]
fn words_and_punctuation() {
    for family in FAMILIES {
        exhaust(Kind { family, ..Kind::default() }, &["a", "A", "aA", "!", "\n", "!\n", " ", " a"], &[]);
    }
}

/// Tokens that no text can begin with, and nothing that the first of them could stand behind.
#[test]
fn tokens_that_begin_no_text() {
    for family in ["o200k", "tekken"] {
        exhaust(Kind { family, ..Kind::default() }, &["r", "E", "rE", "\n", "/", "\n/", "1"], &[]);
    }
}

/// Characters in several tokens: letters, a blank, a mark that is joined with what is before it.
#[test]
fn characters_in_pieces() {
    for family in FAMILIES {
        let kind = Kind { family, ..Kind::default() };
        exhaust_parts(kind, &["é", "a", " ", "\n"], &[], &[b"\xc3", b"\xa9"]);
        exhaust_parts(kind, &["\u{3000}", " ", "\n"], &[], &[b"\xe3", b"\xe3\x80", b"\x80"]);
        exhaust_parts(kind, &["\u{1c5}", "A", "b", "1"], &[], &[b"\xc7", b"\x85"]);
        exhaust_parts(Kind { nfc: true, ..kind }, &["\u{301}", "a", "e"], &[], &[b"\xcc", b"\x81"]);
        exhaust_parts(Kind { whole_words: true, ..kind }, &["a", "é"], &["aé", "éa"], &[b"\xc3", b"\xa9"]);
    }
}

/// Broken bytes that come back, since not all bytes of what replaces them have tokens, beside an added token that overlaps
/// itself.
#[test]
fn broken_bytes_that_come_back() {
    for family in FAMILIES {
        let kind = Kind { family, added: &["xqx"], ..Kind::default() };
        exhaust_parts(kind, &["x", "q", "\u{ffc3}"], &[], &[b"\xef", b"\xef\xbf", b"\xbf"]);
    }
}

/// The second mark of a token may be the one that is joined with what is before it: the first one lets it through.
#[test]
fn tokens_of_two_marks() {
    for family in FAMILIES {
        let tokens = ["a", "!", "\u{301}", "\u{316}", "\u{316}\u{301}", "\u{323}\u{301}", "\u{e1}"];
        exhaust(Kind { family, nfc: true, ..Kind::default() }, &tokens, &[]);
    }
}

/// Entries that nothing but a whole word reaches, within a pre-token and across the end of one.
#[test]
fn whole_words() {
    for family in FAMILIES {
        let kind = Kind { family, whole_words: true, ..Kind::default() };
        exhaust(kind, &["a", "b", "ab", " ", "1"], &["aba", "bb", " ab", "b "]);
    }
}

/// Added tokens that share bytes: which of them is found is told by what stands beside them, and by the order in which the
/// reference looks for them.
#[test]
fn texts_of_added_tokens_that_share_bytes() {
    for flags in [&[][..], &["normalized"]] {
        for added in [&["ab", "bc"], &["bc", "ab"], &["aa", "ba"]] {
            let kind = Kind { family: "cl100k", added, flags, ..Kind::default() };
            exhaust(kind, &["a", "b", "c", "ca", "cb"], &[]);
        }
    }
}

/// Added tokens spelled by others, whole and in part, with what stands beside them in the same token.
#[test]
fn texts_of_added_tokens() {
    for family in FAMILIES {
        exhaust(Kind { family, added: &["<a>"], ..Kind::default() }, &["<", "a", ">", "<a", ">a", "aa", "a<"], &[]);
        exhaust(Kind { family, added: &["aba", "ac"], ..Kind::default() }, &["a", "b", "c", "ab", "ba", "ca"], &[]);
    }
}

/// The reference judges rows where the neighbours of such a token change something, and no others.
#[test]
fn neighbours_that_change_nothing_are_as_others() {
    for flags in [&["lstrip"], &["rstrip"], &["single_word"]] {
        let kind = Kind { family: "gpt2", added: &["<m>"], flags, ..Kind::default() };
        let tokenizer = kind.of_few(&["a", "!", " "], &[]);
        for left in ["", "a", "!", " "] {
            for right in ["", "a", "!", " "] {
                let ids: Vec<u32> = [left, "<m>", right].iter().filter_map(|text| id_of(&tokenizer, text)).collect();
                let changes = match flags[0] {
                    "lstrip" => left == " ",
                    "rstrip" => right == " ",
                    _ => left == "a" || right == "a",
                };
                let found = by_fast(&tokenizer, &Row { ids: &ids, ..Row::default() });
                assert_eq!(found.is_none(), changes, "{flags:?}: {left:?}, {right:?}");
            }
        }
    }
}

/// The reference judges rows that spell the text of a doubtful token, or hold one between neighbours that matter, and no others.
#[test]
fn rows_in_which_nothing_is_doubtful_are_as_others() {
    let nested = Kind { family: "gpt2", added: &["<m>", "<m>!", "!"], ..Kind::default() };
    let normalized =
        Kind { family: "gpt2", nfc: true, added: &["<m>", "!"], flags: &["normalized"], ..Kind::default() };
    let spaces = Kind { family: "gpt2", added: &["  ", "   ", "!"], ..Kind::default() };
    let cases: [(Kind, Rows, Rows); 3] = [
        (
            nested,
            &[&["a", "<m>", "a"], &["<m>", "\u{301}"], &["<m>!", "!"], &["<", "m", "!"], &["<", "<m>"], &["<m>"]],
            &[&["<m>", "!"], &["<", "m", ">"], &["a", "<", "m", ">", "!"]],
        ),
        (
            normalized,
            &[&["a", "<m>", "a"], &["<", "\u{301}", "<m>"], &["<m>", "!"], &["!", "\u{301}"], &["<m>", "<m>"]],
            &[&["<m>", "\u{301}"], &["<", "m", ">"]],
        ),
        (
            spaces,
            &[&["a", "  ", "a"], &["   ", "a"], &["a", " ", "a"], &["!", "  ", "!"], &["   ", "  "]],
            &[&["  ", " ", "a"], &["a", " ", "  "], &["  ", "  "], &[" ", " "]],
        ),
    ];
    for (kind, fast, reference) in cases {
        let tokenizer = kind.of_few(&["<", "m", ">", "a", " ", "\u{301}"], &[]);
        for (rows, by_fast_one) in [(fast, true), (reference, false)] {
            for row in rows {
                let ids: Vec<u32> = row.iter().map(|text| id_of(&tokenizer, text).unwrap()).collect();
                let found = by_fast(&tokenizer, &Row { ids: &ids, ..Row::default() });
                assert_eq!(found.is_some(), by_fast_one, "{:?}: {row:?}", kind.added);
            }
        }
    }
}

/// Added tokens of which one begins another: which of them is found is told by what follows, and by what reaches into it.
#[test]
fn added_tokens_of_which_one_begins_another() {
    for family in FAMILIES {
        for flags in [&[][..], &["normalized"], &["rstrip"]] {
            let kind = Kind { family, flags, ..Kind::default() };
            exhaust(Kind { added: &["  ", "   ", "x "], ..kind }, &["a", " ", " a", "a ", "\n"], &[]);
            exhaust(Kind { added: &["aa", "aab", "aabb", "ba"], ..kind }, &["a", "b", "ab", " aa"], &[]);
            exhaust(Kind { added: &["b", "ba", "ab", "cab"], ..kind }, &["a", "c", "ca", "<"], &[]);
            exhaust(Kind { added: &["xa", "x", "ay", "xax"], ..kind }, &["a", "y", "<", "<x"], &[]);
        }
    }
}

/// Texts of more tokens than one is followed over, whole and not.
#[test]
fn added_tokens_that_go_on_over_many_others() {
    const LONG: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let kind = Kind { family: "gpt2", added: &[LONG, "<m>"], ..Kind::default() };
    let tokenizer = kind.of_few(&["a", "b"], &[]);
    let [a, b, added, apart] = ["a", "b", LONG, "<m>"].map(|text| id_of(&tokenizer, text).unwrap());
    for count in [1, 63, 64, 65, 66, LONG.len() - 1, LONG.len(), LONG.len() + 1, 2 * LONG.len(), 3 * LONG.len() - 1] {
        let run = vec![a; count];
        let rows = [
            run.clone(),
            [&[b], &run[..], &[b]].concat(),
            [&run[..], &[apart], &run[..], &[b, b]].concat(),
            [&run[..], &[b], &run[..], &[b, apart, b]].concat(),
            [&run[..], &[added], &run[..]].concat(),
        ];
        for ids in rows {
            check(&tokenizer, &Row { ids: &ids, ..Row::default() });
        }
    }
}

/// Added tokens that are looked for behind the normalizer, which may make their text, or take it apart.
#[test]
fn added_tokens_behind_the_normalizer() {
    for family in ["gpt2", "qwen", "o200k"] {
        let kind = Kind { family, nfc: true, flags: &["normalized"], ..Kind::default() };
        exhaust(Kind { added: &["가", "a"], ..kind }, &["\u{1100}", "\u{1161}", "\u{11a8}", "b", " "], &[]);
        exhaust(Kind { added: &["e", "ea", "<"], ..kind }, &["a", "\u{301}", "\u{e9}", "b"], &[]);
        exhaust_parts(Kind { added: &["\u{3b}"], ..kind }, &["a", "\u{37e}", " "], &[], &[b"\xcd", b"\xbe"]);
    }
}

/// Added tokens that look at what stands beside them: spaces, words, broken and empty tokens, other added tokens; and their texts
/// spelled by others.
#[test]
fn added_tokens_that_look_beside_them() {
    let all = [
        &["lstrip"][..],
        &["rstrip"],
        &["single_word"],
        &["lstrip", "rstrip"],
        &["single_word", "rstrip", "normalized"],
        &["single_word", "lstrip"],
    ];
    for flags in all {
        for family in ["gpt2", "o200k"] {
            let kind = Kind { family, flags, ..Kind::default() };
            exhaust_parts(
                Kind { added: &["<m>", "[x]"], ..kind },
                &[" ", "a", "!", "<m", "\u{85}"],
                &[],
                &[b"\xc2", b"\x85"],
            );
            exhaust(Kind { added: &["ab", "\t", "b"], ..kind }, &["a", " a", "  !", "\n", "\u{301}"], &[]);
            exhaust(Kind { added: &["aa", "aba"], ..kind }, &["a", "b", " ", "_"], &[]);
        }
    }
}
