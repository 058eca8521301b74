//! An upstream that responds at once to every request: OpenAI chat completions, as JSON or as a stream. Runs on
//! threads of this process, so that its CPU time is not counted for the gateways.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const USAGE: &str = "\"usage\":{\"prompt_tokens\":24,\"completion_tokens\":3,\"total_tokens\":27,\"prompt_tokens_details\":{\"cached_tokens\":0}}";

/// The upstream. Stops when dropped.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl Upstream {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new().name("upstream".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                tokio::select! {
                    () = accept(&listener) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, _stop: stop })
    }
}

async fn accept(listener: &TcpListener) {
    let (json, stream): (&[u8], &[u8]) = (json().leak(), stream().leak());
    loop {
        let Ok((socket, _)) = listener.accept().await else { continue };
        tokio::spawn(async move {
            // Ignores disconnects.
            let _ = serve(socket, json, stream).await;
        });
    }
}

async fn serve(mut socket: TcpStream, json: &[u8], stream: &[u8]) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut request = Vec::with_capacity(256 * 1024);
    loop {
        request.clear();
        let head = loop {
            if socket.read_buf(&mut request).await? == 0 {
                return Ok(());
            }
            if let Some(end) = request.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
        };
        read_body(&mut socket, &mut request, head).await?;
        let wants_stream = request[head..].windows(13).take(256).any(|window| window == b"\"stream\":true")
            || request[head..].windows(14).take(256).any(|window| window == b"\"stream\": true")
            || request[head..].windows(13).rev().take(256).any(|window| window == b"\"stream\":true");
        socket.write_all(if wants_stream { stream } else { json }).await?;
    }
}

async fn read_body(socket: &mut TcpStream, request: &mut Vec<u8>, head: usize) -> io::Result<()> {
    let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    let is_chunked = text.contains("transfer-encoding: chunked");
    loop {
        let done = match length {
            Some(length) => request.len() >= head + length,
            None => !is_chunked || request.ends_with(b"0\r\n\r\n"),
        };
        if done {
            return Ok(());
        }
        if socket.read_buf(request).await? == 0 {
            return Err(io::Error::other("the client has hung up"));
        }
    }
}

fn json() -> Vec<u8> {
    let body = format!(
        "{{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"gpt-4o\",\"choices\":[{{\"index\":0,\
         \"message\":{{\"role\":\"assistant\",\"content\":\"It is fine.\"}},\"finish_reason\":\"stop\"}}],{USAGE}}}"
    );
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_1\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn stream() -> Vec<u8> {
    let piece = |rest: &str| {
        let data = format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\",{rest}}}\n\n"
        );
        format!("{:x}\r\n{data}\r\n", data.len())
    };
    let word = |word: &str| {
        piece(&format!(
            "\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}\"}},\"finish_reason\":null}}]"
        ))
    };
    let end = piece("\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]");
    let usage = piece(&format!("\"choices\":[],{USAGE}"));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let done = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
    format!("{head}{}{}{}{end}{usage}{done}", word("It "), word("is "), word("fine.")).into_bytes()
}
