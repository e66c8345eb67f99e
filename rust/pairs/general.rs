//! The check of a pair from the two runs, step by step: for what the spines cannot say, and to test them.

use super::atoms::Atoms;
use super::merges::{Merges, NEVER};
use super::run::{Step, run};

/// The run of a token: as it begins, and after every step. None if it does not end with the token.
fn log(atoms: &Atoms, merges: &Merges, id: u32) -> Option<Vec<Step>> {
    let mut symbols = atoms.of(id).to_vec();
    let mut steps = vec![Step { rank: 0, first: *symbols.first()?, last: *symbols.last()? }];
    run(merges, &mut symbols, |step| steps.push(step));
    (symbols == [id]).then_some(steps)
}

/// Whether the merges leave `left` and `right` as they are, each made of its atoms.
///
/// Both runs advance side by side, always the one whose next step has the lesser rank, until a merge across the edge
/// between them comes first. Of equal ranks the leftmost comes first: the left run, then the edge, then the right run.
pub(super) fn fit(atoms: &Atoms, merges: &Merges, left: u32, right: u32) -> bool {
    let (Some(left), Some(right)) = (log(atoms, merges, left), log(atoms, merges, right)) else { return false };
    let (mut i, mut j) = (0, 0);
    loop {
        let next_left = left.get(i + 1).map_or(NEVER, |step| step.rank);
        let next_right = right.get(j + 1).map_or(NEVER, |step| step.rank);
        let across = merges.rank(left[i].last, right[j].first);
        if across < next_left && across <= next_right {
            return false;
        }
        if next_left == NEVER && next_right == NEVER {
            return true;
        }
        if next_left <= next_right {
            i += 1;
        } else {
            j += 1;
        }
    }
}
