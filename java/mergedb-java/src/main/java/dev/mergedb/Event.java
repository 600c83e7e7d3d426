package dev.mergedb;

import java.time.Instant;
import java.util.Map;

/**
 * What a database did. docs/EVENTS.md lists the events and their fields.
 *
 * @param name such as flush_begin
 * @param time when it happened
 * @param fields in their order; each a Long or a String
 * @param json the event as a line of JSON, as the file LOG has it
 */
public record Event(String name, Instant time, Map<String, Object> fields, String json) {}
