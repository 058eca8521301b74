//! TLS on the way to the server. With `sslmode=require` the server has to show a certificate that is trusted and made out
//! to its name; with `prefer`, which whoever is in between can turn off anyway, any will do unless `sslrootcert` says
//! otherwise.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{self, ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};

use super::address::Address;

/// What is trusted, for all connections of a store.
#[derive(Clone)]
pub(super) struct Tls(Option<TlsConnector>);

impl Tls {
    /// What the address says, or why that can't be had.
    pub(super) fn new(address: &Address) -> Result<Self, String> {
        let trusted = match (address.config.get_ssl_mode(), &address.root_certificates) {
            (SslMode::Disable, _) => return Ok(Self(None)),
            (_, Some(file)) => Trusted::Named(read(file)?),
            (SslMode::Require, None) => Trusted::Named(of_this_machine()?),
            (_, None) => Trusted::Anybody,
        };
        let provider = Arc::new(ring::default_provider());
        let check = Check::new(trusted, &provider)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(check))
            .with_no_client_auth();
        Ok(Self(Some(TlsConnector::from(Arc::new(config)))))
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tls({})", if self.0.is_some() { "on" } else { "off" })
    }
}

fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = |reason: &str| {
        format!("the certificates in `{}` (`sslrootcert`) can't be read: {reason}", file.display())
    };
    let certificates = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = certificates.map_err(|error| unreadable(&error.to_string()))?;
    if certificates.is_empty() { Err(unreadable("there are none")) } else { Ok(certificates) }
}

fn of_this_machine() -> Result<Vec<CertificateDer<'static>>, String> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return Err("this machine trusts no certificates; name a file with `sslrootcert`".to_owned());
    }
    Ok(found.certs)
}

enum Trusted {
    Anybody,
    Named(Vec<CertificateDer<'static>>),
}

/// Decides whether a server is the one meant.
#[derive(Debug)]
struct Check {
    provider: Arc<CryptoProvider>,
    /// Certificates by name: a server that shows one of them is the one that was meant, whatever it is made out to. So
    /// the certificate a server made for itself can be given as it is.
    pinned: Vec<CertificateDer<'static>>,
    /// `None` if anybody will do.
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl Check {
    fn new(trusted: Trusted, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let (pinned, chain) = match trusted {
            Trusted::Anybody => (Vec::new(), None),
            Trusted::Named(certificates) => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(certificates.iter().cloned());
                let roots = Arc::new(roots);
                let chain = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
                (certificates, Some(chain.map_err(|error| error.to_string())?))
            }
        };
        Ok(Self { provider: Arc::clone(provider), pinned, chain })
    }
}

impl ServerCertVerifier for Check {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        match &self.chain {
            Some(_) if self.pinned.contains(shown) => Ok(ServerCertVerified::assertion()),
            Some(chain) => chain.verify_server_cert(shown, intermediates, name, ocsp_response, now),
            None => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = TlsStream;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, io::Error> {
        Ok(Handshake { connector: self.0.clone(), host: host.to_owned() })
    }
}

/// The way from a socket to a stream nobody else can read.
pub(super) struct Handshake {
    connector: Option<TlsConnector>,
    host: String,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = TlsStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<TlsStream, io::Error>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let off = || io::Error::new(io::ErrorKind::Unsupported, "TLS is turned off");
            let connector = self.connector.ok_or_else(off)?;
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            connector.connect(name, socket).await.map(|stream| TlsStream(Box::new(stream)))
        })
    }
}

/// A stream nobody else can read.
pub(super) struct TlsStream(Box<tokio_rustls::client::TlsStream<Socket>>);

impl tls::TlsStream for TlsStream {
    /// Passwords are proved to the server without binding the proof to the certificate, which was checked.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for TlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
