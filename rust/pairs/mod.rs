//! What the merges of a BPE model do inside one pre-token, by ids alone: which neighbours are canonical.
//!
//! A pre-token is a string of initial symbols, its *atoms*. While some neighbours have a merge, the one of least (rank,
//! place) is applied. The rank is any function of the pair. A token is *self-canonical* if that makes it out of its own
//! atoms.
//!
//! **Lemma.** If the encoding of XY has a token boundary between X and Y, it is the encoding of X and then that of Y. No
//! step crosses the cut; those inside X are each the least of X's own, so they are X's own run; likewise Y. Equal ranks
//! are of equal pairs, whose order by place inside X is the same.
//!
//! **Theorem.** For n >= 2 the tokens t1..tn are the encoding of their atoms iff every two neighbours are that of
//! theirs. (=>) is the lemma, twice. (<=) Take the first merge that crosses some boundary. Until then all tokens evolved
//! alone, and the two on either side as in the run of just both, where the same crossing merge is then the least as well:
//! they do not fit.
//!
//! So the verdict on a sequence is that on pairs, [`Pairs::fit`], and a pair that fits does so for ever: [`PairCache`].

mod atoms;
mod build;
mod cache;
mod edge;
mod filter;
mod general;
mod glance;
mod many;
mod merges;
#[cfg(test)]
mod real_tests;
mod run;
mod spine;
#[cfg(test)]
mod tests;

pub use atoms::Atoms;
pub use cache::PairCache;
pub use many::Waiting;
pub(crate) use merges::ID_LIMIT;
pub use merges::Merge;

use std::sync::atomic::{AtomicU64, Ordering};

use merges::{Merges, RANK_BITS};
use spine::{Answer, Spines};

static SERIAL: AtomicU64 = AtomicU64::new(0);

/// What a BPE model does inside one pre-token.
pub struct Pairs {
    /// Tells one vocabulary's pairs from another's in what threads remember.
    serial: u64,
    atoms: Atoms,
    merges: Merges,
    spines: Spines,
}

impl Pairs {
    /// The merges in the order of the model's list, the later of equal pairs counts.
    ///
    /// None if a merge names an id that `atoms` does not have, or if there are more ids (2^20 - 1) or merges (2^22) than the
    /// tables are made for.
    pub fn new(atoms: Atoms, merges: &[Merge]) -> Option<Self> {
        let ids = u32::try_from(atoms.ids()).ok().filter(|ids| *ids <= ID_LIMIT)?;
        // Two more ranks, and two more marks.
        let has_room = merges.len() + 4 < 1 << RANK_BITS;
        let is_known = |merge: &Merge| merge.left.max(merge.right).max(merge.product) < ids;
        if !has_room || !merges.iter().all(is_known) {
            return None;
        }
        let (merges, spines) = build::build(&atoms, merges);
        Some(Self { serial: SERIAL.fetch_add(1, Ordering::Relaxed), atoms, merges, spines })
    }

    /// What every token is spelled with.
    pub fn atoms(&self) -> &Atoms {
        &self.atoms
    }

    /// Whether the encoding of the token's own atoms is just the token.
    pub fn is_self_canonical(&self, id: u32) -> bool {
        self.spines.left.is_self_canonical(id)
    }

    /// Whether the encoding of the atoms of both tokens, end to end, is just both tokens.
    #[inline]
    pub fn fit(&self, left: u32, right: u32) -> bool {
        match self.spines.ask(&self.merges, left, right) {
            Answer::Fit => true,
            Answer::NoFit => false,
            Answer::Unknown => general::fit(&self.atoms, &self.merges, left, right),
        }
    }

    /// As [`fit`](Self::fit), by a memory that [serves](PairCache::serve) these pairs; what it does not hold is put into it.
    #[inline]
    pub fn stay(&self, left: u32, right: u32, cache: &mut PairCache) -> bool {
        cache.recall(left, right).unwrap_or_else(|| self.learn(left, right, cache))
    }

    #[cold]
    fn learn(&self, left: u32, right: u32, cache: &mut PairCache) -> bool {
        let fit = self.fit(left, right);
        cache.store(left, right, fit);
        fit
    }

    /// Apply the merges to the atoms of one pre-token, in place. All symbols must be atoms: merges that no run of atoms
    /// comes to are not kept.
    pub fn encode(&self, symbols: &mut Vec<u32>) {
        run::run(&self.merges, symbols, |_| ());
    }

    /// Let two tokens not fit from now on, though the merges leave them side by side.
    ///
    /// It is a merge of the last rank, so that it can meet only what is left when both runs have ended. [`Self::encode`]
    /// does not apply it.
    pub fn forbid(&mut self, left: u32, right: u32) {
        if self.fit(left, right) {
            let last = self.merges.forbidden();
            self.merges.insert(left, right, last, last);
            self.spines.forbid(left, right);
        }
    }
}
