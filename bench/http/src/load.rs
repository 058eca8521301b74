//! The load generator: keep-alive connections, each with one request at a time. A minimal HTTP/1.1 client, to cost
//! little CPU.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Found;

/// How large a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Small,
    /// Of 200 KB.
    Large,
}

impl Body {
    /// A chat completion of that size.
    pub(crate) fn json(self) -> String {
        self.with("")
    }

    /// The same, with another member.
    pub(crate) fn with(self, member: &str) -> String {
        let text = match self {
            Self::Small => "What is the weather like?".to_owned(),
            Self::Large => {
                "It was a dark and stormy night, and the \\\"rain\\\" fell in torrents. ".repeat(3_000)
            }
        };
        format!(
            "{{\"model\":\"gpt-4o\",{member}\"messages\":[{{\"role\":\"system\",\"content\":\"Be kind.\"}},\
             {{\"role\":\"user\",\"content\":\"{text}\"}}]}}"
        )
    }
}

/// The measured latencies.
#[derive(Debug, Clone, Default)]
pub(crate) struct Load {
    /// The times to the last byte, sorted.
    whole: Vec<Duration>,
    /// The times to the first byte of the body, sorted.
    first: Vec<Duration>,
    elapsed: Duration,
}

impl Load {
    pub(crate) fn count(&self) -> usize {
        self.whole.len()
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.count() as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The latency at a percentile.
    pub(crate) fn percentile(&self, hundredth: usize) -> Duration {
        at(&self.whole, hundredth)
    }

    /// The time to the first byte at a percentile.
    pub(crate) fn first_byte(&self, hundredth: usize) -> Duration {
        at(&self.first, hundredth)
    }
}

fn at(sorted: &[Duration], hundredth: usize) -> Duration {
    sorted
        .get((sorted.len() * hundredth / 100).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

/// Sends requests on a number of connections for a duration.
pub(crate) async fn run(
    address: SocketAddr,
    request: &[u8],
    connections: usize,
    time: Duration,
) -> Found<Load> {
    run_each(address, &vec![request.to_vec(); connections], time).await
}

/// Sends each request again and again on its own connection for a duration.
pub(crate) async fn run_each(address: SocketAddr, requests: &[Vec<u8>], time: Duration) -> Found<Load> {
    let until = Instant::now() + time;
    ask(address, requests, Arc::new(move || Instant::now() < until)).await
}

/// Sends a number of requests in total on a number of connections.
pub(crate) async fn run_so_many(
    address: SocketAddr,
    request: &[u8],
    connections: usize,
    requests: usize,
) -> Found<Load> {
    let left = AtomicUsize::new(requests);
    let more =
        move || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
    ask(address, &vec![request.to_vec(); connections], Arc::new(more)).await
}

async fn ask(
    address: SocketAddr,
    requests: &[Vec<u8>],
    more: Arc<dyn Fn() -> bool + Send + Sync>,
) -> Found<Load> {
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for request in requests {
        let (request, more) = (request.clone(), Arc::clone(&more));
        tasks.spawn(async move { one_connection(address, &request, &*more).await });
    }
    let mut load = Load::default();
    while let Some(done) = tasks.join_next().await {
        let (whole, first) = done??;
        load.whole.extend(whole);
        load.first.extend(first);
    }
    load.elapsed = started.elapsed();
    load.whole.sort_unstable();
    load.first.sort_unstable();
    Ok(load)
}

type Times = (Vec<Duration>, Vec<Duration>);

async fn one_connection(
    address: SocketAddr,
    request: &[u8],
    more: &(dyn Fn() -> bool + Send + Sync),
) -> io::Result<Times> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut whole, mut first) = (Vec::new(), Vec::new());
    let mut answer = Vec::with_capacity(64 * 1024);
    while more() {
        let began = Instant::now();
        stream.write_all(request).await?;
        first.push(read_answer(&mut stream, &mut answer, began).await?);
        whole.push(began.elapsed());
    }
    Ok((whole, first))
}

/// Reads one response; returns the time to the first byte of its body.
async fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>, began: Instant) -> io::Result<Duration> {
    answer.clear();
    let head = loop {
        if stream.read_buf(answer).await? == 0 {
            return Err(io::Error::other("the server has hung up"));
        }
        if let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
    if !text.starts_with("http/1.1 200") {
        let _ = stream.read_buf(answer).await?;
        return Err(io::Error::other(format!("refused: {}", String::from_utf8_lossy(answer))));
    }
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    let mut first = (answer.len() > head).then(|| began.elapsed());
    loop {
        let done = match length {
            Some(length) => answer.len() >= head + length,
            None => answer.ends_with(b"0\r\n\r\n"),
        };
        if done {
            return Ok(first.unwrap_or_else(|| began.elapsed()));
        }
        if stream.read_buf(answer).await? == 0 {
            return Err(io::Error::other("the server has hung up"));
        }
        first.get_or_insert_with(|| began.elapsed());
    }
}
