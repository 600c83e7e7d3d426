/**
 * Versioned values on mergedb: a key has one or more versions, each with a vector clock. Concurrent versions are kept until a later
 * version supersedes them; obsolete writes are refused. {@link dev.mergedb.versions.VersionedStore} is the store, {@link
 * dev.mergedb.versions.VectorClock} the clock. How versions are stored: docs/decisions/0043-versioned-records.md.
 */
package dev.mergedb.versions;
