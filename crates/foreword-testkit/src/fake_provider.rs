//! A fake model provider on a loopback port. It answers by a script and records the requests. It runs on its own
//! thread, so that tests with and without a runtime can use it, and stops when it is dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use foreword_core::provider::{KeySource, Provider, Timeouts, WireDialect};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use crate::connection::serve;
use crate::{Received, Reply, Script};

/// A fake model provider that follows a script.
#[derive(Debug)]
pub struct FakeProvider {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Dropping it ends the thread.
    _stop: oneshot::Sender<()>,
}

/// Counters of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Opened connections.
    pub connections: usize,
    /// Received requests.
    pub requests: usize,
    /// Requests whose client closed the connection before the end of the answer.
    pub abandoned: usize,
}

impl FakeProvider {
    /// Starts a provider on a free loopback port.
    ///
    /// # Errors
    /// If no port is free or the thread cannot be started.
    pub fn start(script: impl Into<Script>) -> io::Result<Self> {
        Self::start_on(0, script)
    }

    /// Starts a provider on this loopback port.
    ///
    /// # Errors
    /// If the port is in use or the thread cannot be started.
    pub fn start_on(port: u16, script: impl Into<Script>) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(script.into()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = Arc::clone(&shared);
        std::thread::Builder::new().name("fake provider".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                tokio::select! {
                    () = accept(&listener, &serving) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, shared, _stop: stop })
    }

    /// The base URL for Anthropic's dialect, without `/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A provider configuration named `fake`, with the base URL of the dialect.
    #[must_use]
    pub fn provider(&self, dialect: WireDialect) -> Provider {
        let base_url = match dialect {
            WireDialect::Anthropic => self.base_url(),
            WireDialect::OpenAi => format!("{}/v1", self.base_url()),
        };
        let patient = Duration::from_secs(20);
        Provider {
            name: "fake".into(),
            dialect,
            base_url,
            key: KeySource::None,
            headers: Vec::new(),
            timeouts: Timeouts { connect: patient, first_byte: patient, idle: patient },
            cache_diagnostics: false,
        }
    }

    /// Appends an answer to the script.
    pub fn push(&self, reply: Reply) {
        self.shared.script.lock().push(reply);
    }

    /// The requests received so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        self.shared.received.lock().clone()
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.shared.counts.borrow()
    }

    /// Waits until `enough` returns true. Has no timeout of its own.
    pub async fn until(&self, enough: impl FnMut(&Counts) -> bool) {
        // Cannot fail while `self` holds the sender.
        let _ = self.shared.counts.subscribe().wait_for(enough).await;
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let mut number = 0;
        shared.counts.send_modify(|counts| {
            number = counts.connections;
            counts.connections += 1;
        });
        tokio::spawn(serve(stream, number, Arc::clone(shared)));
    }
}

/// The state shared by all connections.
#[derive(Debug)]
pub(crate) struct Shared {
    script: Mutex<Script>,
    received: Mutex<Vec<Received>>,
    counts: watch::Sender<Counts>,
}

impl Shared {
    fn new(script: Script) -> Self {
        let (counts, _) = watch::channel(Counts::default());
        Self { script: Mutex::new(script), received: Mutex::default(), counts }
    }

    /// Records a request, numbers it and returns its answer.
    pub(crate) fn accept(&self, request: &mut Received) -> Reply {
        let mut received = self.received.lock();
        request.number = received.len();
        received.push(request.clone());
        // Under the same lock, so that answers have the order of the requests.
        let reply = self.script.lock().next(request);
        drop(received);
        self.counts.send_modify(|counts| counts.requests += 1);
        reply
    }

    pub(crate) fn abandoned(&self) {
        self.counts.send_modify(|counts| counts.abandoned += 1);
    }
}
