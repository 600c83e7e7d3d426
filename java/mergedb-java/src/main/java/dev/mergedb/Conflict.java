package dev.mergedb;

/**
 * The key that made {@link Transaction#commit} fail with {@link MergedbException.Code#CONFLICT}.
 *
 * @param keyspace the keyspace of the key
 * @param key the key that the transaction read and that was written since
 */
public record Conflict(Keyspace keyspace, byte[] key) {}
