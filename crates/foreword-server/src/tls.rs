//! The server's own certificate: read when it starts, where anything wrong with it is said, and again when its files change, so
//! that one that was renewed is used without a restart. One that can't be read then leaves the old one in force.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use foreword_workspace::config::TlsFiles;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{InconsistentKeys, ServerConfig};

use crate::error::ServerError;

/// How often it is looked whether the files are new.
const LOOK: Duration = Duration::from_secs(30);

/// A certificate with its key. Clones are the same, and change together.
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
    of: [Option<SystemTime>; 2],
}

impl Certificate {
    /// The certificate in these files, which are below `folder` unless they are absolute.
    pub(crate) fn open(files: &TlsFiles, folder: &Path) -> Result<Self, ServerError> {
        let files = Files { certificate: folder.join(&files.certificate), key: folder.join(&files.key) };
        let current = Mutex::new(Current { of: files.times(), acceptor: files.read()? });
        Ok(Self(Arc::new(Inner { files, current })))
    }

    /// What greets a client.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.0.current.lock().unwrap_or_else(PoisonError::into_inner).acceptor.clone()
    }

    /// Looks for new files from now on. `tell` hears of those that can't be used.
    pub(crate) async fn follow(self, tell: impl Fn(&ServerError) + Send) {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Err(error) = self.look().await {
                tell(&error);
            }
        }
    }

    /// Reads the files if they are others than before. What can't be read is not looked at again before it changes.
    async fn look(&self) -> Result<(), ServerError> {
        let own = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let times = own.0.files.times();
            let is_known = own.current(|current| current.of == times);
            if is_known {
                return Ok(());
            }
            own.current(|current| current.of = times);
            let acceptor = own.0.files.read()?;
            own.current(|current| current.acceptor = acceptor);
            Ok(())
        });
        // Reading files does not panic; if it did, there is nothing to tell.
        looked.await.unwrap_or(Ok(()))
    }

    fn current<T>(&self, with: impl FnOnce(&mut Current) -> T) -> T {
        with(&mut self.0.current.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Files {
    fn times(&self) -> [Option<SystemTime>; 2] {
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
            return Err(refused(&self.certificate, "there is no certificate in it".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(&text(&self.key)?)
            .map_err(|_| refused(&self.key, "there is no private key in PEM in it".to_owned()))?;
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
