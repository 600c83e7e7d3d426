//go:build mergedb_installed

package mergedb

// The installed library, by its mergedb.pc (cmake --install).

// #cgo pkg-config: mergedb
import "C"
