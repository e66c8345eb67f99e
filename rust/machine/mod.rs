//! The boundaries between pre-tokens, by tokens instead of characters.
//!
//! A pre-tokenizer of a known family is one function over classes of characters, [`Splitter::next_end`]. Everything here is
//! derived from that function by enumeration, so that it cannot disagree with it: `states` asks it what can be said about
//! a text of which only the front is known, `columns` walks the classes of every token through the answers, and
//! `kinds` lays tokens with equal answers together, so that one look into a small table says of two neighbouring tokens
//! whether a pre-token surely ends between them, whether it may go on, or whether more has to be known.
//!
//! [`Splitter::next_end`]: crate::split::Splitter::next_end

mod columns;
mod kinds;
mod states;
mod sync;
#[cfg(test)]
pub(crate) mod tests;

pub use columns::{Passage, passage};
pub use kinds::{BORDER, Builder, Edge, End, Fragment, Kinds, OPAQUE, Start, Traits};
pub use states::{START, States};
pub use sync::{CONTEXT, Sync};

/// What the rest of a text can look like, as far as boundaries in front of it depend on it: all texts of up to this many
/// characters. Longer ones tell nothing new, which is what the tests compare.
pub const CONTINUATION: usize = 2;

/// The splitter as the enumeration sees it.
pub trait Split {
    /// Number of character classes.
    fn classes(&self) -> usize;
    /// End of the piece that begins at `start`; the end of `text` is the end of the text.
    fn next_end(&self, text: &[u8], start: usize) -> usize;
}

/// All strings of up to `length` classes, the empty one first.
fn strings(classes: usize, length: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut longest = 0..1;
    for _ in 0..length {
        for index in longest.clone() {
            for class in 0..classes {
                let mut longer = all[index].clone();
                longer.push(u8::try_from(class).expect("a family has at most 64 classes"));
                all.push(longer);
            }
        }
        longest = longest.end..all.len();
    }
    all
}

/// Bit `p` for every piece of `text` that ends at `p`.
fn ends(split: &impl Split, text: &[u8]) -> u64 {
    let mut ends = 0;
    let mut at = 0;
    while at < text.len() {
        at = split.next_end(text, at);
        ends |= 1 << at;
    }
    ends
}
