//! Puts the page into the program, if it was built: a table of the files in `web/dist`. Without Node there are none, and the
//! server says at its root how to get them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Where `npm run build` puts the page.
const BUILT: &str = "../../web/dist";

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let built = manifest.join(BUILT);
    println!("cargo::rerun-if-changed=build.rs");
    // A folder that is not there yet is looked for again once its parent changes.
    let watched = if built.is_dir() { built.clone() } else { built.parent().unwrap_or(&built).to_owned() };
    println!("cargo::rerun-if-changed={}", watched.display());
    let mut table = String::from("&[\n");
    for path in files(&built)? {
        let name = path.strip_prefix(&built).map_err(io::Error::other)?.display().to_string();
        let _ = writeln!(table, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    table.push_str("]\n");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("page_files.rs"), table)
}

/// Every file below `folder`, in order, so that the same page is the same program.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}
