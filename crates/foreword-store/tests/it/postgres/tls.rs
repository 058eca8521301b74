use foreword_store::error::StoreError;

use super::server::{PrivatePostgres, Stop, open, within};
use crate::contract::server_under_test;

/// A server that speaks TLS with a certificate it made itself, for the name `localhost`, and takes nothing else.
fn server() -> Option<PrivatePostgres> {
    let server = PrivatePostgres::create()?;
    let data = server.data();
    let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3 -subj /CN=localhost \
                -addext subjectAltName=DNS:localhost -keyout server.key -out server.crt";
    server.run(&data, "openssl", &make.split_whitespace().collect::<Vec<_>>());
    server.run(&data, "chmod", &["600", "server.key"]);
    server.configure("ssl = on\n");
    server.write("pg_hba.conf", "hostssl all all 127.0.0.1/32 trust\n");
    server.start_again();
    Some(server)
}

#[test]
fn a_certificate_is_trusted_only_if_it_is_the_one_that_was_named() {
    let Some(server) = server() else { return };
    within(60, async {
        let certificate = server.data().join("server.crt");
        let named = format!("sslmode=require&sslrootcert={}", certificate.display());
        // The certificate is made out to another name, but it is the very one that was named.
        let store = open(&server.url(&named)).await.unwrap();
        store.template().await.unwrap();
        // Nobody this machine trusts has signed it.
        let error = open(&server.url("sslmode=require")).await.unwrap_err();
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
        // One who does not ask gets an encrypted connection all the same.
        open(&server.url("sslmode=prefer")).await.unwrap();
        open(&server.url("")).await.unwrap();
        let error = open(&server.url("sslmode=disable")).await.unwrap_err();
        assert!(error.to_string().contains("no encryption"), "{error}");
    });
}

#[test]
fn another_certificate_than_the_one_named_is_refused() {
    let (Some(server), Some(other)) = (server(), server()) else { return };
    other.stop(Stop::Fast);
    within(60, async {
        let certificate = other.data().join("server.crt");
        for mode in ["require", "prefer", "verify-full"] {
            let options = format!("sslmode={mode}&sslrootcert={}", certificate.display());
            let error = open(&server.url(&options)).await.unwrap_err();
            assert!(error.to_string().contains("certificate"), "{mode}: {error}");
        }
    });
}

#[test]
fn a_server_without_tls_is_good_enough_for_prefer_and_not_for_require() {
    let Some(server) = server_under_test() else { return };
    within(60, async {
        let database = crate::contract::create_database(&server).await;
        open(&format!("{database}&sslmode=prefer")).await.unwrap();
        let error = open(&format!("{database}&sslmode=require")).await.unwrap_err();
        assert!(error.to_string().contains("does not support TLS"), "{error}");
        let error = open(&format!("{database}&sslmode=require&sslrootcert=/nowhere.pem")).await.unwrap_err();
        assert!(error.to_string().contains("`/nowhere.pem` (`sslrootcert`)"), "{error}");
        crate::contract::drop_database(&server, &database).await;
    });
}
