//! The server's certificate: loaded at the start and reloaded when its files change, so that a renewed one is used
//! without a restart. If a reload fails, the old certificate stays in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use foreword_workspace::config::TlsFiles;
use parking_lot::Mutex;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{InconsistentKeys, ServerConfig};

use crate::error::ServerError;

/// How often the files are checked for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// A certificate with its key. Clones share it.
#[derive(Clone)]
pub(crate) struct Certificate(Arc<Inner>);

struct Inner {
    files: Files,
    current: Mutex<Current>,
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Clone)]
struct Current {
    acceptor: TlsAcceptor,
    modified: [Option<SystemTime>; 2],
}

impl Certificate {
    /// Loads the certificate. Relative paths are relative to `folder`.
    pub(crate) fn open(files: &TlsFiles, folder: &Path) -> Result<Self, ServerError> {
        let files = Files { certificate: folder.join(&files.certificate), key: folder.join(&files.key) };
        let current = Mutex::new(Current { modified: files.modified(), acceptor: files.read()? });
        Ok(Self(Arc::new(Inner { files, current })))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.0.current.lock().acceptor.clone()
    }

    /// Reloads the files when they change. Calls `on_error` if they can't be used.
    pub(crate) async fn follow(self, on_error: impl Fn(&ServerError) + Send) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if let Err(error) = self.reload_if_changed().await {
                on_error(&error);
            }
        }
    }

    /// Reloads the files if their modification times changed. A failed reload is not retried before they change again.
    async fn reload_if_changed(&self) -> Result<(), ServerError> {
        let own = self.clone();
        let reload = tokio::task::spawn_blocking(move || {
            let modified = own.0.files.modified();
            if std::mem::replace(&mut own.0.current.lock().modified, modified) == modified {
                return Ok(());
            }
            let acceptor = own.0.files.read()?;
            own.0.current.lock().acceptor = acceptor;
            Ok(())
        });
        // The task does not panic; if it did, there would be nothing to report.
        reload.await.unwrap_or(Ok(()))
    }
}

impl Files {
    fn modified(&self) -> [Option<SystemTime>; 2] {
        let time = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
        [time(&self.certificate), time(&self.key)]
    }

    fn read(&self) -> Result<TlsAcceptor, ServerError> {
        let refused =
            |path: &Path, reason: String| ServerError::Certificate { path: path.to_owned(), reason };
        let text = |path: &Path| std::fs::read(path).map_err(|error| refused(path, error.to_string()));
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&text(&self.certificate)?)
            .collect::<Result<_, _>>()
            .map_err(|error| refused(&self.certificate, format!("it is not PEM: {error}")))?;
        if chain.is_empty() {
            return Err(refused(&self.certificate, "it contains no certificate".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(&text(&self.key)?)
            .map_err(|_| refused(&self.key, "it contains no private key in PEM format".to_owned()))?;
        let versions = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| refused(&self.certificate, error.to_string()))?;
        let mut config =
            versions.with_no_client_auth().with_single_cert(chain, key).map_err(|error| match error {
                tokio_rustls::rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                    let other = self.certificate.display();
                    refused(&self.key, format!("it is not the key of `{other}`"))
                }
                error => refused(&self.certificate, error.to_string()),
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
