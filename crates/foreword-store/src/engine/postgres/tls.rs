//! TLS to the server. With `sslmode=require` the certificate must be trusted and match the host name. With `prefer`,
//! which a man in the middle can disable anyway, any certificate is accepted unless `sslrootcert` is set.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;

use super::address::Address;

/// The TLS configuration of a store's connections. With `sslmode=disable` it is not used.
pub(super) fn client_config(address: &Address) -> Result<ClientConfig, String> {
    let trusted = match (address.config.get_ssl_mode(), &address.root_certificates) {
        (SslMode::Disable, _) => Trusted::AnyCertificate,
        (_, Some(file)) => Trusted::Named(read(file)?),
        (SslMode::Require, None) => Trusted::Named(of_this_machine()?),
        (_, None) => Trusted::AnyCertificate,
    };
    let mut config = foreword_tls::client_config(Vec::new()).map_err(|error| error.to_string())?;
    let check = Check::new(trusted, config.crypto_provider())?;
    config.dangerous().set_certificate_verifier(Arc::new(check));
    Ok(config)
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
    let certificates = foreword_tls::machine_certificates();
    if certificates.is_empty() {
        return Err("this machine trusts no certificates; name a file with `sslrootcert`".to_owned());
    }
    Ok(certificates)
}

enum Trusted {
    AnyCertificate,
    Named(Vec<CertificateDer<'static>>),
}

/// Verifies the server's certificate.
#[derive(Debug)]
struct Check {
    provider: Arc<CryptoProvider>,
    /// Certificates from `sslrootcert`. A server that presents exactly one of them is trusted without a host name
    /// check, so a self-signed certificate works.
    pinned: Vec<CertificateDer<'static>>,
    /// `None` accepts any certificate.
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl Check {
    fn new(trusted: Trusted, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let (pinned, chain) = match trusted {
            Trusted::AnyCertificate => (Vec::new(), None),
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
