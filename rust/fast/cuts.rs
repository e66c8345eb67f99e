//! Where a row falls apart, by tokens.

use crate::fast::texts::{NO_CLASS, Texts};
use crate::machine::{BORDER, Kinds, OPAQUE, Start, Sync};

/// What stands for an added token among the classes: every text ends before it and begins behind it.
const BORDER_CLASS: u8 = NO_CLASS - 1;

/// By token, what it shows to either side; by what two neighbours show, whether the row falls apart between them.
pub(crate) struct Cuts {
    to_left: Vec<u8>,
    to_right: Vec<u8>,
    between: Box<[bool]>,
}

impl Cuts {
    /// For all tokens of `kinds`.
    pub(crate) fn new(texts: &Texts, kinds: &Kinds, sync: &Sync, classes: usize) -> Self {
        let ids = (0u32..).zip(kinds.of_tokens());
        let (to_left, to_right) = ids
            .map(|(id, &kind)| {
                if kind == BORDER {
                    return (BORDER_CLASS, BORDER_CLASS);
                }
                let (first, last) = texts.outer_classes(id);
                // A token that cannot begin a text may reach across a boundary, and an opaque one do anything.
                let can_begin = kind != OPAQUE && kinds.begins(kind) && kinds.traits(kind).start == Start::Inert;
                (if can_begin { first } else { NO_CLASS }, last)
            })
            .unzip();
        let mut between = vec![false; 1 << 16].into_boxed_slice();
        let classes = u8::try_from(classes).unwrap_or(BORDER_CLASS);
        for any in 0..=u8::MAX {
            between[place(any, BORDER_CLASS)] = true;
            between[place(BORDER_CLASS, any)] = true;
            for other in (0..classes).filter(|_| any < classes) {
                between[place(any, other)] = sync.between(any, other);
            }
        }
        Self { to_left, to_right, between }
    }

    /// Whether the row falls apart between two tokens.
    #[inline]
    pub(crate) fn between(&self, left: u32, right: u32) -> bool {
        self.between[place(self.to_right[left as usize], self.to_left[right as usize])]
    }
}

fn place(left: u8, right: u8) -> usize {
    usize::from(left) << 8 | usize::from(right)
}
