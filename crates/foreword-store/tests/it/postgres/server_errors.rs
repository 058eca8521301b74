use foreword_store::error::StoreError;
use foreword_store::templates::NewTemplate;

use super::server::{PrivatePostgres, Stop, open, within};
use crate::contract::{administer, create_database, drop_database, now, server_under_test};

/// Makes the first `times` inserts fail with this code. A sequence counts them, because it is not rolled back.
fn failing(code: &str, times: u32) -> String {
    format!(
        "CREATE SEQUENCE attempts;
         CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('attempts') <= {times} THEN RAISE EXCEPTION 'on purpose' USING ERRCODE = '{code}'; END IF;
             RETURN NEW;
         END $$;
         CREATE TRIGGER failing BEFORE INSERT ON templates FOR EACH ROW EXECUTE FUNCTION fail();"
    )
}

async fn written_with(code: &str, times: u32) -> Option<Result<u64, StoreError>> {
    let server = server_under_test()?;
    let database = create_database(&server).await;
    let store = open(&database).await.unwrap();
    administer(&database, &failing(code, times)).await;
    let written = store.add_template(NewTemplate::new("one", "alice", now())).await;
    let stored = store.template_history().await.unwrap().len();
    assert_eq!(stored, usize::from(written.is_ok()));
    drop_database(&server, &database).await;
    Some(written.map(|template| template.version))
}

#[test]
fn conflicting_operation_is_retried() {
    within(60, async {
        for code in ["40001", "40P01"] {
            if let Some(written) = written_with(code, 4).await {
                assert_eq!(written.unwrap(), 1);
            }
        }
    });
}

#[test]
fn retries_are_limited() {
    within(60, async {
        if let Some(written) = written_with("40001", 1_000).await {
            assert!(matches!(written, Err(StoreError::Engine { .. })), "{written:?}");
        }
    });
}

#[test]
fn full_disk_error_is_classified() {
    within(60, async {
        if let Some(written) = written_with("53100", 1).await {
            assert!(matches!(written, Err(StoreError::Full { .. })), "{written:?}");
        }
    });
}

#[test]
fn terminated_connection_is_replaced() {
    within(60, async {
        for code in ["57P01", "08006"] {
            if let Some(written) = written_with(code, 2).await {
                assert_eq!(written.unwrap(), 1);
            }
        }
    });
}

#[test]
fn standby_server_is_reported() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(60, async {
        let store = server.open().await;
        store.add_template(NewTemplate::new("one", "alice", now())).await.unwrap();
        tokio::task::block_in_place(|| {
            server.stop(Stop::Fast);
            server.write("standby.signal", "");
            server.start_again();
        });
        let error = store.add_template(NewTemplate::new("two", "alice", now())).await.unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
        assert_eq!(store.template().await.unwrap().unwrap().text, "one");
        let error = open(&server.url("")).await.unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    });
}
