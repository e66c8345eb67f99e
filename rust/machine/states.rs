//! What can be said about a text of which only the front is known.
//!
//! A state stands for the classes since the last sure boundary and for what was said about the positions among them: that
//! a token lies across (no boundary may be there), that a boundary was assumed (there must be one), or nothing. It is
//! represented by its answers to all continuations: whether what was said still holds, and where boundaries then are.
//! Fronts with equal answers are one state.

use std::collections::HashMap;

use super::{Split, ends, strings};

/// What is said about a position between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A token lies across it: no boundary may be there.
    Inside,
    /// A boundary was assumed: there must be one.
    Boundary,
    /// Nothing: whoever stands there has checked both cases.
    Open,
}

impl Mark {
    const ALL: [Self; 3] = [Self::Inside, Self::Boundary, Self::Open];
}

/// Longest front of a state, in classes. One bit per position has to fit beside the longest continuation.
const LONGEST_FRONT: usize = 48;
/// More states than this are a family that this method does not suit.
const MOST_STATES: usize = 250;

/// Nothing that follows can make true what was said.
pub const BAIL: u8 = u8::MAX;
/// The state at the start of a text, and behind every sure boundary.
pub const START: u8 = 0;

/// The states of a splitter and the steps between them.
#[derive(Debug, PartialEq, Eq)]
pub struct States {
    classes: usize,
    /// By state, class and mark: the next state or [`BAIL`].
    steps: Vec<u8>,
    /// By state: whether the text may end here.
    may_end: Vec<bool>,
}

/// Classes since the last sure boundary, with a mark on each position between them: bit `p` stands for the position before
/// class `p`.
#[derive(Clone, Default)]
struct Front {
    classes: Vec<u8>,
    inside: u64,
    boundary: u64,
}

impl Front {
    /// The front with one more class and a mark before it; `None` for a token across the boundary that every front begins
    /// at.
    fn marked(&self, mark: Mark, class: u8) -> Option<Self> {
        let mut longer = self.clone();
        let here = 1 << self.classes.len();
        match mark {
            Mark::Inside => longer.inside |= here,
            Mark::Boundary => longer.boundary |= here,
            Mark::Open => {}
        }
        if self.classes.is_empty() {
            longer.boundary = 0;
        }
        longer.classes.push(class);
        (longer.inside & 1 == 0).then_some(longer)
    }

    /// Whether what was said about the positions up to `last` holds where pieces end at `ends`.
    fn holds(&self, ends: u64, last: usize) -> bool {
        let upto = (2 << last) - 1;
        (self.inside & ends) & upto == 0 && (self.boundary & !ends) & upto == 0
    }

    /// The front behind position `cut`.
    fn behind(&self, cut: usize) -> Self {
        let marks = |marks: u64| if cut == self.classes.len() { 0 } else { marks >> cut & !1 };
        Self { classes: self.classes[cut..].to_vec(), inside: marks(self.inside), boundary: marks(self.boundary) }
    }
}

/// A splitter under enumeration.
struct Enumeration<'s, S> {
    split: &'s S,
    continuations: Vec<Vec<u8>>,
}

impl<S: Split> Enumeration<'_, S> {
    /// Where pieces end in the front and every continuation of it.
    fn ends(&self, front: &Front) -> Vec<u64> {
        let mut text = front.classes.clone();
        let all = self.continuations.iter().map(|continuation| {
            text.truncate(front.classes.len());
            text.extend_from_slice(continuation);
            ends(self.split, &text)
        });
        all.collect()
    }

    /// Cut the front at the last boundary that is there whatever follows, with nothing left to prove before it; then its
    /// answers to all continuations. `None` where none of them makes true what was said.
    fn settle(&self, front: &Front) -> Option<(Front, Vec<u8>)> {
        let ends = self.ends(front);
        let len = front.classes.len();
        if !ends.iter().any(|&ends| front.holds(ends, len)) {
            return None;
        }
        let is_cut = |&cut: &usize| ends.iter().all(|&ends| ends >> cut & 1 == 1 && front.holds(ends, cut));
        let cut = (1..=len).rev().find(is_cut).unwrap_or(0);
        let rest = front.behind(cut);
        let len = rest.classes.len();
        let answer = |ends: &u64| {
            let ends = ends >> cut;
            if !rest.holds(ends, len) {
                return u8::MAX;
            }
            // At the start there is a boundary by itself. A continuation has at most a few positions behind the front.
            let behind = if len == 0 { ends | 1 } else { ends >> len };
            u8::try_from(behind).expect("continuations have a few characters")
        };
        let answers = ends.iter().map(answer).collect();
        Some((rest, answers))
    }
}

impl States {
    /// Enumerate the states of `split`, with continuations of up to `continuation` characters; `None` where there are too
    /// many.
    pub fn new(split: &impl Split, continuation: usize) -> Option<Self> {
        let classes = split.classes();
        let enumeration = Enumeration { split, continuations: strings(classes, continuation) };
        let (start, answers) = enumeration.settle(&Front::default())?;
        let mut known = HashMap::from([(answers.clone(), START)]);
        let mut fronts = vec![start];
        let mut may_end = vec![answers[0] != u8::MAX];
        let mut steps = Vec::new();
        let mut done = 0;
        while done < fronts.len() {
            let front = fronts[done].clone();
            if front.classes.len() > LONGEST_FRONT {
                return None;
            }
            for class in 0..classes {
                for mark in Mark::ALL {
                    let longer = front.marked(mark, u8::try_from(class).ok()?);
                    let Some((rest, answers)) = longer.and_then(|longer| enumeration.settle(&longer)) else {
                        steps.push(BAIL);
                        continue;
                    };
                    let next = u8::try_from(fronts.len()).ok().filter(|&next| usize::from(next) < MOST_STATES)?;
                    let may_end_here = answers[0] != u8::MAX;
                    let state = *known.entry(answers).or_insert(next);
                    if state == next {
                        fronts.push(rest);
                        may_end.push(may_end_here);
                    }
                    steps.push(state);
                }
            }
            done += 1;
        }
        Some(Self { classes, steps, may_end })
    }

    /// Number of states.
    pub fn count(&self) -> usize {
        self.may_end.len()
    }

    /// The state after one more character, with a mark on the position before it.
    pub fn step(&self, state: u8, mark: Mark, class: u8) -> u8 {
        self.steps[(usize::from(state) * self.classes + usize::from(class)) * Mark::ALL.len() + mark as usize]
    }

    /// Whether the text may end in this state.
    pub fn may_end(&self, state: u8) -> bool {
        self.may_end[usize::from(state)]
    }
}
