//! A fast provider on a loopback port. On its own thread it records when the first byte of a request arrives and
//! sends a fixed response, at once or paced. A minimal HTTP/1.1 server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use foreword_core::provider::{KeySource, Provider, Timeouts, WireDialect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::MissedTickBehavior;

/// The prefix of a request's number, in its text or in a header.
pub(crate) const MARK: &str = "request-number-";

/// The pace of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    AtOnce,
    /// In chunks at an interval.
    Drips {
        pieces: u32,
        every: Duration,
    },
}

/// The provider. Stops when dropped.
pub(crate) struct Loopback {
    address: SocketAddr,
    pace: Arc<Mutex<Pace>>,
    seen: Arc<Mutex<Seen>>,
    _stop: oneshot::Sender<()>,
}

/// What was measured so far.
#[derive(Default)]
struct Seen {
    /// When the first byte of each request arrived, by its number.
    first_bytes: Vec<Option<Instant>>,
    /// The newest request.
    body: Vec<u8>,
    /// The longest time between two chunks of one response, when sent.
    longest_rest: Duration,
}

impl Loopback {
    pub(crate) fn start(dialect: WireDialect, pace: Pace) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (pace, seen) = (Arc::new(Mutex::new(pace)), Arc::new(Mutex::new(Seen::default())));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (pacing, watching) = (Arc::clone(&pace), Arc::clone(&seen));
        thread::Builder::new().name("loopback".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                tokio::select! {
                    () = accept(&listener, dialect, pacing, &watching) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, pace, seen, _stop: stop })
    }

    /// Its entry in the provider configuration.
    pub(crate) fn provider(&self, dialect: WireDialect) -> Provider {
        Provider {
            name: "loopback".into(),
            dialect,
            base_url: format!("http://{}/v1", self.address),
            key: KeySource::None,
            headers: Vec::new(),
            timeouts: Timeouts::default(),
            cache_diagnostics: false,
        }
    }

    /// Sets the pace of later responses.
    pub(crate) fn set_pace(&self, pace: Pace) {
        *lock(&self.pace) = pace;
    }

    /// The URL for a bare client. Any path works.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// When the first byte of a request arrived.
    pub(crate) fn first_byte(&self, number: usize) -> Option<Instant> {
        lock(&self.seen).first_bytes.get(number).copied().flatten()
    }

    /// The newest request's bytes.
    pub(crate) fn newest_body(&self) -> Vec<u8> {
        lock(&self.seen).body.clone()
    }

    /// Takes the longest time between two chunks of one response since the last call, when sent.
    pub(crate) fn take_longest_rest(&self) -> Duration {
        std::mem::take(&mut lock(&self.seen).longest_rest)
    }
}

async fn accept(
    listener: &TcpListener,
    dialect: WireDialect,
    pace: Arc<Mutex<Pace>>,
    seen: &Arc<Mutex<Seen>>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (pace, seen) = (Arc::clone(&pace), Arc::clone(seen));
        tokio::spawn(async move {
            // Ignores disconnects.
            let _ = serve(stream, dialect, &pace, &seen).await;
        });
    }
}

async fn serve(
    mut stream: TcpStream,
    dialect: WireDialect,
    pace: &Mutex<Pace>,
    seen: &Mutex<Seen>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    while let Some((first_byte, body_from)) = read_request(&mut stream, &mut request).await? {
        remember(seen, &request, first_byte, body_from);
        let prompt_bytes = request.len() - body_from;
        // Frees our memory, since the clients' memory is measured.
        request = Vec::new();
        stream.write_all(HEAD.as_bytes()).await?;
        let pace = *lock(pace);
        match pace {
            Pace::AtOnce => {
                let all =
                    [beginning(dialect, prompt_bytes), piece(dialect).to_owned(), end(dialect).to_owned()];
                let all: String = all.iter().map(|part| chunk(part)).collect();
                stream.write_all(format!("{all}0\r\n\r\n").as_bytes()).await?;
            }
            Pace::Drips { pieces, every } => {
                stream.write_all(chunk(&beginning(dialect, prompt_bytes)).as_bytes()).await?;
                drip(&mut stream, &chunk(piece(dialect)), pieces, every, seen).await?;
                stream.write_all(format!("{}0\r\n\r\n", chunk(end(dialect))).as_bytes()).await?;
            }
        }
    }
    Ok(())
}

/// Reads one request into `request`: when its first byte came, and where its body begins. `None` at the end.
async fn read_request(stream: &mut TcpStream, request: &mut Vec<u8>) -> io::Result<Option<(Instant, usize)>> {
    request.clear();
    if stream.read_buf(request).await? == 0 {
        return Ok(None);
    }
    let first_byte = Instant::now();
    let body_from = loop {
        match request.windows(4).position(|window| window == b"\r\n\r\n") {
            Some(end) => break end + 4,
            None if stream.read_buf(request).await? == 0 => return Ok(None),
            None => {}
        }
    };
    let length = content_length(&request[..body_from]).ok_or_else(|| io::Error::other("no length"))?;
    while request.len() < body_from + length {
        if stream.read_buf(request).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some((first_byte, body_from)))
}

fn content_length(head: &[u8]) -> Option<usize> {
    let head = std::str::from_utf8(head).ok()?;
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })
}

fn remember(seen: &Mutex<Seen>, request: &[u8], first_byte: Instant, body_from: usize) {
    let number = number(&request[..body_from]).or_else(|| number(&request[body_from..]));
    let mut seen = lock(seen);
    if let Some(number) = number {
        if seen.first_bytes.len() <= number {
            seen.first_bytes.resize(number + 1, None);
        }
        seen.first_bytes[number] = Some(first_byte);
    }
    let Seen { body, .. } = &mut *seen;
    body.clear();
    body.extend_from_slice(&request[body_from..]);
}

/// The number after the last mark in a text.
fn number(text: &[u8]) -> Option<usize> {
    let at = text.windows(MARK.len()).rposition(|window| window == MARK.as_bytes())? + MARK.len();
    let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

async fn drip(
    stream: &mut TcpStream,
    piece: &str,
    pieces: u32,
    every: Duration,
    seen: &Mutex<Seen>,
) -> io::Result<()> {
    let mut pace = tokio::time::interval(every);
    // A late chunk must not be followed by an early one: gaps are measured.
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last: Option<Instant> = None;
    for _ in 0..pieces {
        pace.tick().await;
        let now = Instant::now();
        let rest = last.replace(now).map(|last| now - last);
        stream.write_all(piece.as_bytes()).await?;
        if let Some(rest) = rest {
            let mut seen = lock(seen);
            seen.longest_rest = seen.longest_rest.max(rest);
        }
    }
    Ok(())
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// The first event. Reports usage like a provider: four bytes per token, nearly all cached.
fn beginning(dialect: WireDialect, prompt_bytes: usize) -> String {
    let cached = prompt_bytes / 4;
    match dialect {
        WireDialect::Anthropic => format!(
            "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"msg_1\",\"role\":\"assistant\",\
             \"content\":[],\"usage\":{{\"input_tokens\":20,\"cache_read_input_tokens\":{cached},\"output_tokens\":1}}}}}}\n\n\
             event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\
             \"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n"
        ),
        WireDialect::OpenAi => format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":\"\"}}}}],\
             \"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":60,\
             \"prompt_tokens_details\":{{\"cached_tokens\":{cached}}}}}}}\n\n",
            cached + 20
        ),
    }
}

/// An event with a few words.
fn piece(dialect: WireDialect) -> &'static str {
    match dialect {
        WireDialect::Anthropic => concat!(
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
            "\"delta\":{\"type\":\"text_delta\",\"text\":\"Noon, or a little later. \"}}\n\n"
        ),
        WireDialect::OpenAi => {
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Noon, or a little later. \"}}]}\n\n"
        }
    }
}

/// The last events.
fn end(dialect: WireDialect) -> &'static str {
    match dialect {
        WireDialect::Anthropic => concat!(
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},",
            "\"usage\":{\"output_tokens\":60}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
        ),
        WireDialect::OpenAi => concat!(
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n"
        ),
    }
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
