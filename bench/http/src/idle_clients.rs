//! A thousand idle clients on open connections.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::table::Table;
use crate::target::Foreword;
use crate::{Found, Outcome};

const CLIENTS: usize = 1_000;

pub(crate) fn measure(runtime: &Runtime, foreword: &Foreword, table: &mut Table) -> Outcome {
    let before = foreword.observe.memory();
    let clients = runtime.block_on(connect(foreword.address(), &foreword.token))?;
    std::thread::sleep(Duration::from_secs(2));
    let taken = foreword.observe.memory() - before;
    table.note(&format!(
        "{} WebSocket clients that hear nothing: {taken:.1} MB (aim: at most 40)",
        clients.len()
    ));
    Ok(())
}

async fn connect(address: SocketAddr, token: &str) -> Found<Vec<TcpStream>> {
    let request = format!(
        "GET /ws HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = TcpStream::connect(address).await?;
        client.write_all(request.as_bytes()).await?;
        let mut answer = [0; 1024];
        let read = client.read(&mut answer).await?;
        if !answer[..read].starts_with(b"HTTP/1.1 101") {
            return Err(format!("refused: {}", String::from_utf8_lossy(&answer[..read])).into());
        }
        clients.push(client);
    }
    Ok(clients)
}
