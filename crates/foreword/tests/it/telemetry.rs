//! Metrics in a file and traces for a collector.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Home, PEOPLE};

/// A collector that accepts everything.
struct Collector {
    address: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<_>>> = Arc::default();
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                std::thread::spawn(move || serve(stream, &kept));
            }
        });
        Self { address, requests }
    }

    fn spans(&self) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        let scopes = requests
            .iter()
            .flat_map(|(_, body)| body["resourceSpans"][0]["scopeSpans"].as_array().unwrap().clone());
        scopes.flat_map(|scope| scope["spans"].as_array().unwrap().clone()).collect()
    }
}

fn serve(stream: TcpStream, kept: &Mutex<Vec<(String, Value)>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = number.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        kept.lock().unwrap().push((head, serde_json::from_slice(&body).unwrap()));
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
    }
}

#[test]
fn metrics_and_traces_contain_no_message_text() {
    let collector = Collector::start();
    let home = Home::made_for("sovereign");
    let config = format!(
        "agent: {{ blueprint: sovereign, model: offline/echo }}\ninbox: {{ gather_seconds: 0 }}\n\
         logging:\n  metrics_file: telemetry/foreword.prom\n  otlp: {{ endpoint: \"{}\", headers_env: OTEL_HEADERS, service_name: harbour }}\n",
        collector.address
    );
    home.write("foreword.yaml", config);
    home.write("telemetry/.keep", "");
    home.succeed(&["inbox", "stage", "--from", "0xb0b", "Do you like marmalade?"]);
    let mut command = home.command(&["run"]);
    command.env("OTEL_HEADERS", "authorization=Bearer%20abc").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("answered with")), "it runs");
    let status =
        std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(status.success() && child.wait().unwrap().success());

    let text = std::fs::read_to_string(home.path().join("telemetry/foreword.prom")).unwrap();
    for line in [
        "foreword_turns_total{outcome=\"done\"} 1",
        "foreword_turns_running 0",
        "foreword_spans_dropped_total 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(
        text.contains("foreword_model_calls_total{provider=\"offline\",model=\"offline/echo\"}"),
        "{text}"
    );
    assert!(!text.contains("b0b") && !text.contains("marmalade"), "{text}");

    let spans = collector.spans();
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"message") && names.contains(&"chat echo"), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("invoke_agent ")), "{names:?}");
    assert!(
        spans.iter().all(|span| span["traceId"] == spans[0]["traceId"]),
        "one message, one trace: {names:?}"
    );
    for (head, body) in collector.requests.lock().unwrap().iter() {
        assert!(head.contains("authorization: Bearer abc"), "{head}");
        let body = body.to_string();
        assert!(body.contains("harbour") && !body.contains("marmalade") && !body.contains("b0b"), "{body}");
    }
}

fn with_logging(logging: &str) -> Home {
    Home::with(&[(
        "foreword.yaml",
        &format!("{PEOPLE}agent: {{ model: offline/echo }}\nlogging: {logging}\n"),
    )])
}

#[test]
fn missing_collector_is_logged_without_failing_turns() {
    let home = with_logging("{ otlp: { endpoint: \"http://127.0.0.1:9\" } }");
    let began = Instant::now();
    let ran = home.run_with_input(&["chat"], b"!say Good morning.\n");
    assert!(ran.code == 0 && ran.stdout.contains("Good morning."), "{}{}", ran.stdout, ran.stderr);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let database = rusqlite::Connection::open(home.path().join(".foreword/foreword.db")).unwrap();
    let failed = "SELECT COUNT(*), MAX(error) FROM events WHERE event_type = 'export_failed'";
    let (count, why) = database
        .query_row(failed, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?)))
        .unwrap();
    assert!(
        count == 1 && why.as_deref().unwrap().contains("http://127.0.0.1:9/v1/traces"),
        "{count} {why:?}"
    );
}

#[test]
fn missing_headers_variable_is_an_error() {
    let home = with_logging("{ otlp: { endpoint: \"http://127.0.0.1:9\", headers_env: OTEL_HEADERS } }");
    let refused = home.refused(1, &["tick"]);
    assert!(refused.contains("`OTEL_HEADERS`") && refused.contains("remove `headers_env`"), "{refused}");
    let output = home.command(&["tick"]).env("OTEL_HEADERS", "s3cret").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("header number 1"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}
