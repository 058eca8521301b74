//! TLS.

use foreword_server::server::Server;
use foreword_store::location::Location;
use rcgen::CertifiedKey;

use crate::test_app::{CONFIG, LEASE, parts_with_lease};

const TLS: &str = "server: { tls: { certificate: cert.pem, key: key.pem } }\n";

fn made() -> (String, String) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    (cert.pem(), signing_key.serialize_pem())
}

async fn start(files: &[(&str, &str)]) -> Result<(Server, tempfile::TempDir), String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("foreword.yaml"), format!("{CONFIG}{TLS}")).unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    let parts = parts_with_lease(folder.path(), &location, &[], LEASE).await;
    let started = Server::start(parts, "127.0.0.1:0".parse().unwrap()).await;
    started.map(|server| (server, folder)).map_err(|error| format!("{error}; {}", error.help()))
}

#[tokio::test(flavor = "multi_thread")]
async fn server_with_a_certificate_accepts_only_tls() {
    let (certificate, key) = made();
    let (server, _folder) = start(&[("cert.pem", &certificate), ("key.pem", &key)]).await.unwrap();
    assert!(server.url().starts_with("https://127.0.0.1:"), "{}", server.url());
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap()])
        .build()
        .unwrap();
    let answer = client.get(format!("{}/healthz", server.url())).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let plain = format!("{}/healthz", server.url().replace("https:", "http:"));
    assert!(client.get(plain).send().await.is_err());
    server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_certificate_is_reported_at_start() {
    let ((certificate, key), (_, other)) = (made(), made());
    let refused = async |files: &[(&str, &str)]| start(files).await.err().unwrap();
    let missing = refused(&[("key.pem", &key)]).await;
    assert!(missing.contains("cert.pem") && missing.contains("No such file"), "{missing}");
    let text = refused(&[("cert.pem", "hello"), ("key.pem", &key)]).await;
    assert!(text.contains("cert.pem` for TLS: it contains no certificate"), "{text}");
    let no_key = refused(&[("cert.pem", &certificate), ("key.pem", "hello")]).await;
    assert!(no_key.contains("key.pem` for TLS: it contains no private key"), "{no_key}");
    let wrong = refused(&[("cert.pem", &certificate), ("key.pem", &other)]).await;
    assert!(wrong.contains("it is not the key of") && wrong.contains("server.tls"), "{wrong}");
}
