//! Which engine may answer a row, which one did, and whether a fast one is proven for a tokenizer.

use crate::error::{Error, Result};
use crate::fast::Fast;
use crate::sentence::Sentence;
use crate::tokenizer::Tokenizer;

/// Which engine may answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// The fast engine where it is proven, for the tokenizer and for the row; else the reference.
    #[default]
    Auto,
    /// As [`Engine::Auto`], but a tokenizer without a proven fast engine is refused.
    Fast,
    /// The reference, always.
    Reference,
}

impl Engine {
    /// Every choice, as it is asked for by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("auto", Self::Auto), ("fast", Self::Fast), ("reference", Self::Reference)];

    /// The choice of this name; `None` where there is none.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, engine)| engine)
    }

    /// Refuse [`Engine::Fast`] for a tokenizer without a proven fast engine.
    ///
    /// # Errors
    /// [`Error::NotProven`] with the reason.
    pub fn check(self, tokenizer: &Tokenizer) -> Result<()> {
        match (self, tokenizer.unproven()) {
            (Self::Fast, Some(unproven)) => Err(Error::NotProven { reason: unproven.reason.clone() }),
            _ => Ok(()),
        }
    }
}

/// Which engine answered a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answered {
    /// The reference: the row was decoded and encoded.
    #[default]
    Reference,
    /// The fast engine, by proof.
    Fast,
}

impl Answered {
    /// Their names in the order of [`Answered::index`].
    pub const NAMES: [&'static str; 2] = ["reference", "fast"];

    /// The number that stands for it in columns.
    pub fn index(self) -> u8 {
        match self {
            Self::Reference => 0,
            Self::Fast => 1,
        }
    }
}

/// A fast engine that is proven for a tokenizer.
pub(crate) enum Proven {
    /// A byte-level BPE with a pre-tokenizer of a known family.
    ByteLevel(Box<Fast>),
    /// A BPE over whole texts, with a marker for spaces.
    Sentence(Box<Sentence>),
}

impl Proven {
    /// The engine of `tokenizer`, which was read from `json`.
    ///
    /// # Errors
    /// Why none is proven for this tokenizer.
    pub(crate) fn new(tokenizer: &Tokenizer, json: &[u8]) -> std::result::Result<Self, &'static str> {
        if tokenizer.joins_surfaces() {
            Fast::new(tokenizer, json).map(|fast| Self::ByteLevel(Box::new(fast)))
        } else {
            Sentence::new(tokenizer, json).map(|sentence| Self::Sentence(Box::new(sentence)))
        }
    }

    /// Whether a token is known to come back when it is all that the model is given.
    pub(crate) fn comes_back(&self, id: u32) -> bool {
        match self {
            Self::ByteLevel(fast) => fast.comes_back(id),
            Self::Sentence(sentence) => sentence.comes_back(id),
        }
    }

    /// Whether the merges make a token of its bytes, without the whole-word rule.
    pub(crate) fn merges_make(&self, id: u32) -> bool {
        match self {
            Self::ByteLevel(fast) => fast.merges_make(id),
            // There is no such rule.
            Self::Sentence(_) => true,
        }
    }
}

/// Why no fast engine may answer for a tokenizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unproven {
    /// In words for a report.
    pub reason: String,
    /// Its kind is covered, and yet the self-test at load found a difference.
    pub is_refuted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_found_by_its_name_and_no_other() {
        for (name, engine) in Engine::ALL {
            assert_eq!(Engine::parse(name), Some(engine));
        }
        assert_eq!(Engine::parse("Fast"), None);
        assert_eq!(Engine::parse("auto"), Some(Engine::default()));
    }

    #[test]
    fn an_answer_names_itself() {
        for answered in [Answered::Reference, Answered::Fast] {
            let name = Answered::NAMES[usize::from(answered.index())];
            assert_eq!(name, format!("{answered:?}").to_lowercase());
        }
    }
}
