//! One connection: reads requests and performs the steps of the answers. Implements the subset of HTTP/1.1 that
//! provider clients use.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::Received;
use crate::fake_provider::Shared;
use crate::wire::{Step, steps};

/// The maximum size of a request body.
const MAX_BODY: usize = 64 << 20;

/// Serves a connection until one side closes it.
pub(crate) async fn serve(stream: TcpStream, number: usize, shared: Arc<Shared>) {
    // Without it, each small chunk would wait for the acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    let (reader, writer) = stream.into_split();
    let mut connection = Connection { reader: BufReader::new(reader), writer, number };
    while let Ok(Some(mut request)) = connection.read_request().await {
        let reply = shared.accept(&mut request);
        if connection.perform(steps(&reply, &request)).await.is_err() {
            shared.abandoned();
            return;
        }
        if request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            return;
        }
    }
}

struct Connection {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    number: usize,
}

/// The client closed the connection before the end of the answer.
struct Gone;

impl Connection {
    async fn read_request(&mut self) -> io::Result<Option<Received>> {
        if self.reader.fill_buf().await?.is_empty() {
            return Ok(None);
        }
        let first_byte_at = Instant::now();
        let first = self.read_line().await?;
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut request = Received {
            number: 0,
            connection: self.number,
            first_byte_at,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let line = self.read_line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if request.header("expect").is_some() {
            self.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        self.read_body(&mut request).await?;
        Ok(Some(request))
    }

    async fn read_body(&mut self, request: &mut Received) -> io::Result<()> {
        let length = request.header("content-length").map(str::parse::<usize>).transpose();
        let length = length.map_err(io::Error::other)?;
        if let Some(length) = length {
            return self.read_bytes(length, &mut request.body).await;
        }
        if request.header("transfer-encoding").is_none() {
            return Ok(());
        }
        loop {
            let line = self.read_line().await?;
            let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16);
            let size = size.map_err(io::Error::other)?;
            self.read_bytes(size, &mut request.body).await?;
            self.read_line().await?;
            if size == 0 {
                return Ok(());
            }
        }
    }

    async fn read_bytes(&mut self, count: usize, body: &mut Vec<u8>) -> io::Result<()> {
        let from = body.len();
        if from + count > MAX_BODY {
            return Err(io::Error::other("the request is too long"));
        }
        body.resize(from + count, 0);
        self.reader.read_exact(&mut body[from..]).await?;
        Ok(())
    }

    async fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).await?;
        Ok(line.trim_end().to_owned())
    }

    async fn perform(&mut self, steps: Vec<Step>) -> Result<(), Gone> {
        for step in steps {
            match step {
                Step::Rest(rest) => self.rest(rest).await?,
                Step::Send(bytes) => self.writer.write_all(&bytes).await.map_err(|_| Gone)?,
                Step::Silence => loop {
                    self.rest(Duration::from_secs(3600)).await?;
                },
                Step::HangUp => {
                    let _ = self.writer.shutdown().await;
                    // Wait for the client to close its half: only then do its reads end on every platform.
                    while matches!(self.reader.fill_buf().await, Ok(bytes) if !bytes.is_empty()) {
                        let seen = self.reader.buffer().len();
                        self.reader.consume(seen);
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Waits, unless the client closes the connection.
    async fn rest(&mut self, rest: Duration) -> Result<(), Gone> {
        tokio::select! {
            () = tokio::time::sleep(rest) => Ok(()),
            () = gone(&mut self.reader) => Err(Gone),
        }
    }
}

/// Returns when the client has closed the connection.
async fn gone(reader: &mut BufReader<OwnedReadHalf>) {
    match reader.fill_buf().await {
        Ok(bytes) if !bytes.is_empty() => std::future::pending().await,
        _ => {}
    }
}
