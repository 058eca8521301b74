use std::time::Duration;

use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::templates::NewTemplate;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::server::{PrivatePostgres, Stop, open, within};
use crate::contract::{administer, create_database, drop_database, now, server_under_test};

#[test]
fn concurrent_starts_create_the_tables_once() {
    let Some(server) = server_under_test() else { return };
    within(60, async {
        let database = create_database(&server).await;
        let mut nodes = JoinSet::new();
        for _ in 0..8 {
            let database = database.clone();
            nodes.spawn(async move { open(&database).await });
        }
        let nodes: Vec<Store> = nodes.join_all().await.into_iter().map(Result::unwrap).collect();
        for (number, node) in nodes.iter().enumerate() {
            let written = node.add_template(NewTemplate::new(format!("{number}"), "alice", now())).await;
            assert_eq!(written.unwrap().version, number as u64 + 1);
        }
        drop_database(&server, &database).await;
    });
}

#[test]
fn newer_schema_is_refused_and_unchanged() {
    let Some(server) = server_under_test() else { return };
    within(60, async {
        let database = create_database(&server).await;
        drop(open(&database).await.unwrap());
        let newer = "INSERT INTO schema_migrations VALUES (4000, 'from the future', '')";
        administer(&database, newer).await;
        let error = open(&database).await.unwrap_err();
        assert!(matches!(error, StoreError::NewerSchema { found: 4_000, .. }), "{error}");
        drop_database(&server, &database).await;
    });
}

#[test]
fn foreign_database_is_refused_and_unchanged() {
    let Some(server) = server_under_test() else { return };
    within(60, async {
        for (table, named) in [
            ("CREATE TABLE schema_migrations (version TEXT)", "schema_migrations"),
            ("CREATE TABLE templates (id INT)", "templates"),
        ] {
            let database = create_database(&server).await;
            administer(&database, table).await;
            let error = open(&database).await.unwrap_err();
            assert!(matches!(&error, StoreError::Foreign { .. }), "{error}");
            assert!(error.to_string().contains(named), "{error}");
            // We left no tables behind.
            administer(&database, "CREATE TABLE write_marks (); CREATE TABLE turns ();").await;
            drop_database(&server, &database).await;
        }
    });
}

#[test]
fn database_without_utf8_is_refused() {
    let Some(server) = server_under_test() else { return };
    within(60, async {
        let database = create_database(&server).await;
        drop_database(&server, &database).await;
        let name = database.split('?').next().unwrap().rsplit('/').next().unwrap();
        let create = format!("CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'");
        administer(&server, &create).await;
        let error = open(&database).await.unwrap_err().to_string();
        assert!(error.contains("LATIN1") && error.contains("createdb --encoding UTF8"), "{error}");
        drop_database(&server, &database).await;
    });
}

#[test]
fn login_error_hides_the_password() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(60, async {
        administer(&server.url(""), "ALTER USER postgres PASSWORD 'right'").await;
        tokio::task::block_in_place(|| {
            server.stop(Stop::Fast);
            server.write("pg_hba.conf", "host all all 127.0.0.1/32 scram-sha-256\n");
            server.start_again();
        });
        let port = server.port;
        let url = |user: &str, host: &str, database: &str| format!("postgres://{user}@{host}/{database}");
        let here = format!("127.0.0.1:{port}");
        for (url, said) in [
            (url("postgres:s3cret", &here, "postgres"), "password authentication failed"),
            (url("postgres", &here, "postgres"), "password missing"),
            (url("postgres:right", &here, "nowhere"), "createdb"),
            (url("postgres:s3cret", "127.0.0.1:1", "postgres"), "refused"),
            (url("postgres:s3cret", "nowhere.invalid", "postgres"), "connecting"),
        ] {
            let error = open(&url).await.unwrap_err();
            assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
            let shown = format!("{error} {error:?} {}", error.help());
            assert!(shown.contains(said) && !shown.contains("s3cret"), "{shown}");
        }
        open(&url("postgres:right", &here, "postgres")).await.unwrap();
    });
}

#[test]
fn starting_server_is_awaited() {
    let Some(server) = PrivatePostgres::create() else { return };
    // It stays in recovery until promoted, and accepts no connections meanwhile.
    server.configure("hot_standby = off\n");
    server.write("standby.signal", "");
    server.start_again();
    within(60, async {
        let url = server.url("");
        let opening = tokio::spawn(async move { open(&url).await });
        sleep(Duration::from_secs(1)).await;
        assert!(!opening.is_finished());
        tokio::task::block_in_place(|| server.promote());
        opening.await.unwrap().unwrap();
    });
}
