//! The way from whoever passes requests on to the task that writes them down. Whoever brings one wakes nobody up: the task looks
//! by itself every few milliseconds, because to be woken for each one would take longer than most of the rest.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until, timeout};

/// How long the first of several waits for others.
const LINGER: Duration = Duration::from_millis(10);
/// How long to wait for a first one before it is looked all the same.
const LONGEST_SLEEP: Duration = Duration::from_secs(2);
/// So many are not left to wait any longer. No more are taken at once.
const MANY: usize = 1_024;
/// Nor are so many bytes.
const MUCH: usize = 16 * 1024 * 1024;

/// Where to bring what is to be done.
pub(super) struct Inbox<T> {
    // It goes before the signal does, so that whoever is called finds nobody there.
    items: mpsc::Sender<T>,
    signal: Bell,
}

/// Where it is taken from.
pub(super) struct Waiting<T> {
    items: mpsc::Receiver<T>,
    signal: Arc<Signal>,
    /// Whether there was nothing to take the last time.
    is_quiet: bool,
}

#[derive(Debug, Default)]
struct Signal {
    /// There is something to be done before the others have come.
    hurry: Notify,
    /// Nothing has come for a while: the first that comes wakes the task up.
    asleep: AtomicBool,
    first: Notify,
}

/// Rings when it goes.
struct Bell(Arc<Signal>);

impl Drop for Bell {
    fn drop(&mut self) {
        self.0.hurry.notify_one();
    }
}

/// An inbox in which `most` may wait.
pub(super) fn inbox<T>(most: usize) -> (Inbox<T>, Waiting<T>) {
    let (items, waiting) = mpsc::channel(most);
    let signal = Arc::new(Signal::default());
    let bell = Bell(Arc::clone(&signal));
    (Inbox { items, signal: bell }, Waiting { items: waiting, signal, is_quiet: true })
}

impl<T> Inbox<T> {
    /// Leaves something there, where `bytes` wait with it. Gives it back if there is no room, or nobody takes anything.
    pub(super) fn put(&self, item: T, bytes: usize) -> Result<(), T> {
        let Signal { hurry, asleep, first } = &*self.signal.0;
        self.items.try_send(item).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(item) | mpsc::error::TrySendError::Closed(item) => item,
        })?;
        if bytes >= MUCH || self.items.max_capacity() - self.items.capacity() >= MANY {
            hurry.notify_one();
        }
        if asleep.load(Ordering::SeqCst) && asleep.swap(false, Ordering::SeqCst) {
            first.notify_one();
        }
        Ok(())
    }

    /// Leaves something there that does not wait, as soon as there is room. Says whether somebody will take it.
    pub(super) async fn put_at_once(&self, item: T) -> bool {
        let is_there = self.items.send(item).await.is_ok();
        self.signal.0.hurry.notify_one();
        is_there
    }
}

impl<T> Waiting<T> {
    /// Waits until there is something or it is `due`, and takes what there is. Says whether more may come.
    pub(super) async fn take(&mut self, due: Option<Instant>, taken: &mut Vec<T>) -> bool {
        if self.items.len() < MANY {
            self.rest(due).await;
        }
        self.is_quiet = self.items.is_empty();
        // It is not waited on: then the next that comes would wake this task.
        if !self.is_quiet {
            self.items.recv_many(taken, MANY).await;
        }
        !(self.items.is_closed() && self.items.is_empty())
    }

    async fn rest(&self, due: Option<Instant>) {
        let signal = &self.signal;
        if self.is_quiet {
            let longest = Instant::now() + LONGEST_SLEEP;
            signal.asleep.store(true, Ordering::SeqCst);
            // What came just before that has woken nobody.
            let is_called = self.items.is_empty() && !self.items.is_closed() && {
                tokio::select! {
                    () = signal.hurry.notified() => true,
                    () = signal.first.notified() => false,
                    () = sleep_until(due.map_or(longest, |due| due.min(longest))) => false,
                }
            };
            signal.asleep.store(false, Ordering::SeqCst);
            if is_called || self.items.is_empty() {
                return;
            }
        }
        // An error is that nobody was in a hurry.
        let _ = timeout(LINGER, signal.hurry.notified()).await;
    }
}

impl<T> fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(waiting: &mut Waiting<u32>, due: Option<Instant>) -> (Vec<u32>, bool) {
        let mut taken = Vec::new();
        let more = waiting.take(due, &mut taken).await;
        (taken, more)
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_together_is_taken_together_and_nobody_is_woken_twice() {
        let (inbox, mut waiting) = inbox(8);
        let taker = tokio::spawn(async move { (all(&mut waiting, None).await, waiting) });
        tokio::task::yield_now().await;
        for number in 0..4 {
            inbox.put(number, 0).unwrap();
        }
        let (taken, mut waiting) = taker.await.unwrap();
        assert_eq!(taken, (vec![0, 1, 2, 3], true));
        // The next waits for its time, without a word from whoever brings it.
        inbox.put(4, 0).unwrap();
        assert!(!inbox.signal.0.asleep.load(Ordering::SeqCst));
        assert_eq!(all(&mut waiting, None).await, (vec![4], true));
    }

    #[tokio::test(start_paused = true)]
    async fn what_can_not_wait_is_taken_at_once_and_the_end_is_seen() {
        let (inbox, mut waiting) = inbox(8);
        let began = Instant::now();
        assert!(inbox.put_at_once(1).await);
        inbox.put(2, MUCH).unwrap();
        assert_eq!(all(&mut waiting, None).await, (vec![1, 2], true));
        assert_eq!(Instant::now(), began);
        drop(inbox);
        assert_eq!(all(&mut waiting, None).await, (vec![], false));
        assert_eq!(Instant::now(), began);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_lost_that_comes_at_any_moment_and_what_finds_no_room_comes_back() {
        let (inbox, mut waiting) = inbox(2);
        assert_eq!((inbox.put(1, 0), inbox.put(2, 0), inbox.put(3, 0)), (Ok(()), Ok(()), Err(3)));
        assert_eq!(all(&mut waiting, None).await.0, [1, 2]);
        let due = Some(Instant::now() + LINGER / 2);
        assert_eq!(all(&mut waiting, due).await.0, [0; 0]);
        assert_eq!(all(&mut waiting, due).await, (vec![], true));
        drop(waiting);
        assert_eq!(inbox.put(4, 0), Err(4));
        assert!(!inbox.put_at_once(5).await);
    }
}
