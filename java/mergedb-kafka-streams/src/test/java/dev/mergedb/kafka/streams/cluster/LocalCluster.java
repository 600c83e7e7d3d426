package dev.mergedb.kafka.streams.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;

/**
 * Brokers of the published jars, each a JVM of its own, in KRaft mode on the loopback interface.
 */
public final class LocalCluster implements AutoCloseable {
  private final Path directory;
  private final int count;
  private final int[] ports;
  private final Child[] brokers;
  private final Path[] settings;

  /** Format the directories of `count` brokers and start them. */
  public LocalCluster(Path directory, int count) throws Exception {
    this.directory = directory;
    this.count = count;
    ports = freePorts(2 * count);
    brokers = new Child[count];
    settings = new Path[count];
    StringBuilder voters = new StringBuilder();
    for (int i = 0; i < count; ++i)
      voters.append(i == 0 ? "" : ",").append(i + 1).append("@127.0.0.1:").append(ports[count + i]);
    String cluster = Uuid.randomUuid().toString();
    for (int i = 0; i < count; ++i) {
      settings[i] = directory.resolve("broker" + (i + 1) + ".properties");
      Files.writeString(settings[i], broker(i, voters.toString()));
      Child format =
          new Child(
              "StorageTool " + (i + 1),
              log(i),
              List.of("-Xmx128m"),
              "kafka.tools.StorageTool",
              "format",
              "-t",
              cluster,
              "-c",
              settings[i].toString());
      if (format.waitFor(300) != 0)
        throw new IllegalStateException("formatting broker " + (i + 1) + " failed; see " + log(i));
    }
    for (int i = 0; i < count; ++i) start(i);
    awaitBrokers(count);
  }

  private static int[] freePorts(int count) throws IOException {
    int[] ports = new int[count];
    List<ServerSocket> held = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
      held.add(socket);
      ports[i] = socket.getLocalPort();
    }
    for (ServerSocket socket : held) socket.close();
    return ports;
  }

  private String broker(int i, String voters) {
    int copies = Math.min(count, 3);
    return String.join(
        "\n",
        "process.roles=broker,controller",
        "node.id=" + (i + 1),
        "controller.quorum.voters=" + voters,
        "listeners=PLAINTEXT://127.0.0.1:"
            + ports[i]
            + ",CONTROLLER://127.0.0.1:"
            + ports[count + i],
        "advertised.listeners=PLAINTEXT://127.0.0.1:" + ports[i],
        "controller.listener.names=CONTROLLER",
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs=" + directory.resolve("data" + (i + 1)),
        "auto.create.topics.enable=false",
        "default.replication.factor=" + copies,
        "min.insync.replicas=" + (copies + 1) / 2,
        "offsets.topic.replication.factor=" + copies,
        "offsets.topic.num.partitions=4",
        "transaction.state.log.replication.factor=" + copies,
        "transaction.state.log.min.isr=" + (copies + 1) / 2,
        "transaction.state.log.num.partitions=4",
        "share.coordinator.state.topic.replication.factor=" + copies,
        "group.initial.rebalance.delay.ms=0",
        "log.cleaner.dedupe.buffer.size=8388608",
        "num.network.threads=2",
        "num.io.threads=4",
        "");
  }

  private Path log(int i) {
    return directory.resolve("broker" + (i + 1) + ".log");
  }

  public String bootstrap() {
    StringBuilder servers = new StringBuilder();
    for (int i = 0; i < count; ++i)
      servers.append(i == 0 ? "" : ",").append("127.0.0.1:").append(ports[i]);
    return servers.toString();
  }

  public void start(int i) throws IOException {
    brokers[i] =
        new Child(
            "broker " + (i + 1),
            log(i),
            List.of("-Xmx320m"),
            "kafka.Kafka",
            settings[i].toString());
  }

  /** kill -9 */
  public void kill(int i) throws InterruptedException {
    brokers[i].kill();
  }

  public Admin admin() {
    Properties properties = new Properties();
    properties.put(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap());
    return Admin.create(properties);
  }

  /** Wait until `expected` brokers serve requests. */
  public void awaitBrokers(int expected) throws Exception {
    long deadline = System.nanoTime() + Duration.ofSeconds(300).toNanos();
    int found = 0;
    try (Admin admin = admin()) {
      while (System.nanoTime() < deadline) {
        try {
          found = admin.describeCluster().nodes().get().size();
          if (found >= expected) return;
        } catch (ExecutionException e) {
          found = 0;
        }
        Thread.sleep(200);
      }
    }
    throw new IllegalStateException(
        found
            + " brokers serve after 300 s, expected "
            + expected
            + "; their logs are in "
            + directory);
  }

  public void createTopic(String name, int partitions) throws Exception {
    Collection<NewTopic> topics =
        List.of(new NewTopic(name, partitions, (short) Math.min(count, 3)));
    try (Admin admin = admin()) {
      admin.createTopics(topics).all().get();
    }
  }

  @Override
  public void close() {
    for (Child broker : brokers) {
      if (broker != null) broker.close();
    }
  }
}
