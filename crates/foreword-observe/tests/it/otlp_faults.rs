//! A collector that rejects, hangs, sends garbage or is unavailable: reported once, retried, without effect on turns.

use std::time::{Duration, Instant};

use foreword_observe::export_status::ExportStatus;
use foreword_observe::otlp::{ExportTimeouts, OtlpSettings};
use tokio::net::TcpListener;

use crate::collector::{Collector, Fault};
use crate::turn::{Exporting, Turn, settings};

fn record_turn(exporting: &Exporting) {
    Turn::of("m-1", "t-1").events().into_iter().for_each(|event| exporting.recorder.record(event));
}

/// Exports a turn to a collector with these faults.
async fn after(faults: &[Fault]) -> (Collector, Exporting) {
    let collector = Collector::start(faults).await;
    let exporting = Exporting::to(&collector);
    record_turn(&exporting);
    collector.wait_for(faults.len() + 1).await;
    exporting.otlp.stop().await;
    (collector, exporting)
}

fn assert_reported_once(reported: &[ExportStatus], why: &str) {
    match reported {
        [ExportStatus::Failing(first), ExportStatus::Recovered(_)] => assert!(first.contains(why), "{first}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn temporary_failure_is_retried_unchanged() {
    for (faults, why) in [
        ([Fault::Status(503, None), Fault::Status(503, None)], "HTTP 503"),
        ([Fault::Status(429, Some(0)), Fault::Status(502, None)], "HTTP 429"),
        ([Fault::Garbage, Fault::Garbage], ""),
        ([Fault::Hang, Fault::Status(504, None)], "no answer in time"),
    ] {
        let (collector, exporting) = after(&faults).await;
        let requests = collector.requests();
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|request| request.body == requests[0].body));
        assert_eq!(exporting.otlp.dropped(), 0);
        assert_reported_once(&exporting.reported(), why);
    }
}

#[tokio::test]
async fn retry_after_is_respected() {
    let began = Instant::now();
    let (_, exporting) = after(&[Fault::Status(503, Some(1))]).await;
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(exporting.otlp.dropped(), 0);
}

#[tokio::test]
async fn permanent_rejection_is_counted_and_not_retried() {
    for fault in [Fault::Status(400, None), Fault::Status(401, None), Fault::Redirect] {
        let collector = Collector::start(&[fault]).await;
        let exporting = Exporting::to(&collector);
        record_turn(&exporting);
        exporting.otlp.stop().await;
        assert_eq!((collector.requests().len(), exporting.otlp.dropped()), (1, 5), "{fault:?}");
        assert!(matches!(&exporting.reported()[..], [ExportStatus::Failing(_)]), "{fault:?}");
    }
}

#[tokio::test]
async fn rejected_spans_are_counted() {
    let collector = Collector::start(&[Fault::Rejects(2)]).await;
    let exporting = Exporting::to(&collector);
    record_turn(&exporting);
    exporting.otlp.stop().await;
    assert_eq!(
        (collector.requests().len(), exporting.otlp.dropped(), exporting.reported()),
        (1, 2, Vec::new())
    );
}

#[tokio::test]
async fn unavailable_collector_is_reported_once_each_way() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let exporting = Exporting::with(settings(&format!("http://{address}")));
    record_turn(&exporting);
    while exporting.reported().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let collector = Collector::on(TcpListener::bind(address).await.unwrap(), &[]);
    collector.wait_for(1).await;
    exporting.otlp.stop().await;
    assert_eq!((collector.spans().len(), exporting.otlp.dropped()), (5, 0));
    assert_reported_once(&exporting.reported(), "refused");
}

#[tokio::test]
async fn hanging_collector_delays_neither_turns_nor_shutdown() {
    let collector = Collector::start(&[Fault::Hang; 50]).await;
    let timeouts =
        ExportTimeouts { stopping: Duration::from_millis(200), ..settings(&collector.address).timeouts };
    let timeout = Duration::from_secs(60);
    let exporting = Exporting::with(OtlpSettings { timeout, timeouts, ..settings(&collector.address) });
    record_turn(&exporting);
    collector.wait_for(1).await;
    let began = Instant::now();
    for _ in 0..2_000 {
        record_turn(&exporting);
    }
    assert!(exporting.otlp.dropped() > 0, "what does not fit is counted");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let began = Instant::now();
    exporting.otlp.stop().await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn late_exports_are_dropped_and_counted() {
    let collector = Collector::start(&[Fault::Status(503, None); 100]).await;
    let timeouts =
        ExportTimeouts { give_up: Duration::from_millis(60), ..settings(&collector.address).timeouts };
    let exporting = Exporting::with(OtlpSettings { timeouts, ..settings(&collector.address) });
    record_turn(&exporting);
    while exporting.otlp.dropped() < 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let tries = collector.requests().len();
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert_eq!((collector.requests().len(), exporting.reported().len()), (tries, 1));
    exporting.otlp.stop().await;
}
