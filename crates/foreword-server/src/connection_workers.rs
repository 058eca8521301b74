//! Threads that serve connections, each with its own single-threaded runtime and its own connections to the providers.
//! A request to a drop-in endpoint starts and ends on one thread: no task has to wake another core for it.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

/// How long a stopping worker waits for blocking calls, such as a name lookup.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// An accepted connection, not yet registered with a runtime.
pub(crate) struct Accepted {
    pub(crate) stream: std::net::TcpStream,
    pub(crate) peer: SocketAddr,
    /// Released when the connection ends.
    pub(crate) permit: OwnedSemaphorePermit,
}

/// Serves one connection to its end.
pub(crate) trait ServeConnection: Clone + Send + 'static {
    fn serve_connection(self, stream: TcpStream, peer: SocketAddr) -> impl Future<Output = ()> + Send;
}

/// The threads. They end when this is dropped.
pub(crate) struct ConnectionWorkers(Vec<Worker>);

struct Worker {
    accepted: mpsc::UnboundedSender<Accepted>,
    open: Arc<AtomicUsize>,
    stopped: oneshot::Receiver<()>,
}

impl ConnectionWorkers {
    /// Starts one thread per core; `service` makes what each of them serves.
    pub(crate) fn start<S: ServeConnection>(service: impl Fn() -> S) -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        (0..count).map(|number| Worker::start(number, service())).collect::<io::Result<_>>().map(Self)
    }

    /// Gives a connection to the worker with the fewest.
    pub(crate) fn assign(&self, accepted: Accepted) {
        if let Some(worker) = self.0.iter().min_by_key(|worker| worker.open.load(Ordering::Relaxed)) {
            worker.open.fetch_add(1, Ordering::Relaxed);
            // Fails if the worker has ended; the connection is closed then.
            let _ = worker.accepted.send(accepted);
        }
    }

    /// Closes all connections and waits until the threads have dropped their requests.
    pub(crate) async fn stop(self) {
        for Worker { accepted, stopped, .. } in self.0 {
            drop(accepted);
            // The sender is dropped with the thread.
            let _ = stopped.await;
        }
    }
}

impl Worker {
    fn start<S: ServeConnection>(number: usize, service: S) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (accepted, receiver) = mpsc::unbounded_channel();
        let (end, stopped) = oneshot::channel();
        let open = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&open);
        thread::Builder::new().name(format!("connections-{number}")).spawn(move || {
            serve_all(runtime, receiver, &service, &count);
            drop(end);
        })?;
        Ok(Self { accepted, open, stopped })
    }
}

/// Serves connections until the sender is dropped; dropping the runtime then aborts those still open.
fn serve_all<S: ServeConnection>(
    runtime: Runtime,
    mut accepted: mpsc::UnboundedReceiver<Accepted>,
    service: &S,
    open: &Arc<AtomicUsize>,
) {
    runtime.block_on(async {
        while let Some(Accepted { stream, peer, permit }) = accepted.recv().await {
            let (service, open) = (service.clone(), OpenConnection(Arc::clone(open)));
            tokio::spawn(async move {
                // Fails if the process is out of file descriptors; the connection is closed then.
                if let Ok(stream) = TcpStream::from_std(stream) {
                    service.serve_connection(stream, peer).await;
                }
                drop((permit, open));
            });
        }
    });
    runtime.shutdown_timeout(STOP_TIMEOUT);
}

/// A connection that counts for its worker until dropped.
struct OpenConnection(Arc<AtomicUsize>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;

    use super::*;

    /// Sends the name of its thread, then waits for the client to close.
    #[derive(Clone)]
    struct ThreadName;

    impl ServeConnection for ThreadName {
        async fn serve_connection(self, mut stream: TcpStream, _: SocketAddr) {
            let name = thread::current().name().unwrap_or_default().to_owned();
            let _ = stream.write_all(format!("{name}\n").as_bytes()).await;
            let _ = stream.read(&mut [0]).await;
        }
    }

    #[tokio::test]
    async fn connections_are_spread_and_closed_by_stop() {
        let workers = ConnectionWorkers::start(|| ThreadName).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let permits = Arc::new(Semaphore::new(100));
        let (mut clients, mut names) = (Vec::new(), Vec::new());
        for _ in 0..2 * workers.0.len() {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, peer) = listener.accept().await.unwrap();
            let permit = Arc::clone(&permits).try_acquire_owned().unwrap();
            workers.assign(Accepted { stream: stream.into_std().unwrap(), peer, permit });
            let mut name = [0; 64];
            let length = client.read(&mut name).await.unwrap();
            names.push(String::from_utf8_lossy(&name[..length]).into_owned());
            clients.push(client);
        }
        names.sort();
        assert!(names.chunks(2).all(|pair| pair[0] == pair[1]), "two each: {names:?}");
        names.dedup();
        assert_eq!(names.len(), workers.0.len());
        workers.stop().await;
        assert_eq!(permits.available_permits(), 100);
        assert_eq!(clients[0].read(&mut [0]).await.unwrap(), 0);
    }
}
