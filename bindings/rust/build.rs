//! Links the library. MERGEDB_LIB_DIR names the folder of libmergedb.a; the default is build/release/lib of this tree.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-env-changed=MERGEDB_LIB_DIR");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let folder = env::var("MERGEDB_LIB_DIR").map(PathBuf::from).unwrap_or_else(|_| root.join("build/release/lib"));
    let library = folder.join("libmergedb.a");
    if !library.exists() {
        panic!("{} does not exist: run ./dev build release, or set MERGEDB_LIB_DIR", library.display());
    }
    println!("cargo:rerun-if-changed={}", library.display());
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static=mergedb");
    for library in ["snappy", "lz4", "zstd", "stdc++"] {
        println!("cargo:rustc-link-lib=dylib={library}");
    }
}
