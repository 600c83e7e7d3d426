/**
 * State stores for Kafka Streams 4.3 on mergedb. Start at {@link
 * dev.mergedb.kafka.streams.MergedbDslStoreSuppliers}, which one line of configuration names, or at
 * {@link dev.mergedb.kafka.streams.MergedbStores}.
 */
package dev.mergedb.kafka.streams;
