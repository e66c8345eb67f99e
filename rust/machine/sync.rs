//! Boundaries where a text falls apart: what stands before one is split as if the text ended there, and what stands behind
//! it as if the text began there, whatever either is.

use super::states::{BAIL, Mark, START, States};
use super::{Split, ends, strings};

/// Longest text that stands for all those before a boundary, in characters. Longer ones lead to no other states, which is
/// what the tests compare.
pub const CONTEXT: usize = 3;

/// By the classes on both sides: whether a text falls apart between them.
#[derive(Debug, PartialEq, Eq)]
pub struct Sync {
    classes: usize,
    falls_apart: Vec<bool>,
}

impl Sync {
    /// Take every text of up to `context` characters, with its boundaries as they are where it ends. If these hold whatever
    /// follows a certain character, and nothing is left to prove behind it, the text falls apart before that character.
    pub fn new(split: &impl Split, states: &States, context: usize) -> Self {
        let classes = split.classes();
        let mut lefts = vec![[false; 256]; classes];
        for text in strings(classes, context).iter().filter(|text| !text.is_empty()) {
            let ends = ends(split, text);
            let mark = |at: usize| if at == 0 || ends >> at & 1 == 1 { Mark::Boundary } else { Mark::Inside };
            let step = |state, (at, &class): (usize, &u8)| {
                if state == BAIL { BAIL } else { states.step(state, mark(at), class) }
            };
            let state = text.iter().enumerate().fold(START, step);
            lefts[usize::from(text[text.len() - 1])][usize::from(state)] = true;
        }
        let falls_apart = |left: &[bool; 256], right: u8| {
            let afresh = states.step(START, Mark::Boundary, right);
            let mut states_left = (0..=BAIL).filter(|&state| left[usize::from(state)]);
            states_left.all(|state| state != BAIL && states.step(state, Mark::Boundary, right) == afresh)
        };
        let rights = (0..=u8::MAX).take(classes);
        let falls_apart = lefts.iter().flat_map(|left| rights.clone().map(move |right| falls_apart(left, right)));
        let falls_apart = falls_apart.collect();
        Self { classes, falls_apart }
    }

    /// Whether a text falls apart between characters of these classes.
    pub fn between(&self, left: u8, right: u8) -> bool {
        self.falls_apart[usize::from(left) * self.classes + usize::from(right)]
    }
}
