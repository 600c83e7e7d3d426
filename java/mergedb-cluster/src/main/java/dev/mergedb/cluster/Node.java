package dev.mergedb.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.infinispan.Cache;
import org.infinispan.configuration.parsing.ConfigurationBuilderHolder;
import org.infinispan.configuration.parsing.ParserRegistry;
import org.infinispan.factories.GlobalComponentRegistry;
import org.infinispan.health.CacheHealth;
import org.infinispan.health.HealthStatus;
import org.infinispan.manager.DefaultCacheManager;
import org.infinispan.remoting.transport.Transport;
import org.infinispan.remoting.transport.jgroups.JGroupsTransport;
import org.infinispan.server.resp.RespServer;
import org.infinispan.server.resp.configuration.RespServerConfigurationBuilder;
import org.jgroups.protocols.TCPPING;

/**
 * One node of `./dev cluster`: an Infinispan cache whose entries are in mergedb, with the Redis protocol in front.
 *
 * <p>System properties: {@code node.name}, {@code node.directory}, {@code node.port}, {@code node.hosts}, {@code node.owners} (see
 * cluster.xml) and {@code node.redis.port}. The program prints "ready" and then answers each line of its input with one line:
 *
 * <pre>
 *   status            members=N rebalancing=true|false
 *   join PORT,PORT    joined: the node looks for members at these ports from now on
 *   shutdown          stopped: the cache has stopped on every node, its state is saved, and the program ends
 *   stop              stopped: this node has stopped, and the program ends
 * </pre>
 *
 * At the end of its input the program ends at once, as after kill -9: no node outlives the script that started it.
 */
public final class Node {
  private static final String CACHE = "kv";

  private final DefaultCacheManager manager;
  private final Cache<Object, Object> cache;
  private final RespServer redis;

  private Node() throws IOException {
    ConfigurationBuilderHolder configuration =
        new ParserRegistry(Node.class.getClassLoader(), false, System.getProperties()).parseFile("cluster.xml");
    manager = new DefaultCacheManager(configuration, true);
    cache = manager.getCache(CACHE);
    redis = new RespServer();
    redis.start(new RespServerConfigurationBuilder().defaultCacheName(CACHE).host("127.0.0.1").port(Integer.getInteger("node.redis.port"))
        .ioThreads(2).build(), manager);
    redis.postStart();
  }

  public static void main(String[] args) throws IOException {
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    int exitCode = 1;
    try {
      Node node = new Node();
      answer("ready");
      exitCode = node.serve(commands);
    } catch (Exception | Error e) {
      e.printStackTrace();
      answer("failed: " + e);
    }
    Runtime.getRuntime().halt(exitCode);
  }

  private int serve(BufferedReader commands) throws IOException {
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String[] words = line.trim().split(" ", 2);
      switch (words[0]) {
        case "status" -> answer("members=" + manager.getMembers().size() + " rebalancing=" + isRebalancing());
        case "join" -> {
          lookFor(words[1]);
          answer("joined");
        }
        case "shutdown" -> {
          cache.shutdown();
          stop();
          return 0;
        }
        case "stop" -> {
          stop();
          return 0;
        }
        default -> answer("failed: expected status, join, shutdown or stop, found '" + line + "'");
      }
    }
    return 1;
  }

  private void stop() throws IOException {
    redis.stop();
    manager.close();
    answer("stopped");
  }

  private boolean isRebalancing() {
    for (CacheHealth health : manager.getHealth().getCacheHealth(Set.of(CACHE))) {
      if (health.getStatus() != HealthStatus.HEALTHY) return true;
    }
    return false;
  }

  private void lookFor(String ports) {
    List<InetSocketAddress> hosts = new ArrayList<>();
    for (String port : ports.split(",")) hosts.add(new InetSocketAddress("127.0.0.1", Integer.parseInt(port)));
    JGroupsTransport transport = (JGroupsTransport) GlobalComponentRegistry.componentOf(manager, Transport.class);
    TCPPING discovery = transport.getChannel().getProtocolStack().findProtocol(TCPPING.class);
    discovery.setInitialHosts(hosts);
  }

  private static void answer(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
