//! Many independent runs on many cores.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::{panic, thread};

/// Runs jobs 0 to `jobs` - 1 on `threads` threads and returns their results in this order,
/// independent of the order in which they end. `on_done` is called on the calling thread with the
/// index of each job that ends. Once `cancel` is true no further job begins; jobs that did not
/// begin give `None`. A long job may check the flag itself.
///
/// # Panics
/// If a job panics; jobs that are running end first, and no further job begins.
pub fn parallel<T: Send>(
    jobs: usize,
    threads: usize,
    cancel: &AtomicBool,
    job: impl Fn(usize) -> T + Sync,
    mut on_done: impl FnMut(usize),
) -> Vec<Option<T>> {
    let mut results: Vec<Option<T>> = (0..jobs).map(|_| None).collect();
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    let (job, next, failed) = (&job, &next, &failed);
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.max(1)) {
            let sender = sender.clone();
            scope.spawn(move || {
                while !cancel.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= jobs {
                        break;
                    }
                    // Caught, to be resumed on the calling thread with its message.
                    let outcome = panic::catch_unwind(panic::AssertUnwindSafe(|| job(index)));
                    failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    if sender.send((index, outcome)).is_err() {
                        break; // the receiver is closed: the calling thread panicked
                    }
                }
            });
        }
        drop(sender);
        let mut failure = None;
        for (index, outcome) in receiver {
            match outcome {
                Ok(result) => {
                    results[index] = Some(result);
                    on_done(index);
                }
                Err(payload) => failure = Some(payload),
            }
        }
        if let Some(payload) = failure {
            panic::resume_unwind(payload);
        }
    });
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_jobs() {
        for threads in [1, 2, 7] {
            let mut done = Vec::new();
            let results = parallel(20, threads, &AtomicBool::new(false), |i| i * i, |i| done.push(i));
            assert_eq!(results, (0..20).map(|i| Some(i * i)).collect::<Vec<_>>());
            done.sort_unstable();
            assert_eq!(done, (0..20).collect::<Vec<_>>());
        }
        assert!(parallel(0, 4, &AtomicBool::new(false), |i| i, |_| ()).is_empty());
    }

    #[test]
    fn a_cancelled_batch_begins_nothing_more() {
        let cancel = AtomicBool::new(false);
        let job = |index| {
            if index == 3 {
                cancel.store(true, Ordering::Relaxed);
            }
            index
        };
        let results = parallel(10, 1, &cancel, job, |_| ());
        assert_eq!(results.iter().flatten().count(), 4);
        assert_eq!(results[4..], [None; 6]);
    }

    #[test]
    #[should_panic(expected = "job 2 is broken")]
    fn a_panic_arrives_with_its_message() {
        let job = |index| assert!(index != 2, "job {index} is broken");
        parallel(5, 2, &AtomicBool::new(false), job, |_| ());
    }
}
