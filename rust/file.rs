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
        Ok(Self(merges.into_iter().map(|merge| merge.0).collect()))
    }
}

struct Merge<'a>(RawMerge<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Merge<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MergeVisitor)
    }
}

/// Takes `"a b"` as older files have it, or `["a", "b"]`.
struct MergeVisitor;

impl<'de> serde::de::Visitor<'de> for MergeVisitor {
    type Value = Merge<'de>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a merge")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, merge: &'de str) -> Result<Self::Value, E> {
        let (left, right) = merge.split_once(' ').ok_or_else(|| E::custom("a merge has two sides"))?;
        Ok(Merge((left.into(), right.into())))
    }

    fn visit_str<E: serde::de::Error>(self, merge: &str) -> Result<Self::Value, E> {
        let (left, right) = merge.split_once(' ').ok_or_else(|| E::custom("a merge has two sides"))?;
        Ok(Merge((left.to_owned().into(), right.to_owned().into())))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut sides: A) -> Result<Self::Value, A::Error> {
        let mut side =
            || sides.next_element::<Side<'de>>()?.ok_or_else(|| serde::de::Error::custom("a merge has two sides"));
        Ok(Merge((side()?.0, side()?.0)))
    }
}

/// A string that is borrowed where the file has no escapes in it.
#[derive(Deserialize)]
struct Side<'a>(#[serde(borrow)] Cow<'a, str>);
