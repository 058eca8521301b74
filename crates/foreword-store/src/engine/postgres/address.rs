//! Parses a Postgres address into the driver's configuration and our own options. Errors never quote the address,
//! because it may contain a password.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::StoreError;

/// The default maximum number of connections.
const POOL_SIZE: usize = 10;
/// The default timeout of a statement.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to retry after a lost connection.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A parsed Postgres address.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// The driver's configuration. Its `Debug` output hides the password.
    pub(super) config: Config,
    /// `pool_size`: the maximum number of connections.
    pub(super) pool_size: usize,
    /// `answer_timeout`, in seconds: the timeout of a statement, including the network.
    pub(super) answer_timeout: Duration,
    /// `sslrootcert`: the certificates to trust instead of the system's.
    pub(super) root_certificates: Option<PathBuf>,
}

impl Address {
    /// Parses an address.
    pub(crate) fn parse(url: &str, place: &str) -> Result<Self, StoreError> {
        let unreadable = |reason: &str| StoreError::Unreachable {
            place: place.to_owned(),
            reason: format!(
                "{reason}; write postgres://user:password@host/database, with %40 for @ in a password"
            ),
        };
        let (base, options) = url.split_once('?').unwrap_or((url, ""));
        if options.contains('@') {
            // The driver would use the end of the password as the host name.
            return Err(unreadable("the address has an @ behind its first ?"));
        }
        if base.matches('@').count() > 1 {
            // The driver ends the password at the first `@` and uses the rest as the host name.
            return Err(unreadable("the address has more than one @"));
        }
        let mut address = Self {
            config: Config::new(),
            pool_size: POOL_SIZE,
            answer_timeout: ANSWER_TIMEOUT,
            root_certificates: None,
        };
        let mut kept = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match address.take(option).map_err(unreadable)? {
                Taken::Ours => {}
                Taken::Drivers(option) => kept.push(option),
            }
        }
        let rest = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        address.config = Config::from_str(&rest).map_err(|_| unreadable("the address can't be read"))?;
        address.complete();
        Ok(address)
    }

    /// The hosts and the database name, without credentials.
    pub(crate) fn server(&self) -> String {
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        format!("{}/{}", hosts.join(","), self.config.get_dbname().unwrap_or_default())
    }

    /// How long to retry after a lost connection.
    pub(super) fn recovery(&self) -> Duration {
        RECOVERY_TIMEOUT.min(self.answer_timeout)
    }

    /// Consumes an option if it is one of ours.
    fn take<'o>(&mut self, option: &'o str) -> Result<Taken<'o>, &'static str> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            // Verification always checks both the certificate and the host name.
            "sslmode" if ["verify-ca", "verify-full"].contains(&value) => {
                return Ok(Taken::Drivers("sslmode=require"));
            }
            "sslrootcert" => {
                let path = unescaped(value).ok_or("`sslrootcert` is not a path")?;
                self.root_certificates = (path != "system").then(|| path.into());
            }
            "pool_size" => {
                let size = value.parse().ok().filter(|size| (1..=1_000).contains(size));
                self.pool_size = size.ok_or("`pool_size` is not a number from 1 to 1000")?;
            }
            "answer_timeout" => {
                let seconds = value.parse().ok().filter(|seconds| (1..=3_600).contains(seconds));
                self.answer_timeout =
                    Duration::from_secs(seconds.ok_or("`answer_timeout` is not a number of seconds")?);
            }
            _ => return Ok(Taken::Drivers(option)),
        }
        Ok(Taken::Ours)
    }

    /// Sets defaults. The server's lock timeout is longer than its idle-in-transaction timeout, so that a node that
    /// hangs does not make the others fail.
    fn complete(&mut self) {
        if self.config.get_connect_timeout().is_none() {
            self.config.connect_timeout(CONNECT_TIMEOUT);
        }
        if self.config.get_application_name().is_none() {
            self.config.application_name("foreword");
        }
        let answer = self.answer_timeout.as_millis();
        let limits = format!(
            "-c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={} \
             -c client_min_messages=warning {}",
            answer * 9 / 10,
            answer / 2,
            answer / 6,
            // After our defaults, so that the address overrides them.
            self.config.get_options().unwrap_or_default()
        );
        self.config.options(limits);
        self.config.keepalives_idle(Duration::from_secs(30));
        self.config.keepalives_interval(Duration::from_secs(10)).keepalives_retries(3);
        self.config.tcp_user_timeout(self.answer_timeout);
    }
}

/// The owner of an option.
enum Taken<'o> {
    Ours,
    Drivers(&'o str),
}

/// Decodes percent-encoding.
fn unescaped(value: &str) -> Option<String> {
    let mut bytes = value.bytes();
    let mut out = Vec::with_capacity(value.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_postgres::config::SslMode;

    fn address(url: &str) -> Address {
        Address::parse(url, "postgres://db/foreword").unwrap()
    }

    #[test]
    fn own_options_are_removed_from_the_address() {
        let address =
            address("postgres://db/foreword?pool_size=3&connect_timeout=2&answer_timeout=7&user=alice");
        assert_eq!((address.pool_size, address.answer_timeout), (3, Duration::from_secs(7)));
        assert_eq!(address.config.get_connect_timeout(), Some(&Duration::from_secs(2)));
        assert_eq!(address.config.get_user(), Some("alice"));
    }

    #[test]
    fn address_names_certificates() {
        let address = address("postgres://db/foreword?sslmode=verify-full&sslrootcert=/etc/a%20ca.pem");
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(address.root_certificates, Some("/etc/a ca.pem".into()));
        let system = super::Address::parse("postgres://db/x?sslrootcert=system", "").unwrap();
        assert_eq!(system.root_certificates, None);
    }

    #[test]
    fn address_options_override_defaults() {
        let address = address("postgres://db/foreword?options=-c%20statement_timeout%3D1");
        assert!(address.config.get_options().unwrap().ends_with("-c statement_timeout=1"));
    }

    #[test]
    fn invalid_address_is_refused_without_being_shown() {
        for url in [
            "postgres://alice:s3cret?x@db/foreword",
            "postgres://db/foreword?s3cret=1",
            "postgres://db/foreword?pool_size=s3cret",
            "postgres://db/foreword?pool_size=0",
            "postgres://db/foreword?answer_timeout=never",
            "postgres://[s3cret/foreword",
            "postgres://db/foreword?sslrootcert=s3cret%2",
        ] {
            let error = Address::parse(url, "postgres://…").unwrap_err().to_string();
            assert!(!error.contains("s3cret") && error.contains("%40"), "{error}");
        }
    }
}
