//! Which normalizers, pre-tokenizers and decoders the engine is made for.

use serde_json::{Value, json};

use crate::sources::SPACE_MARKER;

/// What is done to a text around the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// The encoder puts the space marker in front of every segment, and the decoder cuts off a space in front of the text.
    pub(super) has_prefix: bool,
    /// The decoder reads runs of `<0xXX>` as bytes.
    pub(super) joins_bytes: bool,
}

impl Shape {
    /// `None` for sections that do anything else.
    pub(super) fn recognise(normalizer: &Value, pre_tokenizer: &Value, decoder: &Value) -> Option<Self> {
        let marker = SPACE_MARKER.to_string();
        let replace = |from: &str, to: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": to});
        let to_marker = replace(" ", &marker);
        let prepends = match steps(normalizer, "normalizers") {
            [marks] if *marks == to_marker => false,
            [prepend, marks] if *marks == to_marker && *prepend == json!({"type": "Prepend", "prepend": marker}) => {
                true
            }
            _ => return None,
        };
        // There are no spaces left for it to split at.
        let is_idle = pre_tokenizer.get("type").is_some_and(|kind| kind == "Split")
            && pre_tokenizer.get("pattern") == Some(&json!({"String": " "}))
            && pre_tokenizer.get("invert") == Some(&Value::Bool(false));
        if !pre_tokenizer.is_null() && !is_idle {
            return None;
        }
        let [unmark, rest @ ..] = steps(decoder, "decoders") else { return None };
        if *unmark != replace(&marker, " ") {
            return None;
        }
        let (joins_bytes, rest) = match rest {
            [bytes, rest @ ..] if *bytes == json!({"type": "ByteFallback"}) => (true, rest),
            rest => (false, rest),
        };
        let fuse = json!({"type": "Fuse"});
        let strips = match rest {
            [fuses] if *fuses == fuse => false,
            [fuses, strip]
                if *fuses == fuse && *strip == json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}) =>
            {
                true
            }
            _ => return None,
        };
        (prepends == strips).then_some(Self { has_prefix: prepends, joins_bytes })
    }
}

/// The steps of a section that may be a sequence of some.
fn steps<'s>(section: &'s Value, key: &str) -> &'s [Value] {
    match section.get("type") {
        Some(kind) if kind == "Sequence" => section.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice),
        _ => std::slice::from_ref(section),
    }
}
