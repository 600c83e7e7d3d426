package dev.mergedb;

/**
 * What {@link Database#checkpoint} made.
 *
 * @param files tables and blob files in the copy
 * @param linked how many of them are hard links
 * @param copied how many of them were copied, or written from memory
 * @param kept how many of them an interrupted call had left
 * @param bytes the size of all of them
 * @param sequence the sequence number of the last write in the copy
 */
public record CheckpointReport(long files, long linked, long copied, long kept, long bytes, long sequence) {}
