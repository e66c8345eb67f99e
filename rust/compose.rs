//! Where Unicode normalization joined or reordered characters.
//!
//! The reference aligns a composed character to the first of its parts only, and marks that changed places to each other's
//! bytes. Which byte became which inside such a cluster has no answer, so every token that takes part in the changed part of
//! a cluster covers the whole of it, as tokens that share one U+FFFD do.

use serde_json::Value;
use unicode_normalization_alignments::UnicodeNormalization;
use unicode_normalization_alignments::char::canonical_combining_class;

use crate::ByteRange;

/// Longest changed part, in bytes, whose tokens are placed: some 60 stacked marks.
pub const LONGEST_PART: usize = 128;

/// A Unicode normalization form.
pub type Form = fn(&str) -> String;

/// The Unicode form among the steps of a `normalizer` section.
pub fn form_of(section: &Value) -> Option<Form> {
    fn text(chars: impl Iterator<Item = (char, isize)>) -> String {
        chars.map(|(c, _)| c).collect()
    }
    match section.get("type")?.as_str()? {
        "Sequence" => section.get("normalizers")?.as_array()?.iter().find_map(form_of),
        "NFC" => Some(|part| text(part.nfc())),
        "NFD" => Some(|part| text(part.nfd())),
        "NFKC" => Some(|part| text(part.nfkc())),
        "NFKD" => Some(|part| text(part.nfkd())),
        _ => None,
    }
}

/// The changed parts of the clusters of `text` that the `changed` ranges touch.
pub fn changed_parts(text: &str, changed: &[ByteRange], form: Form) -> Vec<ByteRange> {
    let mut parts = Vec::new();
    let mut done = 0;
    for range in changed.iter().filter(|range| text.get(range.start..range.end).is_some()) {
        let mut start = done.max(range.start);
        // A mark alone may have moved: its cluster begins at the starter before it.
        while start > done && !text[start..].starts_with(is_starter) {
            start = text[..start].char_indices().next_back().map_or(0, |(at, _)| at);
        }
        while start < range.end {
            let end = cluster_end(text, start, form);
            parts.extend(changed_part(&text[start..end], form).map(|part| start + part.start..start + part.end));
            start = end;
        }
        done = done.max(start);
    }
    parts
}

/// Widen every range that takes part in a changed part to cover it.
pub fn cover(ranges: &mut [ByteRange], parts: &[ByteRange]) {
    let mut first = 0;
    for range in ranges.iter_mut().filter(|range| !ByteRange::is_empty(range)) {
        first += parts[first..].iter().take_while(|part| part.end <= range.start).count();
        for part in parts[first..].iter().take_while(|part| part.start < range.end).cloned().collect::<Vec<_>>() {
            *range = range.start.min(part.start)..range.end.max(part.end);
        }
    }
}

fn is_starter(c: char) -> bool {
    canonical_combining_class(c) == 0
}

/// End of the cluster at `start`: the next starter that does not compose with what is before it.
fn cluster_end(text: &str, start: usize, form: Form) -> usize {
    let mut cluster = String::new();
    for (at, c) in text[start..].char_indices() {
        let alone = String::from(c);
        if at > 0 && is_starter(c) && form(&format!("{cluster}{c}")) == form(&cluster) + &form(&alone) {
            return start + at;
        }
        cluster.push(c);
    }
    text.len()
}

/// What is left of a cluster without the characters at its two ends that stayed as they were.
fn changed_part(cluster: &str, form: Form) -> Option<ByteRange> {
    let formed = form(cluster);
    if formed == cluster {
        return None;
    }
    let equal = |a: (char, char)| a.0 == a.1;
    let prefix: usize =
        cluster.chars().zip(formed.chars()).take_while(|&pair| equal(pair)).map(|(c, _)| c.len_utf8()).sum();
    let rest = cluster[prefix..].chars().rev().zip(formed[prefix..].chars().rev());
    let suffix: usize = rest.take_while(|&pair| equal(pair)).map(|(c, _)| c.len_utf8()).sum();
    Some(prefix..cluster.len() - suffix)
}
