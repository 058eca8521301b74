//! A minimal blocking HTTP client for preparing a measurement.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Found;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Posts JSON with a token, and returns the body of the response.
pub(crate) fn post(address: SocketAddr, token: &str, path: &str, body: &str) -> Found<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(&request(address, token, path, body, "close"))?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    let response = String::from_utf8_lossy(&response);
    let (head, body) = response.split_once("\r\n\r\n").ok_or("no response")?;
    if head.starts_with("HTTP/1.1 2") {
        Ok(body.to_owned())
    } else {
        Err(format!("{path}: {response}").into())
    }
}

/// A complete request.
pub(crate) fn request(address: SocketAddr, token: &str, path: &str, body: &str, connection: &str) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         connection: {connection}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Creates a conversation and returns its id.
pub(crate) fn create_conversation(address: SocketAddr, token: &str) -> Found<String> {
    let created = post(address, token, "/api/v1/conversations", "{}")?;
    let id = created.split_once("\"id\":\"").and_then(|(_, rest)| rest.split_once('"'));
    id.map(|(id, _)| id.to_owned()).ok_or_else(|| format!("no id in {created}").into())
}
