//! The TLS configuration of clients: the crypto library, the protocol versions and the trusted root certificates.
//!
//! Opens no connections: a client passes the configuration to its HTTP or Postgres library.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The machine has no root certificates.
    #[error("this machine trusts no certificates; install the package `ca-certificates`")]
    NoRootCertificates,
    /// The crypto library supports no protocol version.
    #[error(transparent)]
    Unsupported(#[from] rustls::Error),
}

/// The configuration for requests to `url`. The machine's root certificates are loaded only for `https`.
///
/// # Errors
///
/// [`TlsError::NoRootCertificates`] for `https` on a machine without any.
pub fn client_config_for(url: &str) -> Result<ClientConfig, TlsError> {
    let encrypts = url.to_ascii_lowercase().starts_with("https:");
    let certificates = if encrypts { machine_certificates() } else { Vec::new() };
    if encrypts && certificates.is_empty() {
        return Err(TlsError::NoRootCertificates);
    }
    Ok(client_config(certificates)?)
}

/// The configuration of a client that trusts `certificates`.
///
/// # Errors
///
/// The crypto library supports no protocol version.
pub fn client_config(certificates: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    let mut trusted = RootCertStore::empty();
    trusted.add_parsable_certificates(certificates);
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(trusted)
        .with_no_client_auth())
}

/// The root certificates of this machine.
#[must_use]
pub fn machine_certificates() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}
