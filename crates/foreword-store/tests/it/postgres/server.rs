//! A private Postgres server for one test, which may stop and restart it. Removed after the test.

use std::fs;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use foreword_store::error::StoreError;
use foreword_store::location::Location;
use foreword_store::store::Store;

use crate::contract::{now, server_under_test};

/// How a server is stopped.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stop {
    /// Disconnects clients and shuts down cleanly.
    Fast,
    /// Exits at once, as after a power failure.
    Immediate,
}

/// A private server.
#[derive(Debug)]
pub(super) struct PrivatePostgres {
    programs: PathBuf,
    /// The user it runs as, if not the current one.
    user: Option<String>,
    folder: PathBuf,
    pub(super) port: u16,
}

impl PrivatePostgres {
    /// Starts a server; `None` if Postgres tests are disabled.
    pub(super) fn start() -> Option<Self> {
        let server = Self::create()?;
        server.start_again();
        Some(server)
    }

    /// Creates a server without starting it, so that it can be configured.
    pub(super) fn create() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        server_under_test()?;
        let variable = |name: &str| {
            std::env::var(name).unwrap_or_else(|_| {
                panic!("{name} is not set: run `eval \"$(scripts/postgres.sh start)\"` first")
            })
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = PathBuf::from(variable("FOREWORD_TEST_POSTGRES_DIR"));
        let server = Self {
            programs: variable("FOREWORD_TEST_POSTGRES_BIN").into(),
            user: Some(variable("FOREWORD_TEST_POSTGRES_USER")).filter(|user| !user.is_empty()),
            folder: root.join(format!("private-{}-{number}", std::process::id())),
            port: free_port(),
        };
        let _ = fs::remove_dir_all(&server.folder);
        server.run(&root, "mkdir", &[path(&server.folder)]);
        server.run(&root, "cp", &["-a", path(&root.join("template")), path(&server.data())]);
        Some(server)
    }

    pub(super) fn start_again(&self) {
        let (data, log, port) =
            (self.data(), self.folder.join("log"), format!("-p {} -c max_connections=60", self.port));
        let arguments =
            ["start", "--pgdata", path(&data), "--wait", "--timeout", "60", "--log", path(&log), "-o", &port];
        self.run(&self.folder, path(&self.programs.join("pg_ctl")), &arguments);
    }

    pub(super) fn stop(&self, how: Stop) {
        let how = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        let data = self.data();
        let arguments = ["stop", "--pgdata", path(&data), "--mode", how, "--wait"];
        self.run(&self.folder, path(&self.programs.join("pg_ctl")), &arguments);
    }

    /// Promotes a standby.
    pub(super) fn promote(&self) {
        let data = self.data();
        let arguments = ["promote", "--pgdata", path(&data), "--wait"];
        self.run(&self.folder, path(&self.programs.join("pg_ctl")), &arguments);
    }

    /// Writes a file into the server's data folder as the server's user.
    pub(super) fn write(&self, name: &str, text: &str) {
        let scratch = tempfile::NamedTempFile::new().unwrap();
        fs::write(scratch.path(), text).unwrap();
        fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        self.run(&self.data(), "cp", &["--no-preserve=mode", path(scratch.path()), name]);
        self.run(&self.data(), "chmod", &["600", name]);
    }

    /// Adds settings; they apply from the next start.
    pub(super) fn configure(&self, settings: &str) {
        let file = self.data().join("postgresql.conf");
        self.write("postgresql.conf", &(fs::read_to_string(file).unwrap() + settings));
    }

    /// Runs a program as the server's user in a folder.
    pub(super) fn run(&self, folder: &Path, program: &str, arguments: &[&str]) {
        let mut command = match &self.user {
            Some(user) => {
                let mut command = Command::new("runuser");
                command.args(["-u", user, "--", program]);
                command
            }
            None => Command::new(program),
        };
        // The server would inherit a pipe and keep it open forever.
        let log = tempfile::tempfile().unwrap();
        let status = command
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .status()
            .unwrap();
        let said = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        assert!(status.success(), "{program} {arguments:?}: {status}\n{said}");
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The server's address through `port`, with these options.
    pub(super) fn url_at(port: u16, options: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres?{options}")
    }

    pub(super) fn url(&self, options: &str) -> String {
        Self::url_at(self.port, options)
    }

    pub(super) async fn open(&self) -> Store {
        open(&self.url("")).await.unwrap()
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        let data = self.data();
        if data.join("postmaster.pid").exists() {
            // Avoids a panic while panicking.
            let _ = catch_unwind(AssertUnwindSafe(|| self.stop(Stop::Immediate)));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(super) async fn open(url: &str) -> Result<Store, StoreError> {
    Store::open(&Location::parse(url, Path::new("/")).unwrap(), now()).await
}

/// Runs a test on a runtime with two threads and a timeout.
pub(super) fn within(seconds: u64, test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let ended = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(seconds), test).await });
    runtime.shutdown_background();
    ended.unwrap_or_else(|_| panic!("not done within {seconds} s"));
}
