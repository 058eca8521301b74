//! The health of a store: probes, and earlier failures.

use std::fs;
use std::io::Write as _;

use foreword_store::health::{HealthChange, StoreFault};
use foreword_store::store::Store;

use crate::contract::{contract, now};
use crate::faults::SmallDisk;
use crate::sqlite::{open, template};

fn faults(store: &Store) -> Vec<StoreFault> {
    store.health().failures().iter().map(|failure| failure.fault).collect()
}

contract! {
    #[test]
    async fn probe_leaves_no_row(store: TestStore) {
        let node = "node-1".parse().unwrap();
        store.probe(&node, now()).await.unwrap();
        store.probe(&node, now()).await.unwrap();
        assert!(store.health().is_up());
        let nodes = store.nodes(now(), std::time::Duration::from_secs(1)).await.unwrap();
        assert_eq!(nodes.nodes, []);
    }
}

#[tokio::test]
async fn probe_fails_on_a_deleted_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreword.db");
    let store = open(&path).await.unwrap();
    let mut changes = store.health().changes();
    fs::remove_file(&path).unwrap();
    let error = store.probe(&"node-1".parse().unwrap(), now()).await.unwrap_err();
    assert!(error.to_string().contains("deleted"), "{error}");
    assert_eq!(faults(&store), [StoreFault::Unreachable]);
    assert!(matches!(changes.try_recv(), Ok(HealthChange::Failed(_))));
}

#[tokio::test]
async fn probe_fails_while_the_disk_is_full() {
    let Some(disk) = SmallDisk::new(4 << 20) else {
        println!("SKIPPED: no small disk can be mounted here");
        return;
    };
    let node = "node-1".parse().unwrap();
    let store = open(&disk.path().join("foreword.db")).await.unwrap();
    store.probe(&node, now()).await.unwrap();
    let ballast = disk.path().join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);
    // Writes that still fit into the log may succeed.
    let mut failed = false;
    for _ in 0..1_000 {
        failed = failed || store.probe(&node, now()).await.is_err();
    }
    assert!(failed && faults(&store) == [StoreFault::Full], "{:?}", store.health().failures());
    fs::remove_file(&ballast).unwrap();
    store.probe(&node, now()).await.unwrap();
    assert!(store.health().is_up());
    store.add_template(template("with room")).await.unwrap();
}
