use foreword_store::error::StoreError;

use super::server::{PrivatePostgres, Stop, open, within};
use crate::contract::server_under_test;

/// A server with a self-signed certificate for `localhost` that only accepts TLS.
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
fn only_the_pinned_certificate_is_trusted() {
    let Some(server) = server() else { return };
    within(60, async {
        let certificate = server.data().join("server.crt");
        let named = format!("sslmode=require&sslrootcert={}", certificate.display());
        // The host name does not match, but this exact certificate is pinned.
        let store = open(&server.url(&named)).await.unwrap();
        store.template().await.unwrap();
        // No trusted authority has signed it.
        let error = open(&server.url("sslmode=require")).await.unwrap_err();
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
        // `prefer` accepts any certificate.
        open(&server.url("sslmode=prefer")).await.unwrap();
        open(&server.url("")).await.unwrap();
        let error = open(&server.url("sslmode=disable")).await.unwrap_err();
        assert!(error.to_string().contains("no encryption"), "{error}");
    });
}

#[test]
fn unpinned_certificate_is_refused() {
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
fn server_without_tls_works_for_prefer_only() {
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

#[test]
fn scram_login_is_bound_to_the_tls_channel() {
    let Some(server) = server() else { return };
    let port = server.port.to_string();
    let password =
        ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-c", "ALTER ROLE postgres PASSWORD 'x'"];
    server.run(&server.data(), "psql", &password);
    server.write("pg_hba.conf", "hostssl all all 127.0.0.1/32 scram-sha-256\n");
    server.stop(Stop::Fast);
    server.start_again();
    within(60, async {
        open(&server.url("password=x&channel_binding=require")).await.unwrap();
        open(&server.url("password=y")).await.unwrap_err();
    });
}
