package dev.mergedb;

/**
 * What a trace has. docs/TRACE.md
 *
 * @param operations operations in the trace; a batch counts as one
 * @param lost left out, because the file could not be written as fast, or a batch was too large
 * @param bytes the size of the file
 * @param isFull whether the trace ended at its greatest size
 */
public record TraceReport(long operations, long lost, long bytes, boolean isFull) {}
