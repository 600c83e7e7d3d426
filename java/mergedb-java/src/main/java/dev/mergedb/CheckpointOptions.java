package dev.mergedb;

/** How a checkpoint is made. Immutable. */
public final class CheckpointOptions {
  /**
   * Hears how far a checkpoint is. Called by the thread that called {@link Database#checkpoint}; must not call into
   * mergedb.
   */
  @FunctionalInterface
  public interface Progress {
    /**
     * Called now and then.
     *
     * @param bytesDone bytes taken and verified so far
     * @param bytesAll bytes in all
     * @return false to give up: the call then throws ABORTED
     */
    boolean goOn(long bytesDone, long bytesAll);
  }

  /** Hard links where one file system holds both, and the copy is read back before it takes its name. */
  public static final CheckpointOptions DEFAULT = new CheckpointOptions(true, true, null);

  final boolean mayLink;
  final boolean verify;
  final Progress progress;

  private CheckpointOptions(boolean mayLink, boolean verify, Progress progress) {
    this.mayLink = mayLink;
    this.verify = verify;
    this.progress = progress;
  }

  /**
   * Whether files may be hard links.
   *
   * @param value false: copy every byte, so that damage to one file is not damage to both
   * @return options with this setting
   */
  public CheckpointOptions withLinks(boolean value) {
    return new CheckpointOptions(value, verify, progress);
  }

  /**
   * Whether the copy is read back before it takes its name.
   *
   * @param value false: do not read it back
   * @return options with this setting
   */
  public CheckpointOptions withVerify(boolean value) {
    return new CheckpointOptions(mayLink, value, progress);
  }

  /**
   * A listener for the progress of the checkpoint. If it throws, the checkpoint is cancelled and the call throws ABORTED with
   * that cause.
   *
   * @param value the listener, or null
   * @return options with this setting
   */
  public CheckpointOptions withProgress(Progress value) {
    return new CheckpointOptions(mayLink, verify, value);
  }
}
