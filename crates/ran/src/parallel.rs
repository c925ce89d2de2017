//! Work on several items side by side, on the threads of the caller's pool.

#[cfg(not(target_family = "wasm"))]
pub(crate) use threads::Team;

#[cfg(not(target_family = "wasm"))]
mod threads {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rayon_core::Yield;

    /// A thread without work looks this often for work before it sleeps; choice. A slot has three steps with work for it, and
    /// other threads are not woken up for each of them.
    const LOOKS: u32 = 10_000;

    /// The threads of the caller's pool of `rayon-core`; on another thread, that thread alone.
    #[derive(Debug, Default)]
    pub(crate) struct Team {
        /// The other threads that are awake and look for work.
        looking: Arc<AtomicUsize>,
    }

    impl Team {
        /// Does something with each item. Idle threads of the pool take a part.
        pub(crate) fn each<T: Send>(&self, items: &mut [T], work: &(impl Fn(&mut T) + Sync)) {
            if items.len() > 1 {
                self.wake();
            }
            divide(items, work);
        }

        /// Lets the other threads look for work, until they have found none for a while.
        fn wake(&self) {
            let Some(caller) = rayon_core::current_thread_index() else { return };
            let others = rayon_core::current_num_threads() - 1;
            if self.looking.compare_exchange(0, others, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                return;
            }
            let looking = Arc::clone(&self.looking);
            rayon_core::spawn_broadcast(move |thread| {
                if thread.index() != caller {
                    look_for_work();
                    looking.fetch_sub(1, Ordering::Relaxed);
                }
            });
        }
    }

    fn look_for_work() {
        let mut looks = 0;
        while looks < LOOKS {
            match rayon_core::yield_now() {
                Some(Yield::Executed) => looks = 0,
                _ => looks += 1,
            }
            core::hint::spin_loop();
        }
    }

    fn divide<T: Send>(items: &mut [T], work: &(impl Fn(&mut T) + Sync)) {
        match items {
            [] => {}
            [only] => work(only),
            _ => {
                let (first, second) = items.split_at_mut(items.len() / 2);
                rayon_core::join(|| divide(first, work), || divide(second, work));
            }
        }
    }
}

/// The only thread.
#[cfg(target_family = "wasm")]
#[derive(Debug, Default)]
pub(crate) struct Team;

#[cfg(target_family = "wasm")]
impl Team {
    /// Does something with each item.
    pub(crate) fn each<T: Send>(&self, items: &mut [T], work: &(impl Fn(&mut T) + Sync)) {
        items.iter_mut().for_each(work);
    }
}
