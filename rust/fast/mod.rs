//! The verdict without encoding again, for tokenizers of which it is proven.
//!
//! Inside one pre-token of a BPE a sequence is what encoding gives iff every two neighbours are ([`crate::pairs`]), and
//! where pre-tokens end is told by tokens alone nearly everywhere ([`crate::machine`]). So one pass over the tokens
//! (`scan`) finds the few edges that need a closer look, what stands before them settles most (`walk`), and around the
//! others a stretch that is encoded by itself as it is within the row (`window`) is encoded again: by its tokens (`told`) or,
//! where they do not tell its pre-tokens, by its text (`local`). What the reference would say of the whole row is put together
//! from the stretches (`crate::windows`).

mod added;
mod build;
mod cuts;
mod doubtful;
mod fragments;
mod local;
mod mend;
mod neighbours;
mod normal;
mod redo;
mod repair;
mod scan;
mod scratch;
mod short;
#[cfg(test)]
mod tests;
mod texts;
mod together;
mod told;
mod walk;
mod window;
mod words;

use std::collections::{HashMap, HashSet};

use added::AddedTexts;
use cuts::Cuts;
use doubtful::Doubtful;
use normal::Normal;
use texts::Texts;
use words::Words;

use crate::machine::{Kinds, States};
use crate::pairs::Pairs;
use crate::split::Splitter;

/// What the fast engine knows of one tokenizer.
pub struct Fast {
    splitter: Splitter,
    states: States,
    kinds: Kinds,
    cuts: Cuts,
    pairs: Pairs,
    texts: Texts,
    added: AddedTexts,
    doubtful: Doubtful,
    normal: Normal,
    /// The token of every byte.
    atoms: [Option<u32>; 256],
    /// By id, whether a pre-token that is this token comes back as it.
    comes_back: Box<[bool]>,
    /// Under the whole-word rule, the tokens that the merges alone do not make of their bytes.
    whole_words: Option<HashMap<Box<[u8]>, u32>>,
    /// Pairs that the merges leave alone and the whole-word rule may not.
    forbidden: HashSet<(u32, u32)>,
    words: Words,
}

impl Fast {
    /// Whether a token comes back when it is all of a pre-token.
    pub(crate) fn comes_back(&self, id: u32) -> bool {
        self.comes_back[id as usize]
    }

    /// Whether the merges make a token of a pre-token that became it, without the whole-word rule.
    pub(crate) fn merges_make(&self, id: u32) -> bool {
        self.whole_words.is_none() || self.pairs.is_self_canonical(id)
    }
}
