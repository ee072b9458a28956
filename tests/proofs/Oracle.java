import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Answers cases, a line of "name=value" each, by the classes of the Kafka on the class path: `prove_oracle.py` asks.
 *
 * Everything is reflection, so that one source fits all releases.
 */
public class Oracle {
    private static final String COMMON = "org.apache.kafka.common.", PLACEMENT = "org.apache.kafka.metadata.placement.";
    private static final String BUILDER = "org.apache.kafka.controller.PartitionChangeBuilder";
    private static final String[][] LISTS = {
        {"isr", "Isr"}, {"replicas", "Replicas"}, {"adding", "AddingReplicas"}, {"removing", "RemovingReplicas"},
        {"elr", "EligibleLeaderReplicas"}, {"last_known_elr", "LastKnownElr"}, {"last_known_elr", "LastKnownELR"},
    };

    private static Class<?> type(String name) throws Exception {
        return Class.forName(name);
    }

    private static boolean exists(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    private static Method method(Object on, String name, int count) {
        for (Class<?> c = on instanceof Class ? (Class<?>) on : on.getClass(); c != null; c = c.getSuperclass())
            for (Method m : c.getDeclaredMethods())
                if (m.getName().equals(name) && m.getParameterCount() == count && !m.isBridge()) {
                    m.setAccessible(true);
                    return m;
                }
        return null;
    }

    private static Object call(Object on, String name, Object... given) throws Exception {
        try {
            return method(on, name, given.length).invoke(on instanceof Class ? null : on, given);
        } catch (InvocationTargetException e) {
            throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
        }
    }

    /** Sets what this release has. */
    private static void set(Object on, String name, Object value) throws Exception {
        if (method(on, "set" + name, 1) != null) call(on, "set" + name, value);
    }

    private static Object constant(String type, String name) throws Exception {
        return type(type).getField(name).get(null);
    }

    private static Object proxy(String type, Function<String, Object> answers) throws Exception {
        Class<?>[] types = {type(type)};
        return Proxy.newProxyInstance(types[0].getClassLoader(), types, (self, m, given) -> answers.apply(m.getName()));
    }

    private static List<Integer> ints(String text) {
        List<Integer> numbers = new ArrayList<>();
        for (String number : text.split(",")) if (!number.isEmpty()) numbers.add(Integer.parseInt(number));
        return numbers;
    }

    private static String text(Collection<?> items) {
        return items.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    // ---- KRaft's partitions --------------------------------------------------------------------------------------
    private static Object registration(Map<String, String> in) throws Exception {
        Object record = type(COMMON + "metadata.PartitionRecord").getConstructor().newInstance();
        for (String[] list : LISTS) if (in.containsKey(list[0])) set(record, list[1], ints(in.get(list[0])));
        for (String name : new String[] {"Leader", "LeaderEpoch", "PartitionEpoch"})
            set(record, name, Integer.parseInt(in.getOrDefault(name, "0")));
        set(record, "LeaderRecoveryState", (byte) ("RECOVERING".equals(in.get("recovery")) ? 1 : 0));
        if (method(record, "setDirectories", 1) != null) {
            Object migrating = constant(COMMON + "DirectoryId", "MIGRATING");
            List<Integer> replicas = ints(in.get("replicas"));
            set(record, "Directories", replicas.stream().map(r -> migrating).collect(Collectors.toList()));
        }
        Class<?> registration = type("org.apache.kafka.metadata.PartitionRegistration");
        return registration.getConstructor(record.getClass()).newInstance(record);
    }

    private static Object argument(Class<?> wanted, int at, Object partition, Map<String, String> in) throws Exception {
        List<Integer> acceptable = ints(in.get("acceptable"));
        switch (wanted.getSimpleName()) {
            case "PartitionRegistration": return partition;
            case "Uuid": return constant(COMMON + "Uuid", "ZERO_UUID");
            case "int": return at == 2 ? 0 : Integer.parseInt(in.get("min_isr"));
            case "IntPredicate": return (IntPredicate) acceptable::contains;
            case "Function": return (Function<Integer, Boolean>) acceptable::contains;
            case "Supplier": return (Supplier<Boolean>) () -> in.get("election").equals("UNCLEAN");
            case "boolean": return in.get(at == 4 ? "recovery_supported" : "elr_enabled").equals("true");
            default: return call(wanted, "fromVersionString", method(wanted, "fromVersionString", 1) != null
                ? new Object[] {in.get("metadata_version")} : new Object[] {in.get("metadata_version"), true});
        }
    }

    private static String partitionChange(Map<String, String> in) throws Exception {
        Object partition = registration(in);
        Constructor<?> constructor = type(BUILDER).getConstructors()[0];
        Object[] given = new Object[constructor.getParameterCount()];
        for (int i = 0; i < given.length; i++)
            given[i] = argument(constructor.getParameterTypes()[i], i, partition, in);
        Object builder = constructor.newInstance(given);
        String kinds = BUILDER + "$Election";
        if (exists(kinds)) set(builder, "Election", constant(kinds, in.get("election")));
        set(builder, "AlwaysElectPreferredIfPossible", in.get("election").equals("PREFERRED"));
        for (String name : new String[] {"TargetIsr", "TargetReplicas", "TargetAdding", "TargetRemoving",
            "UncleanShutdownReplicas"}) if (in.containsKey(name)) set(builder, name, ints(in.get(name)));
        if (in.containsKey("target_recovery"))
            set(builder, "TargetLeaderRecoveryState",
                constant("org.apache.kafka.metadata.LeaderRecoveryState", in.get("target_recovery")));
        set(builder, "ZkMigrationEnabled", in.get("zk_migration").equals("true"));
        set(builder, "EligibleLeaderReplicasEnabled", in.get("elr_enabled").equals("true"));
        set(builder, "UseLastKnownLeaderInBalancedRecovery", in.get("last_known_leader").equals("true"));
        if (exists(PLACEMENT + "DefaultDirProvider")) {
            Object unassigned = constant(COMMON + "DirectoryId", "UNASSIGNED");
            set(builder, "DefaultDirProvider", proxy(PLACEMENT + "DefaultDirProvider", name -> unassigned));
        }
        Optional<?> built = (Optional<?>) call(builder, "build");
        return built.isPresent() ? shown(call(built.get(), "message")) : "nothing=";
    }

    private static String shown(Object record) throws Exception {
        List<String> fields = new ArrayList<>();
        if ((int) call(record, "leader") != -2) fields.add("leader=" + call(record, "leader"));
        for (String[] list : LISTS) {
            String name = list[1].substring(0, 1).toLowerCase() + list[1].substring(1);
            Object value = method(record, name, 0) == null ? null : call(record, name);
            if (value != null) fields.add(list[0] + "=" + text((List<?>) value));
        }
        boolean recovers = method(record, "leaderRecoveryState", 0) != null;
        byte recovery = recovers ? (byte) call(record, "leaderRecoveryState") : -1;
        if (recovery != -1) fields.add("recovery=" + (recovery == 1 ? "RECOVERING" : "RECOVERED"));
        return String.join(" ", fields);
    }

    private static String revert(Map<String, String> in) throws Exception {
        Constructor<?> constructor = type("org.apache.kafka.controller.PartitionReassignmentRevert")
            .getDeclaredConstructors()[0];
        constructor.setAccessible(true);
        Object revert = constructor.newInstance(registration(in));
        return "replicas=" + text((List<?>) call(revert, "replicas")) + " isr=" + text((List<?>) call(revert, "isr"))
            + " unclean=" + call(revert, "unclean");
    }

    // ---- placement -------------------------------------------------------------------------------------------------
    private static String placeStriped(Map<String, String> in) throws Exception {
        List<String> draws = new ArrayList<>();
        Random random = new Random(Long.parseLong(in.get("seed"))) {
            @Override public int nextInt(int bound) {
                draws.add(bound + ":" + super.nextInt(bound));
                return Integer.parseInt(draws.get(draws.size() - 1).split(":")[1]);
            }
        };
        boolean isOld = !exists(PLACEMENT + "StripedReplicaPlacer");
        String placer = isOld ? "org.apache.kafka.controller.StripedReplicaPlacer" : PLACEMENT + "StripedReplicaPlacer";
        String usable = isOld ? "org.apache.kafka.metadata.UsableBroker" : PLACEMENT + "UsableBroker";
        List<Object> brokers = new ArrayList<>();
        for (String one : in.get("brokers").split(";")) {
            String[] parts = one.split(":", -1);
            brokers.add(type(usable).getConstructors()[0].newInstance(Integer.parseInt(parts[0]),
                Optional.of(parts[1]).filter(rack -> !rack.isEmpty()), parts[2].equals("fenced")));
        }
        Object instance = type(placer).getConstructor(Random.class).newInstance(random);
        int partitions = Integer.parseInt(in.get("partitions"));
        short factor = Short.parseShort(in.get("factor"));
        List<String> placed = new ArrayList<>();
        if (isOld) {
            Object made = call(instance, "place", 0, partitions, factor, brokers.iterator());
            for (Object replicas : (List<?>) made) placed.add(text((List<?>) replicas));
        } else {
            Object zero = constant(COMMON + "Uuid", "ZERO_UUID");
            Object spec = type(PLACEMENT + "PlacementSpec").getConstructors()[0].newInstance(0, partitions, factor);
            Object cluster = proxy(PLACEMENT + "ClusterDescriber",
                name -> name.equals("usableBrokers") ? brokers.iterator() : zero);
            Object made = call(call(instance, "place", spec, cluster), "assignments");
            for (Object assignment : (List<?>) made) placed.add(text((List<?>) call(assignment, "replicas")));
        }
        return "placed=" + String.join(";", placed) + " draws=" + String.join(";", draws);
    }

    private static String assign(Map<String, String> in) throws Exception {
        int partitions = Integer.parseInt(in.get("partitions")), factor = Integer.parseInt(in.get("factor"));
        int index = Integer.parseInt(in.get("start_index")), first = Integer.parseInt(in.get("start_partition"));
        boolean isScala = exists("kafka.admin.AdminUtils$");
        boolean isOld = exists("kafka.admin.BrokerMetadata");
        Constructor<?> metadata = type(isOld ? "kafka.admin.BrokerMetadata" : "org.apache.kafka.admin.BrokerMetadata")
            .getConstructors()[0];
        List<Object> brokers = new ArrayList<>();
        for (String one : in.get("brokers").split(";")) {
            String[] parts = one.split(":", -1);
            Object rack = isOld ? call(module("scala.Option"), "apply", parts[1].isEmpty() ? null : parts[1])
                : Optional.of(parts[1]).filter(name -> !name.isEmpty());
            brokers.add(metadata.newInstance(Integer.parseInt(parts[0]), rack));
        }
        Map<Integer, String> placed = new TreeMap<>();
        if (isScala) {
            Object list = module("scala.collection.immutable.Nil");
            Constructor<?> cons = type("scala.collection.immutable.$colon$colon").getConstructors()[0];
            for (int i = brokers.size() - 1; i >= 0; i--) list = cons.newInstance(brokers.get(i), list);
            Object utils = module("kafka.admin.AdminUtils");
            for (Object pair : items(call(utils, "assignReplicasToBrokers", list, partitions, factor, index, first)))
                placed.put((Integer) call(pair, "_1"), text(items(call(pair, "_2"))));
        } else {
            Class<?> utils = type("org.apache.kafka.admin.AdminUtils");
            Object made = call(utils, "assignReplicasToBrokers", brokers, partitions, factor, index, first);
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) made).entrySet())
                placed.put((Integer) entry.getKey(), text((List<?>) entry.getValue()));
        }
        return "placed=" + String.join(";", placed.values());
    }

    private static Object module(String name) throws Exception {
        return constant(name + "$", "MODULE$");
    }

    private static List<Object> items(Object scala) throws Exception {
        List<Object> all = new ArrayList<>();
        String iterable = "scala.collection.Iterable" + (exists("scala.collection.IterableOnce") ? "Once" : "Like");
        Object iterator = type(iterable).getMethod("iterator").invoke(scala);
        Class<?> type = type("scala.collection.Iterator");
        while ((boolean) type.getMethod("hasNext").invoke(iterator)) all.add(type.getMethod("next").invoke(iterator));
        return all;
    }

    private static String answer(Map<String, String> in) throws Exception {
        switch (in.get("op")) {
            case "partition_change": return partitionChange(in);
            case "revert": return revert(in);
            case "place_striped": return placeStriped(in);
            default: return assign(in);
        }
    }

    public static void main(String[] names) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            Map<String, String> in = new LinkedHashMap<>();
            for (String part : line.split(" ")) in.put(part.split("=", 2)[0], part.split("=", 2)[1]);
            String answer;
            try {
                answer = answer(in);
            } catch (Exception e) {
                Throwable cause = e;
                while (cause.getCause() != null) cause = cause.getCause();
                answer = "refused=" + cause.getClass().getSimpleName();
            }
            System.out.println("answer " + answer);
        }
    }
}
