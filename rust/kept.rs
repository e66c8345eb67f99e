//! What a thread keeps from call to call, and leaves to the threads that come after it.
//!
//! Threads live for one call, and what they work with is worth keeping: memory, and above all what a cache has learnt.

use std::cell::RefCell;
use std::sync::Mutex;

/// So many are left behind at most, of threads that are no more.
const MOST: usize = 64;

/// What threads left behind.
pub(crate) struct Spare<T>(Mutex<Vec<Box<T>>>);

impl<T> Spare<T> {
    /// Nothing yet.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Nobody waits for the lock: a process that was forked while a thread of its parent held it never gets it, and does
    /// without.
    fn pop(&self) -> Option<Box<T>> {
        self.0.try_lock().ok()?.pop()
    }

    fn push(&self, kept: Box<T>) {
        if let Ok(mut spare) = self.0.try_lock()
            && spare.len() < MOST
        {
            spare.push(kept);
        }
    }
}

/// What one thread keeps; made, or taken over, when it is first needed.
pub(crate) struct Kept<T: 'static> {
    own: RefCell<Option<Box<T>>>,
    spare: &'static Spare<T>,
}

impl<T: Default> Kept<T> {
    /// Nothing yet; in the end it goes to `spare`.
    pub(crate) const fn new(spare: &'static Spare<T>) -> Self {
        Self { own: RefCell::new(None), spare }
    }

    /// Work with it. `work` must not come back here.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(self.own.borrow_mut().get_or_insert_with(|| self.spare.pop().unwrap_or_default()))
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        if let Some(kept) = self.own.take() {
            self.spare.push(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SPARE: Spare<Vec<u32>> = Spare::new();

    thread_local! {
        static KEPT: Kept<Vec<u32>> = const { Kept::new(&SPARE) };
    }

    fn add(value: u32) -> Vec<u32> {
        let add = move |kept: &mut Vec<u32>| {
            kept.push(value);
            kept.clone()
        };
        std::thread::spawn(move || KEPT.with(|kept| kept.with(add))).join().unwrap()
    }

    #[test]
    fn a_thread_takes_over_what_another_left_and_does_without_where_it_cannot() {
        assert_eq!(add(1), [1]);
        assert_eq!(add(2), [1, 2]);
        let held = SPARE.0.lock().unwrap();
        assert_eq!(add(3), [3], "nobody waits");
        assert_eq!(*held, [vec![1, 2].into()], "and what it had is dropped");
        drop(held);
        assert_eq!(add(4), [1, 2, 4]);
        for value in 0..2 * MOST {
            SPARE.push(vec![u32::try_from(value).unwrap()].into());
        }
        assert_eq!(SPARE.0.lock().unwrap().len(), MOST);
    }
}
