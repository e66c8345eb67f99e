//! Which family a `pre_tokenizer` section belongs to. A section is known only if every word of it is.

use serde_json::{Map, Value};

use super::Family;
use super::cl100k::{CL100K, CL100K_PATTERN, QWEN, QWEN_PATTERN, QWEN3_5, QWEN3_5_PATTERN};
use super::deepseek::{CHINESE_JAPANESE, DEEPSEEK, DIGITS as DEEPSEEK_DIGITS, WORDS};
use super::gpt2::{DIGITS, GPT2};
use super::o200k::{O200K, O200K_PATTERN, TEKKEN, TEKKEN_PATTERN};

/// A pre-tokenizer that some family uses, without what has no influence on the pieces.
enum Step<'a> {
    /// Matches and what lies between them are pieces.
    Isolated(&'a str),
    /// Matches are pieces, and what lies between them is lost.
    Matches(&'a str),
    /// Every number is a piece.
    Digits,
    /// Bytes as stand-ins, cut by the pattern of GPT-2.
    Gpt2,
    /// Bytes as stand-ins.
    Bytes,
}

/// The family of a section.
pub fn family(section: &Value) -> Option<&'static Family> {
    let mut steps = Vec::new();
    flatten(section, &mut steps)?;
    Some(match steps[..] {
        [Step::Gpt2] => &GPT2,
        [Step::Digits, Step::Gpt2] => &DIGITS,
        // These patterns match everything somewhere, so nothing lies between their matches.
        [Step::Isolated(pattern) | Step::Matches(pattern), Step::Bytes] => match pattern {
            CL100K_PATTERN => &CL100K,
            QWEN_PATTERN => &QWEN,
            QWEN3_5_PATTERN => &QWEN3_5,
            O200K_PATTERN => &O200K,
            TEKKEN_PATTERN => &TEKKEN,
            _ => return None,
        },
        [Step::Isolated(DEEPSEEK_DIGITS), Step::Isolated(CHINESE_JAPANESE), Step::Isolated(WORDS), Step::Bytes] => {
            &DEEPSEEK
        }
        _ => return None,
    })
}

/// The steps of a section, in the order in which they are applied.
fn flatten<'a>(section: &'a Value, steps: &mut Vec<Step<'a>>) -> Option<()> {
    let fields = section.as_object()?;
    match fields.get("type")?.as_str()? {
        "Sequence" => {
            only(fields, &["pretokenizers"])?;
            fields.get("pretokenizers")?.as_array()?.iter().try_for_each(|step| flatten(step, steps))
        }
        "Split" => {
            only(fields, &["pattern", "behavior", "invert"])?;
            let pattern = fields.get("pattern")?.as_object()?;
            let regex = pattern.get("Regex").filter(|_| pattern.len() == 1)?.as_str()?;
            steps.push(match (fields.get("behavior")?.as_str()?, fields.get("invert")?.as_bool()?) {
                ("Isolated", false) => Step::Isolated(regex),
                ("Removed", true) => Step::Matches(regex),
                _ => return None,
            });
            Some(())
        }
        "Digits" => {
            only(fields, &["individual_digits"])?;
            fields.get("individual_digits")?.as_bool()?.then(|| steps.push(Step::Digits))
        }
        "ByteLevel" => {
            only(fields, &["add_prefix_space", "trim_offsets", "use_regex"])?;
            // Offsets are trimmed by a post-processor alone, but the field must be there for the reference to load it.
            fields.get("trim_offsets")?.as_bool()?;
            let cuts = fields.get("use_regex").map_or(Some(true), Value::as_bool)?;
            let steps = (!fields.get("add_prefix_space")?.as_bool()?).then_some(steps)?;
            steps.push(if cuts { Step::Gpt2 } else { Step::Bytes });
            Some(())
        }
        _ => None,
    }
}

/// Nothing, unless a field is neither `type` nor one of these.
fn only(fields: &Map<String, Value>, known: &[&str]) -> Option<()> {
    fields.keys().all(|key| key == "type" || known.contains(&key.as_str())).then_some(())
}
