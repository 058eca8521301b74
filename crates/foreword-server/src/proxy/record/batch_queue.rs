//! A queue between the connections and the recorder task. Sending does not wake the receiver, which polls every few
//! milliseconds instead: a wake-up per item would cost more than most of the other work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until, timeout};

/// How long the first item of a batch waits for others.
const BATCH_DELAY: Duration = Duration::from_millis(10);
/// The longest sleep without items.
const MAX_SLEEP: Duration = Duration::from_secs(2);
/// The maximum batch size. A batch of this size is received at once.
const MAX_BATCH: usize = 1_024;
/// The batch size in bytes from which on it is received at once.
const MAX_BATCH_BYTES: usize = 16 * 1024 * 1024;

/// The sending half.
pub(super) struct BatchSender<T> {
    // Dropped before the signal, so that the woken receiver sees a closed channel.
    items: mpsc::Sender<T>,
    signal: NotifyOnDrop,
}

/// The receiving half.
pub(super) struct BatchReceiver<T> {
    items: mpsc::Receiver<T>,
    signal: Arc<Signal>,
    /// Whether the queue was empty last time.
    is_quiet: bool,
}

#[derive(Debug, Default)]
struct Signal {
    /// Ends the batch delay.
    flush: Notify,
    /// The receiver sleeps; the next item wakes it.
    asleep: AtomicBool,
    first: Notify,
}

/// Wakes the receiver when the sender is dropped.
struct NotifyOnDrop(Arc<Signal>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.flush.notify_one();
    }
}

/// Creates a queue.
pub(super) fn batch_queue<T>(capacity: usize) -> (BatchSender<T>, BatchReceiver<T>) {
    let (items, waiting) = mpsc::channel(capacity);
    let signal = Arc::new(Signal::default());
    let notify = NotifyOnDrop(Arc::clone(&signal));
    (BatchSender { items, signal: notify }, BatchReceiver { items: waiting, signal, is_quiet: true })
}

impl<T> BatchSender<T> {
    /// Sends an item; `bytes` is the size of all queued items. Returns it if the queue is full or closed.
    pub(super) fn send(&self, item: T, bytes: usize) -> Result<(), T> {
        let Signal { flush, asleep, first } = &*self.signal.0;
        self.items.try_send(item).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(item) | mpsc::error::TrySendError::Closed(item) => item,
        })?;
        if bytes >= MAX_BATCH_BYTES || self.items.max_capacity() - self.items.capacity() >= MAX_BATCH {
            flush.notify_one();
        }
        if asleep.load(Ordering::SeqCst) && asleep.swap(false, Ordering::SeqCst) {
            first.notify_one();
        }
        Ok(())
    }

    /// Sends an item that ends the batch delay, when there is room. Returns whether the receiver is alive.
    pub(super) async fn send_now(&self, item: T) -> bool {
        let is_open = self.items.send(item).await.is_ok();
        self.signal.0.flush.notify_one();
        is_open
    }
}

impl<T> BatchReceiver<T> {
    /// Waits for items or until `due`, and takes all of them. Returns whether more may come.
    pub(super) async fn receive(&mut self, due: Option<Instant>, taken: &mut Vec<T>) -> bool {
        if self.items.len() < MAX_BATCH {
            self.wait(due).await;
        }
        self.is_quiet = self.items.is_empty();
        // `recv` on an empty channel would make the next item wake this task.
        if !self.is_quiet {
            self.items.recv_many(taken, MAX_BATCH).await;
        }
        !(self.items.is_closed() && self.items.is_empty())
    }

    async fn wait(&self, due: Option<Instant>) {
        let signal = &self.signal;
        if self.is_quiet {
            let longest = Instant::now() + MAX_SLEEP;
            signal.asleep.store(true, Ordering::SeqCst);
            // An item sent just before did not wake the receiver.
            let is_flushed = self.items.is_empty() && !self.items.is_closed() && {
                tokio::select! {
                    () = signal.flush.notified() => true,
                    () = signal.first.notified() => false,
                    () = sleep_until(due.map_or(longest, |due| due.min(longest))) => false,
                }
            };
            signal.asleep.store(false, Ordering::SeqCst);
            if is_flushed || self.items.is_empty() {
                return;
            }
        }
        // The timeout is the normal case.
        let _ = timeout(BATCH_DELAY, signal.flush.notified()).await;
    }
}

impl<T> fmt::Debug for BatchSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchSender").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(waiting: &mut BatchReceiver<u32>, due: Option<Instant>) -> (Vec<u32>, bool) {
        let mut taken = Vec::new();
        let more = waiting.receive(due, &mut taken).await;
        (taken, more)
    }

    #[tokio::test(start_paused = true)]
    async fn items_sent_together_are_received_together() {
        let (sender, mut waiting) = batch_queue(8);
        let taker = tokio::spawn(async move { (all(&mut waiting, None).await, waiting) });
        tokio::task::yield_now().await;
        for number in 0..4 {
            sender.send(number, 0).unwrap();
        }
        let (taken, mut waiting) = taker.await.unwrap();
        assert_eq!(taken, (vec![0, 1, 2, 3], true));
        // The next item waits for the delay and does not wake the receiver.
        sender.send(4, 0).unwrap();
        assert!(!sender.signal.0.asleep.load(Ordering::SeqCst));
        assert_eq!(all(&mut waiting, None).await, (vec![4], true));
    }

    #[tokio::test(start_paused = true)]
    async fn urgent_items_are_received_at_once() {
        let (sender, mut waiting) = batch_queue(8);
        let began = Instant::now();
        assert!(sender.send_now(1).await);
        sender.send(2, MAX_BATCH_BYTES).unwrap();
        assert_eq!(all(&mut waiting, None).await, (vec![1, 2], true));
        assert_eq!(Instant::now(), began);
        drop(sender);
        assert_eq!(all(&mut waiting, None).await, (vec![], false));
        assert_eq!(Instant::now(), began);
    }

    #[tokio::test(start_paused = true)]
    async fn full_queue_returns_items_and_loses_none() {
        let (sender, mut waiting) = batch_queue(2);
        assert_eq!((sender.send(1, 0), sender.send(2, 0), sender.send(3, 0)), (Ok(()), Ok(()), Err(3)));
        assert_eq!(all(&mut waiting, None).await.0, [1, 2]);
        let due = Some(Instant::now() + BATCH_DELAY / 2);
        assert_eq!(all(&mut waiting, due).await.0, [0; 0]);
        assert_eq!(all(&mut waiting, due).await, (vec![], true));
        drop(waiting);
        assert_eq!(sender.send(4, 0), Err(4));
        assert!(!sender.send_now(5).await);
    }
}
