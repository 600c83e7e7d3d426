package dev.mergedb;

import java.util.List;

/**
 * What {@link Database#verify} found, or what {@link Database#repair} did. Each list has one line of text an item.
 *
 * @param damages bytes that are not as they were written
 * @param losses those damages that lose entries; empty after verify
 * @param actions what the repair did, or would do; empty after verify
 * @param notes what else is worth knowing
 */
public record Report(List<String> damages, List<String> losses, List<String> actions, List<String> notes) {
  /** Copies the lists. */
  public Report {
    damages = List.copyOf(damages);
    losses = List.copyOf(losses);
    actions = List.copyOf(actions);
    notes = List.copyOf(notes);
  }
}
