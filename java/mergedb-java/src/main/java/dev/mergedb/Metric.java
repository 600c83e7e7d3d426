package dev.mergedb;

/**
 * A counter or a gauge. docs/METRICS.md lists all of them.
 *
 * @param name lower-case letters, digits and underscores
 * @param unit of the value, such as count or bytes
 * @param help what the value says
 * @param isGauge whether it is a present value, not a count that only grows
 * @param value the value
 */
public record Metric(String name, String unit, String help, boolean isGauge, long value) {}
