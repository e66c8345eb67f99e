//! Many pairs asked at once: what a pair costs that is asked for the first time is waiting for memory, and memory brings the
//! lines of many as fast as those of one.
//!
//! An edge that has to wait has its lines fetched while the scan goes on. What is read behind them, a slot of the filter and
//! sometimes one of the table of merges, is fetched for all edges before the first is read. See [`spine`](super::spine) for what
//! was tried.

use super::spine::Meeting;
use super::{PairCache, Pairs};

/// Pairs that are asked at once, a bit for each.
const TOGETHER: usize = 64;

/// Edges of a row whose pairs the memory does not hold, each by the token behind it: they wait to be asked.
#[derive(Default)]
pub struct Waiting {
    edges: Vec<usize>,
    /// What may merge across the edges that are being asked, each by its place among these.
    meetings: Vec<(u32, Meeting)>,
}

impl Waiting {
    /// Whether it is time to ask: what was fetched for the first one must still be near.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.edges.len() >= TOGETHER
    }

    /// Forget them.
    pub fn clear(&mut self) {
        self.edges.clear();
    }
}

impl Pairs {
    /// Let the edge before token `edge` wait.
    #[inline]
    pub fn wait(&self, ids: &[u32], edge: usize, waiting: &mut Waiting) {
        self.spines.prefetch(ids[edge - 1], ids[edge]);
        waiting.edges.push(edge);
    }

    /// Of the edges that wait hand over those whose pairs do not fit, in order; all are remembered, and none waits any more.
    pub fn misfits(&self, ids: &[u32], waiting: &mut Waiting, cache: &mut PairCache, mut found: impl FnMut(usize)) {
        let Waiting { edges, meetings } = waiting;
        for edges in edges.chunks(TOGETHER) {
            meetings.clear();
            let mut untold = 0u64;
            for (place, &edge) in edges.iter().enumerate() {
                untold |= u64::from(!self.spines.tell(ids[edge - 1], ids[edge])) << place;
            }
            let mut misfits = 0u64;
            while untold != 0 {
                let place = untold.trailing_zeros();
                untold &= untold - 1;
                let edge = edges[place as usize];
                let (left, right) = (ids[edge - 1], ids[edge]);
                match self.spines.meetings(left, right) {
                    Some(across) => {
                        for meeting in across {
                            meeting.prefetch(&self.merges);
                            meetings.push((place, meeting));
                        }
                    }
                    None => misfits |= u64::from(!self.fit(left, right)) << place,
                }
            }
            meetings.retain(|(_, meeting)| meeting.may_merge(&self.merges));
            for (place, meeting) in &*meetings {
                misfits |= u64::from(meeting.merges(&self.merges)) << place;
            }
            for (place, &edge) in edges.iter().enumerate() {
                let fit = misfits >> place & 1 == 0;
                cache.store(ids[edge - 1], ids[edge], fit);
                if !fit {
                    found(edge);
                }
            }
        }
        edges.clear();
    }
}
