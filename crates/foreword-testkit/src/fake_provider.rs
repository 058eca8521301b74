//! A provider of models on a loopback port that follows a script and remembers what it was asked. It runs on a thread
//! of its own, so that tests with and without a runtime can use it, and ends when it is dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreword_core::provider::{KeySource, Provider, Timeouts, WireDialect};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use crate::connection::serve;
use crate::{Received, Reply, Script};

/// A provider of models that follows a script.
#[derive(Debug)]
pub struct FakeProvider {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Dropped with it, which ends the thread.
    _stop: oneshot::Sender<()>,
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Connections that were opened.
    pub connections: usize,
    /// Requests that were read.
    pub requests: usize,
    /// Requests whose client went away before it had its answer.
    pub abandoned: usize,
}

impl FakeProvider {
    /// Starts one on a free port of the loopback.
    ///
    /// # Errors
    /// If no port or no thread can be had.
    pub fn start(script: impl Into<Script>) -> io::Result<Self> {
        Self::start_on(0, script)
    }

    /// Starts one on this port of the loopback.
    ///
    /// # Errors
    /// If the port is taken or no thread can be had.
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

    /// Where it is, as Anthropic's clients take it: without `/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A row for it in the configuration of providers, called `fake`, with a base URL as the dialect takes it.
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

    /// One more answer at the end of the list.
    pub fn push(&self, reply: Reply) {
        lock(&self.shared.script).push(reply);
    }

    /// What it was asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        lock(&self.shared.received).clone()
    }

    /// What has happened so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.shared.counts.borrow()
    }

    /// Waits until enough has happened. Give it a time limit of your own.
    pub async fn until(&self, enough: impl FnMut(&Counts) -> bool) {
        // It can't fail while `self` holds the other end.
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

/// What the connections share.
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

    /// Remembers a request, gives it its number, and says what is answered.
    pub(crate) fn accept(&self, request: &mut Received) -> Reply {
        let mut received = lock(&self.received);
        request.number = received.len();
        received.push(request.clone());
        // In the same order as the requests, whatever the connections do meanwhile.
        let reply = lock(&self.script).next(request);
        drop(received);
        self.counts.send_modify(|counts| counts.requests += 1);
        reply
    }

    pub(crate) fn abandoned(&self) {
        self.counts.send_modify(|counts| counts.abandoned += 1);
    }
}

/// A panic in a closure of the script must not hide what was received.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
