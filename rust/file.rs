//! The parts of a `tokenizer.json` that the reference does not give back: merges in their order, and the sections as written.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

/// The two sides of a merge.
pub(crate) type RawMerge<'a> = (Cow<'a, str>, Cow<'a, str>);

/// What is read of a file.
#[derive(Deserialize)]
pub(crate) struct File<'a> {
    /// The `normalizer` section.
    #[serde(default)]
    pub(crate) normalizer: Value,
    /// The `pre_tokenizer` section.
    #[serde(default)]
    pub(crate) pre_tokenizer: Value,
    /// The `model` section.
    #[serde(borrow)]
    pub(crate) model: Model<'a>,
}

/// The model of a file.
#[derive(Deserialize)]
pub(crate) struct Model<'a> {
    /// Merges in order.
    #[serde(borrow, default)]
    pub(crate) merges: Merges<'a>,
}

/// Merges as pairs, whichever of its two ways a file writes them in.
#[derive(Default)]
pub(crate) struct Merges<'a>(pub(crate) Vec<RawMerge<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Merges<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let merges = Vec::<Merge<'a>>::deserialize(deserializer)?;
        Ok(Self(merges.into_iter().filter_map(|merge| merge.0).collect()))
    }
}

/// `None` for a line that the reference takes for no merge.
struct Merge<'a>(Option<RawMerge<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Merge<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MergeVisitor)
    }
}

/// Takes `"a b"` as older files have it, or `["a", "b"]`.
struct MergeVisitor;

/// What the first line of a `merges.txt` begins with. The reference skips all such lines, but no such pairs.
const HEADER: &str = "#version";

fn sides<E: serde::de::Error>(line: &str) -> Result<Option<(&str, &str)>, E> {
    if line.starts_with(HEADER) {
        return Ok(None);
    }
    line.split_once(' ').map(Some).ok_or_else(|| E::custom("a merge has two sides"))
}

impl<'de> serde::de::Visitor<'de> for MergeVisitor {
    type Value = Merge<'de>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a merge")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, merge: &'de str) -> Result<Self::Value, E> {
        Ok(Merge(sides(merge)?.map(|(left, right)| (left.into(), right.into()))))
    }

    fn visit_str<E: serde::de::Error>(self, merge: &str) -> Result<Self::Value, E> {
        Ok(Merge(sides(merge)?.map(|(left, right)| (left.to_owned().into(), right.to_owned().into()))))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut sides: A) -> Result<Self::Value, A::Error> {
        let mut side =
            || sides.next_element::<Side<'de>>()?.ok_or_else(|| serde::de::Error::custom("a merge has two sides"));
        Ok(Merge(Some((side()?.0, side()?.0))))
    }
}

/// A string that is borrowed where the file has no escapes in it.
#[derive(Deserialize)]
struct Side<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn merges(json: &str) -> Option<Vec<(String, String)>> {
        let json = format!(r#"{{"model": {{"merges": {json}}}}}"#);
        let file: File<'_> = serde_json::from_str(&json).ok()?;
        Some(file.model.merges.0.into_iter().map(|(left, right)| (left.into_owned(), right.into_owned())).collect())
    }

    #[test]
    fn merges_are_read_as_the_reference_reads_them() {
        let pair = |left: &str, right: &str| (left.to_owned(), right.to_owned());
        assert_eq!(merges(r#"["a b", "\u00e9 b"]"#), Some(vec![pair("a", "b"), pair("é", "b")]));
        assert_eq!(merges(r#"[["a", "b"], ["\u00e9", "b c"]]"#), Some(vec![pair("a", "b"), pair("é", "b c")]));
        assert_eq!(merges(r#"["ab"]"#), None);
        // Lines of a header, in whichever place, are none; pairs that look so are.
        assert_eq!(
            merges(r##"["#version: 0.2", "a b", "#version c", "#versio n"]"##).map(|merges| merges.len()),
            Some(2)
        );
        assert_eq!(merges(r#"["\u0023version: 0.2"]"#), Some(Vec::new()));
        assert_eq!(merges(r##"[["#version", "c"]]"##), Some(vec![pair("#version", "c")]));
    }
}
