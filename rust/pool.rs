//! Threads that live no longer than the call that needs them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// `work(0)`, `work(1)`, ... `work(count - 1)`, in this order, over `threads` threads. `work` must not panic.
///
/// The threads are started and joined inside the call: none is alive when the caller forks afterwards. The caller's own
/// thread is one of them, which keeps the reference's per-thread caches warm from call to call.
pub fn map<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = threads.min(count);
    let Some(_pool) = (threads > 1).then(Pool::enter).flatten() else {
        return (0..count).map(work).collect();
    };
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return done;
            }
            done.push((index, work(index)));
        }
    };
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        // Where the system grants no more threads, those there are do the work.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let own = worker();
        let others = others.into_iter().flat_map(|worker| worker.join().expect("work does not panic"));
        own.into_iter().chain(others).collect()
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Cut the rows between `ends` into runs of about the same size, a few for every thread: four times as many, and runs that grow
/// smaller towards the end, gained nothing.
pub(crate) fn shares(ends: &[usize], threads: usize) -> Vec<Range<usize>> {
    let rows = ends.len() - 1;
    let parts = if threads > 1 { threads.saturating_mul(4).clamp(1, rows.max(1)) } else { 1 };
    let cut = |part: usize| match part {
        0 => 0,
        _ if part == parts => rows,
        // In 128 bits: the product of two lengths.
        _ => ends.partition_point(|&end| end as u128 * (parts as u128) < ends[rows] as u128 * part as u128).min(rows),
    };
    (0..parts).map(|part| cut(part)..cut(part + 1)).collect()
}

/// Says while it lives that this process has threads of ours, so that a child forked meanwhile knows.
///
/// Such a child inherits the stacks of threads that are no more, and the C library hands them to the next threads it
/// starts. One that was being prepared at the moment of the fork holds pointers that are freed already: with glibc 2.36 one
/// child in some hundreds died of a corrupted heap. So a child that was forked between threads works on the caller's own
/// thread for good; any other process starts threads as it likes.
struct Pool;

/// Process id, whether it was forked between threads, and the number of pools alive: one word, so that no thread of a
/// child sees half of it.
static STATE: AtomicU64 = AtomicU64::new(0);
const FORKED: u64 = 1 << 31;

impl Pool {
    /// `None` where this process must not start threads.
    fn enter() -> Option<Self> {
        let process = u64::from(std::process::id()) << 32;
        let entered = |state: u64| {
            let (home, pools) = (state >> 32 << 32, state % FORKED);
            if home == process {
                state + u64::from(state & FORKED == 0)
            } else if state & FORKED != 0 || pools > 0 {
                process | FORKED
            } else {
                process + 1
            }
        };
        let before = STATE.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |state| Some(entered(state)));
        let before = before.unwrap_or_else(|state| state);
        (entered(before) & FORKED == 0).then_some(Self)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        STATE.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shares_tile_the_rows(lengths in prop::collection::vec(0usize..50, 0..30), threads in 0usize..9) {
            let ends: Vec<usize> = std::iter::once(0).chain(lengths.iter().scan(0, |end, len| {
                *end += len;
                Some(*end)
            })).collect();
            let mut next = 0;
            for share in shares(&ends, threads) {
                prop_assert_eq!(share.start, next);
                prop_assert!(share.end >= next);
                next = share.end;
            }
            prop_assert_eq!(next, lengths.len());
        }
    }

    #[test]
    fn results_are_in_order_and_a_process_that_was_forked_between_threads_starts_none() {
        for threads in [0, 1, 2, 7, 100] {
            assert_eq!(map(50, threads, |index| index * 2), (0..50).map(|index| index * 2).collect::<Vec<_>>());
        }
        assert!(map(0, 4, |index| index).is_empty());

        let home = u64::from(std::process::id()) << 32;
        // What a child finds in memory that was copied while a pool of its parent was alive.
        STATE.store(((home >> 32) + 1) << 32 | 1, Ordering::SeqCst);
        assert!(Pool::enter().is_none());
        assert!(Pool::enter().is_none(), "for good");
        // And while none was.
        STATE.store(((home >> 32) + 1) << 32, Ordering::SeqCst);
        let pool = Pool::enter();
        assert!(pool.is_some());
        drop(pool);
        assert_eq!(STATE.load(Ordering::SeqCst), home);
    }
}
