//! A collector that refuses, hangs, talks nonsense or is not there: told once, tried again, and never felt by a turn.

use std::time::{Duration, Instant};

use foreword_observe::news::News;
use foreword_observe::otlp::{OtlpSettings, Patience};
use tokio::net::TcpListener;

use crate::collector::{Collector, Fault};
use crate::turn::{Exporting, Turn, settings};

fn record_turn(exporting: &Exporting) {
    Turn::of("m-1", "t-1").events().into_iter().for_each(|event| exporting.recorder.record(event));
}

/// What becomes of a turn with a collector that fails so, and then takes everything.
async fn after(faults: &[Fault]) -> (Collector, Exporting) {
    let collector = Collector::start(faults).await;
    let exporting = Exporting::to(&collector);
    record_turn(&exporting);
    collector.wait_for(faults.len() + 1).await;
    exporting.otlp.stop().await;
    (collector, exporting)
}

fn assert_told_once(told: &[News], why: &str) {
    match told {
        [News::Failing(first), News::Well(_)] => assert!(first.contains(why), "{first}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_may_go_well_another_time_is_sent_again_unchanged() {
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
        assert_told_once(&exporting.told(), why);
    }
}

#[tokio::test]
async fn a_wish_to_be_left_alone_is_obeyed() {
    let began = Instant::now();
    let (_, exporting) = after(&[Fault::Status(503, Some(1))]).await;
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(exporting.otlp.dropped(), 0);
}

#[tokio::test]
async fn what_is_refused_for_good_is_not_sent_again_and_is_counted() {
    for fault in [Fault::Status(400, None), Fault::Status(401, None), Fault::Redirect] {
        let collector = Collector::start(&[fault]).await;
        let exporting = Exporting::to(&collector);
        record_turn(&exporting);
        exporting.otlp.stop().await;
        assert_eq!((collector.requests().len(), exporting.otlp.dropped()), (1, 5), "{fault:?}");
        assert!(matches!(&exporting.told()[..], [News::Failing(_)]), "{fault:?}");
    }
}

#[tokio::test]
async fn spans_that_a_collector_says_it_left_out_are_counted() {
    let collector = Collector::start(&[Fault::Rejects(2)]).await;
    let exporting = Exporting::to(&collector);
    record_turn(&exporting);
    exporting.otlp.stop().await;
    assert_eq!((collector.requests().len(), exporting.otlp.dropped(), exporting.told()), (1, 2, Vec::new()));
}

#[tokio::test]
async fn a_collector_that_is_not_there_is_told_of_once_and_once_when_it_is_back() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let exporting = Exporting::with(settings(&format!("http://{address}")));
    record_turn(&exporting);
    while exporting.told().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let collector = Collector::on(TcpListener::bind(address).await.unwrap(), &[]);
    collector.wait_for(1).await;
    exporting.otlp.stop().await;
    assert_eq!((collector.spans().len(), exporting.otlp.dropped()), (5, 0));
    assert_told_once(&exporting.told(), "refused");
}

#[tokio::test]
async fn a_collector_that_hangs_holds_up_neither_a_turn_nor_the_end_of_the_process() {
    let collector = Collector::start(&[Fault::Hang; 50]).await;
    let patience = Patience { stopping: Duration::from_millis(200), ..settings(&collector.address).patience };
    let timeout = Duration::from_secs(60);
    let exporting = Exporting::with(OtlpSettings { timeout, patience, ..settings(&collector.address) });
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
async fn what_can_not_be_brought_in_time_is_given_up_and_counted() {
    let collector = Collector::start(&[Fault::Status(503, None); 100]).await;
    let patience = Patience { give_up: Duration::from_millis(60), ..settings(&collector.address).patience };
    let exporting = Exporting::with(OtlpSettings { patience, ..settings(&collector.address) });
    record_turn(&exporting);
    while exporting.otlp.dropped() < 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let tries = collector.requests().len();
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert_eq!((collector.requests().len(), exporting.told().len()), (tries, 1));
    exporting.otlp.stop().await;
}
