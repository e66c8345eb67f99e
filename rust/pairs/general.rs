//! The check of a pair from the two runs, step by step: for what the spines cannot say, and to test them.

use super::atoms::Atoms;
use super::merges::{Merges, NEVER};
use super::run::{Step, run};

/// The outermost symbols of a run: as it begins, and after every step. None if `symbols` is empty.
pub(super) struct Log {
    pub(super) steps: Vec<Step>,
    /// What the run leaves.
    pub(super) result: Vec<u32>,
}

impl Log {
    /// Run the merges on the atoms of `id`; None if it has none.
    pub(super) fn of(atoms: &Atoms, merges: &Merges, id: u32) -> Option<Self> {
        let mut result = atoms.of(id).to_vec();
        let (&first, &last) = (result.first()?, result.last()?);
        let mut steps = vec![Step { rank: 0, first, last }];
        run(merges, &mut result, |step| steps.push(step));
        Some(Self { steps, result })
    }
}

/// Whether the merges leave `left` and `right` as they are, each made of its atoms.
///
/// Both runs advance side by side, always the one whose next step has the lesser rank, until a merge across the edge
/// between them comes first. Of equal ranks the leftmost comes first: the left run, then the edge, then the right run.
pub(super) fn fit(atoms: &Atoms, merges: &Merges, left: u32, right: u32) -> bool {
    let log = |id| Log::of(atoms, merges, id).filter(|log| log.result == [id]);
    let (Some(left), Some(right)) = (log(left), log(right)) else { return false };
    let (left, right) = (left.steps, right.steps);
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
