//! The merges applied to one pre-token, as the reference does it: always the least rank, and of equal ones the leftmost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::merges::{Merges, NEVER};

/// Up to this many symbols, looking at all of them for every merge is faster than a heap.
pub(super) const SHORT: usize = 64;

/// One step of a run: the rank of the merge, and the outermost symbols after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) rank: u32,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Merge `symbols` in place, and tell `watch` every step.
#[inline]
pub(super) fn run(merges: &Merges, symbols: &mut Vec<u32>, watch: impl FnMut(Step)) {
    if symbols.len() <= SHORT { run_short(merges, symbols, watch) } else { run_long(merges, symbols, watch) }
}

pub(super) fn run_short(merges: &Merges, symbols: &mut Vec<u32>, mut watch: impl FnMut(Step)) {
    // `ranks[i]` is that of the pair (i, i + 1).
    let mut ranks = [NEVER; SHORT];
    for (rank, pair) in ranks.iter_mut().zip(symbols.windows(2)) {
        *rank = merges.rank(pair[0], pair[1]);
    }
    let mut len = symbols.len();
    while len > 1 {
        let (mut at, mut least) = (0, ranks[0]);
        for (i, &rank) in ranks[..len - 1].iter().enumerate().skip(1) {
            if rank < least {
                (at, least) = (i, rank);
            }
        }
        if least >= merges.forbidden() {
            break;
        }
        symbols.copy_within(at + 2..len, at + 1);
        ranks.copy_within(at + 1..len, at);
        len -= 1;
        symbols[at] = merges.product(least);
        ranks[at] = if at + 1 < len { merges.rank(symbols[at], symbols[at + 1]) } else { NEVER };
        if at > 0 {
            ranks[at - 1] = merges.rank(symbols[at - 1], symbols[at]);
        }
        watch(Step { rank: least, first: symbols[0], last: symbols[len - 1] });
    }
    symbols.truncate(len);
}

/// A sweep has to merge one of this many symbols: all sweeps together then cost no more than a few of them.
const WORTH: usize = 8;

/// Take the merges of the least rank from left to right in one go, as long as no earlier one comes up; no, and nothing done,
/// where they are few. `ranks` has that of each symbol and the next one, and [`NEVER`] for the last.
///
/// The same character many times merges like that, and a heap takes ten times as long for it.
fn sweep(merges: &Merges, symbols: &mut Vec<u32>, ranks: &mut Vec<u32>, watch: &mut impl FnMut(Step)) -> bool {
    let least = ranks.iter().copied().min().unwrap_or(NEVER);
    let count = ranks.iter().filter(|rank| **rank == least).count();
    if least >= merges.forbidden() || count * WORTH < symbols.len() {
        return false;
    }
    let len = symbols.len();
    // Symbols before `to` are done, those from `from` on are not; what lies between is free.
    let (mut from, mut to) = (0, 0);
    let mut is_least = true;
    while from < len {
        if is_least && ranks[from] == least {
            from += 1;
            symbols[from] = merges.product(least);
            ranks[from] = symbols.get(from + 1).map_or(NEVER, |&next| merges.rank(symbols[from], next));
            is_least = ranks[from] >= least;
            if to > 0 {
                ranks[to - 1] = merges.rank(symbols[to - 1], symbols[from]);
                is_least &= ranks[to - 1] > least;
            }
            let first = if to > 0 { symbols[0] } else { symbols[from] };
            watch(Step { rank: least, first, last: symbols[len - 1] });
        } else {
            (symbols[to], ranks[to]) = (symbols[from], ranks[from]);
            from += 1;
            to += 1;
        }
    }
    symbols.truncate(to);
    ranks.truncate(to);
    true
}

/// No symbol, or none on this side.
const NONE: u32 = u32::MAX;

/// A symbol that has not been merged into its left neighbour.
#[derive(Clone, Copy)]
struct Node {
    previous: u32,
    next: u32,
    /// That of the pair with the next one: what the heap says may be out of date.
    rank: u32,
}

pub(super) fn run_long(merges: &Merges, symbols: &mut Vec<u32>, mut watch: impl FnMut(Step)) {
    let mut ranks: Vec<u32> = symbols.windows(2).map(|pair| merges.rank(pair[0], pair[1])).collect();
    ranks.push(NEVER);
    while sweep(merges, symbols, &mut ranks, &mut watch) {}
    let len = u32::try_from(symbols.len()).expect("a pre-token of 2^32 symbols does not fit an id list");
    let rank_at = |symbols: &[u32], left: u32, right: u32| merges.rank(symbols[left as usize], symbols[right as usize]);
    let mut nodes: Vec<Node> = (0..len)
        .zip(ranks)
        .map(|(at, rank)| {
            let next = if at + 1 < len { at + 1 } else { NONE };
            Node { previous: at.checked_sub(1).unwrap_or(NONE), next, rank }
        })
        .collect();
    let entry = |rank: u32, at: u32| Reverse(u64::from(rank) << 32 | u64::from(at));
    let in_time = |rank: u32| rank < merges.forbidden();
    let mut heap: BinaryHeap<Reverse<u64>> =
        (0..len).zip(&nodes).filter(|(_, node)| in_time(node.rank)).map(|(at, node)| entry(node.rank, at)).collect();
    let mut last = len - 1;
    while let Some(Reverse(top)) = heap.pop() {
        let at = u32::try_from(top & u64::from(u32::MAX)).unwrap_or(NONE);
        let rank = nodes[at as usize].rank;
        if u64::from(rank) != top >> 32 {
            continue;
        }
        let Node { previous, next: absorbed, .. } = nodes[at as usize];
        let next = nodes[absorbed as usize].next;
        symbols[at as usize] = merges.product(rank);
        nodes[absorbed as usize].rank = NEVER;
        nodes[at as usize].next = next;
        nodes[at as usize].rank = NEVER;
        if next == NONE {
            last = at;
        } else {
            nodes[next as usize].previous = at;
            let rank = rank_at(symbols, at, next);
            nodes[at as usize].rank = rank;
            if in_time(rank) {
                heap.push(entry(rank, at));
            }
        }
        if previous != NONE {
            let rank = rank_at(symbols, previous, at);
            nodes[previous as usize].rank = rank;
            if in_time(rank) {
                heap.push(entry(rank, previous));
            }
        }
        watch(Step { rank, first: symbols[0], last: symbols[last as usize] });
    }
    let (mut from, mut to) = (0, 0);
    while from != NONE {
        symbols[to] = symbols[from as usize];
        to += 1;
        from = nodes[from as usize].next;
    }
    symbols.truncate(to);
}
