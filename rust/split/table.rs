//! The class of every character, in two stages: a block for each 256 code points, equal blocks stored once.

use std::collections::HashMap;

use super::category::{self, CODE_POINTS, Category};

const BLOCK: usize = 256;

/// Below this a family may give any character a class of its own, and is asked about each one. From here on (planes
/// of rare ideographs, tags, private use) only the category counts, and is asked about once for a whole stretch.
const ASKED_ONE_BY_ONE: u32 = 0x2_0000;

/// A map from characters to classes.
pub struct ClassTable {
    block_of: Vec<u16>,
    blocks: Vec<[u8; BLOCK]>,
}

impl ClassTable {
    /// The table of a family's `class` function.
    pub fn new(class: fn(char, Category) -> u8) -> Self {
        let mut flat = vec![0; CODE_POINTS as usize];
        for (run, category) in category::runs() {
            let single = run.start..run.end.min(ASKED_ONE_BY_ONE);
            for c in single.filter_map(char::from_u32) {
                flat[c as usize] = class(c, category);
            }
            let rest = run.start.max(ASKED_ONE_BY_ONE)..run.end;
            if let (false, Some(first)) = (rest.is_empty(), char::from_u32(rest.start)) {
                flat[rest.start as usize..rest.end as usize].fill(class(first, category));
            }
        }
        Self::fold(&flat)
    }

    fn fold(flat: &[u8]) -> Self {
        let mut blocks: Vec<[u8; BLOCK]> = Vec::new();
        let mut known: HashMap<[u8; BLOCK], u16> = HashMap::new();
        let mut block_of: Vec<u16> = Vec::with_capacity(flat.len() / BLOCK);
        let (chunks, _) = flat.as_chunks();
        for block in chunks {
            // Long stretches of one class are most of Unicode: no need to hash each of their blocks.
            let same_again = block_of.last().copied().filter(|&last| blocks[usize::from(last)] == *block);
            let number = same_again.unwrap_or_else(|| {
                *known.entry(*block).or_insert_with(|| {
                    blocks.push(*block);
                    u16::try_from(blocks.len() - 1).expect("Unicode has fewer than 65,536 blocks of 256")
                })
            });
            block_of.push(number);
        }
        Self { block_of, blocks }
    }

    /// The class of a character.
    pub fn class(&self, c: char) -> u8 {
        let at = c as usize;
        self.blocks[usize::from(self.block_of[at / BLOCK])][at % BLOCK]
    }
}
