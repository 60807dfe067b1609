/* test_network_file: networks as text and as JSON, and what is said of files that describe none. */
#include <math.h>
#include <unistd.h>
#include "check.h"
#include "topo_tree/network/file.h"

typedef struct {
    const char *text, *why; /* why: of "net", after the name */
} bad_t;

static hp_status_t parse(hp_network_t *network, const char *text, char *why)
{
    hp_network_init(network);
    return hp_network_parse(network, "net", text, strlen(text), why, HP_NETWORK_WHY_BYTES);
}

static void assert_link(const hp_network_t *network, const char *from, const char *to, double rate,
                        double latency_us)
{
    for (uint32_t i = 0; i < hp_network_links(network); i++) {
        const hp_network_link_t link = hp_network_link(network, i);
        if (strcmp(link.from, from) != 0 || strcmp(link.to, to) != 0)
            continue;
        if (fabs(link.speed.rate - rate) > 1e-9 * rate || link.speed.latency_us != latency_us)
            fail_msg("%s to %s: %g MB/s, %g us", from, to, link.speed.rate, link.speed.latency_us);
        return;
    }
    fail_msg("no link from %s to %s", from, to);
}

/* The two examples of file.h, which are not far from each other. */
static void check_example(const char *text)
{
    char why[HP_NETWORK_WHY_BYTES];
    hp_network_t network;

    if (parse(&network, text, why) != HP_OK)
        fail_msg("%s", why);
    assert_int_equal(network.machine_count, 8);
    assert_link(&network, "a", "s0", 125, 20);
    assert_link(&network, "s0", "n08", 125, 20);
    assert_link(&network, "n11", "s0", 125, 20);
    assert_link(&network, "c", "s1", 12.5, 30);
    assert_link(&network, "s0", "s1", 1250, 5);
    assert_link(&network, "s1", "s0", 125, 5);
    assert_true(network.inside.rate == 10000 && network.inside.latency_us == 0.5);
    assert_true(network.queue == 64000);
    assert_int_equal(network.nodes[hp_network_node(&network, "n10")].ranks, 4);
    assert_int_equal(network.nodes[hp_network_node(&network, "a")].ranks, 1);
    assert_int_equal(hp_network_machine(&network, "n09"), 3);
    hp_network_fini(&network);
}

static void examples(void **state)
{
    (void)state;
    check_example("# a comment\n"
                  "links 1gbit 20us   # from here on\n"
                  "hosts a b n[08-11]:4 on s0\r\n"
                  "\n"
                  "hosts c d on s1 100mbit 30us; s0 - s1 10gbit/1gbit 5us\n"
                  "inside 80gbit 0.5us\n"
                  "queue 64KB");
    check_example(
        " {\"format\": 1, \"comment\": \"...\", \"usual\": {\"rate\": \"1gbit\", \"latency\": \"20us\"},"
        "\"inside\": {\"rate\": \"80gbit\", \"latency\": \"0.5us\"}, \"queue\": \"64kb\", \"switches\": [\"s0\", \"s1\"],"
        "\"hosts\": [{\"names\": [\"a\", \"b\", \"n[08-11]:4\"], \"switch\": \"s0\"},"
        "{\"names\": [\"c\", \"d\"], \"switch\": \"s1\", \"rate\": \"100mbit\", \"latency\": \"30us\"}],"
        "\"links\": [{\"between\": [\"s0\", \"s1\"], \"rate\": \"10gbit/1gbit\", \"latency\": \"5us\"}]}");
}

/* The shortest there is; of what it does not say: 1 Gbit/s, no latency, no limit inside. */
static void nothing_said(void **state)
{
    char why[HP_NETWORK_WHY_BYTES];
    hp_network_t network;
    (void)state;

    assert_int_equal(parse(&network, "hosts a b c on s0; hosts d on s1; s0 - s1 10gbit", why), HP_OK);
    assert_link(&network, "a", "s0", HP_NETWORK_RATE, 0);
    assert_link(&network, "s0", "s1", 1250, 0);
    assert_true(isinf(network.inside.rate));
    assert_true(network.queue == 0);
    hp_network_fini(&network);
    assert_int_equal(parse(&network, "hosts a on s; queue lossless", why), HP_OK);
    assert_true(isinf(network.queue));
    hp_network_fini(&network);
}

static void units(void **state)
{
    static const struct {
        const char *text;
        double rate;
    } rates[] = {{"8bit", 1e-6},     {"8kbit", 1e-3}, {"1Mbit/s", 0.125}, {"1.5Gbit", 187.5},
                 {"1tbit", 125000},  {"5B", 5e-6},    {"2KB/s", 2e-3},    {"3MB", 3},
                 {"1.25GB/s", 1250}, {"1e3MB", 1000}, {"2TB", 2e6},       {"1GB/s/2GB/s", 1000}};
    static const struct {
        const char *text;
        double us;
    } times[] = {{"500ns", 0.5}, {"1.5us", 1.5}, {"2ms", 2000}, {"1s", 1e6}, {"0us", 0}};
    char text[128], why[HP_NETWORK_WHY_BYTES];
    hp_network_t network;
    (void)state;

    for (unsigned i = 0; i < ARRAY_LENGTH(rates) * ARRAY_LENGTH(times); i++) {
        snprintf(text, sizeof text, "hosts a on s %s %s", rates[i % ARRAY_LENGTH(rates)].text,
                 times[i / ARRAY_LENGTH(rates)].text);
        if (parse(&network, text, why) != HP_OK)
            fail_msg("%s", why);
        assert_link(&network, "a", "s", rates[i % ARRAY_LENGTH(rates)].rate,
                    times[i / ARRAY_LENGTH(rates)].us);
        hp_network_fini(&network);
    }
}

static void refuse_all(const bad_t *bad, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char why[HP_NETWORK_WHY_BYTES] = "", expected[HP_NETWORK_WHY_BYTES];
        hp_network_t network;
        snprintf(expected, sizeof expected, "net:%s", bad[i].why);
        if (parse(&network, bad[i].text, why) != HP_ERR_ARG)
            fail_msg("accepted: %s", bad[i].text);
        if (strncmp(why, expected, strlen(expected)) != 0)
            fail_msg("\"%s\"\nwhere \"%s\" was expected, of: %s", why, expected, bad[i].text);
        hp_network_fini(&network);
    }
}

static void bad_texts(void **state)
{
    static const bad_t bad[] = {
        {"", " no hosts: expected at least one"},
        {"# hosts a on s\n", " no hosts: expected at least one"},
        {"s0 - s1 1gbit", " no hosts: expected at least one"},
        {"hosts a on s0\nhosts b on s1\ns0 - s1\ns1 - s0",
         "4: a link from \"s1\" to \"s0\" closes a cycle: expected a tree, in which they are connected once"},
        {"hosts a on s0;hosts b on s1\ns0 - s1; s1 - s2\nhosts c on s2; s2 - s0",
         "3: a link from \"s2\" to \"s0\" closes a cycle"},
        {"s0 - s0", "1: a link from \"s0\" to itself: expected two switches"},
        {"hosts a on s0\nhosts b on s1",
         "2: \"s1\" is not connected with \"s0\": expected one tree, not parts"},
        {"hosts a on s0\nhosts b on s0\n\ns0 - s1",
         "4: switch \"s1\" leads nowhere: expected hosts on it, or links to two others"},
        {"hosts a b on s0\nhosts c on s1\nhosts a on s1",
         "3: host \"a\" is there already: expected each host once"},
        {"hosts n[1-5] n3 on s0", "1: host \"n3\" is there already"},
        {"hosts s0 on s0", "1: switch \"s0\" is there already"},
        {"hosts a b on s0\na - s0", "2: \"a\" is a host: expected a switch, hosts have one link"},
        {"hosts a on s0\nhosts b on a", "2: \"a\" is a host"},
        {"hosts a on s0 0gbit", "1: a link of rate 0gbit carries nothing: expected more than 0"},
        {"hosts a on s0 1gbit/0bit", "1: a link of rate 0bit carries nothing"},
        {"hosts a on s0 -1gbit",
         "1: \"-1gbit\" is no rate: expected bits or bytes a second such as 10gbit or 1.2GB"},
        {"hosts a on s0 10", "1: \"10\" is no rate"},
        {"hosts a on s0 10gbits", "1: \"10gbits\" is no rate"},
        {"hosts a on s0 nangbit", "1: \"nangbit\" is no rate"},
        {"hosts a on s0 infgbit", "1: \"infgbit\" is no rate"},
        {"hosts a on s0 1e400gbit", "1: \"1e400gbit\" is no rate"},
        {"hosts a on s0 0x10gbit", "1: \"0x10gbit\" is no rate"},
        {"hosts a on s0 1gbit/", "1: \"\" is no rate"},
        {"hosts a on s0 1gbit 5", "1: \"5\" is no latency: expected a time such as 1.5us"},
        {"hosts a on s0 1gbit -5us", "1: \"-5us\" is no latency"},
        {"hosts a on s0 1gbit 5us now", "1: \"now\" after the latency: expected the statement's end"},
        {"hosts on s0", "1: hosts without a name: expected \"hosts NAME ... on SWITCH\""},
        {"hosts a b", "1: hosts without a switch"},
        {"hosts a on", "1: hosts without a switch"},
        {"hosts a:0 on s0", "1: \"a:0\": expected a number of ranks after the colon, from 1 to 1048576"},
        {"hosts a:1048577 on s0", "1: \"a:1048577\": expected a number of ranks"},
        {"hosts a:4x on s0", "1: \"a:4x\": expected a number of ranks"},
        {"hosts n[1-] on s0", "1: \"n[1-]\": expected a range such as n[0-15]"},
        {"hosts n[5-1] on s0", "1: \"n[5-1]\": expected a range"},
        {"hosts n[1-5 on s0", "1: \"n[1-5\": expected a range"},
        {"hosts n[0-999999999] on s0", "1: \"n[0-999999999]\" are more than 1048576 names"},
        {"hosts n[0-9999999999] on s0", "1: \"n[0-9999999999]\": expected a range"},
        {"hosts a! on s0", "1: \"a!\" is no name: expected letters, digits and . _ -"},
        {"s0 - \033[1m", "1: \"?[1m\" is no name"},
        {"\n\nlink 1gbit",
         "3: \"link\" begins no statement: expected \"hosts NAME ... on SWITCH [RATE [LATENCY]]\""},
        {"links", "1: links without a rate: expected"},
        {"links 1gbit/2gbit", "1: two rates: expected one"},
        {"inside 0gbit", "1: a link of rate 0gbit carries nothing"},
        {"s0 -", "1: \"s0\" begins no statement"},
        {"queue", "1: queue with 0 words: expected \"queue BYTES\" or \"queue lossless\""},
        {"queue 64 KB", "1: queue with 2 words: expected"},
        {"queue 0KB", "1: \"0KB\" is no queue: expected bytes such as 64KB, or lossless"},
        {"queue 64kbit", "1: \"64kbit\" is no queue"},
    };
    (void)state;

    refuse_all(bad, ARRAY_LENGTH(bad));
}

static void bad_json(void **state)
{
#define HEAD   "{\"format\": 1, \"switches\": [\"s0\", \"s1\"], "
#define A_ON_0 "{\"names\": [\"a\"], \"switch\": \"s0\"}"
#define B_ON_1 "{\"names\": [\"b\"], \"switch\": \"s1\"}"
    static const bad_t bad[] = {
        {"{", "1: "},
        {"{\n\"format\": 1,\n}", "3: "},
        {"{\"format\": 1, \"format\": 1}", "1: duplicate object key"},
        {"{}", " there is no \"format\": expected \"format\": 1"},
        {"{\"format\": 2}", " a format that is not known: expected \"format\": 1"},
        {"{\"format\": 1, \"host\": []}", " unknown key \"host\": expected format, comment, usual, inside, queue, "
                                          "switches, hosts, links"},
        {HEAD "\"hosts\": []}", " no hosts: expected at least one"},
        {HEAD "\"hosts\": {}}", " hosts: no array: expected [...]"},
        {HEAD "\"hosts\": [" A_ON_0 "]}",
         " \"s1\" is not connected with \"s0\": expected one tree, not parts"},
        {HEAD "\"hosts\": [" A_ON_0 "], \"links\": [{\"between\": [\"s0\", \"s1\"]}]}",
         " switch \"s1\" leads nowhere"},
        {HEAD "\"hosts\": [" A_ON_0 ", " A_ON_0 "]}", " hosts[1]: host \"a\" is there already"},
        {HEAD "\"hosts\": [" A_ON_0 ", {\"names\": [\"b\"], \"switch\": \"s9\"}]}",
         " hosts[1]: there is no switch \"s9\": expected one of \"switches\""},
        {HEAD "\"hosts\": [{\"names\": [\"a\"]}]}", " hosts[0]: there is no \"switch\": expected a text"},
        {HEAD "\"hosts\": [{\"names\": [\"a\"], \"switch\": 3}]}", " hosts[0]: no text in \"switch\""},
        {HEAD "\"hosts\": [{\"switch\": \"s0\"}]}",
         " hosts[0]: no \"names\": expected an array of host names"},
        {HEAD "\"hosts\": [{\"names\": [\"a\", 7], \"switch\": \"s0\"}]}", " hosts[0]: names[1] is no text"},
        {HEAD "\"hosts\": [7]}", " hosts[0]: no object: expected {...}"},
        {HEAD "\"hosts\": [{\"names\": [\"a\"], \"switch\": \"s0\", \"rate\": \"0gbit\"}]}",
         " hosts[0]: a link of rate 0gbit carries nothing"},
        {HEAD "\"hosts\": [{\"names\": [\"a\"], \"switch\": \"s0\", \"rate\": 10}]}",
         " hosts[0]: no text in \"rate\""},
        {HEAD "\"hosts\": [" A_ON_0 ", " B_ON_1 "], \"links\": [{\"between\": [\"s0\", \"s1\"]}, "
              "{\"between\": [\"s1\", \"s0\"]}]}",
         " links[1]: a link from \"s1\" to \"s0\" closes a cycle"},
        {HEAD "\"hosts\": [" A_ON_0 "], \"links\": [{\"between\": [\"s0\", \"b\"]}]}",
         " links[0]: there is no switch \"b\""},
        {HEAD "\"hosts\": [" A_ON_0 "], \"links\": [{\"between\": [\"s0\", \"a\"]}]}",
         " links[0]: \"a\" is a host: expected a switch"},
        {HEAD "\"hosts\": [" A_ON_0 "], \"links\": [{\"between\": [\"s0\"]}]}",
         " links[0]: no \"between\": expected an array of two switches"},
        {"{\"format\": 1, \"switches\": [\"s0\", \"s0\"]}", " switches[1]: switch \"s0\" is there already"},
        {"{\"format\": 1, \"switches\": [4]}", " switches[0]: no text: expected a name"},
        {"{\"format\": 1, \"usual\": {\"rate\": \"1gbit/2gbit\"}}", " usual: two rates: expected one"},
        {"{\"format\": 1, \"queue\": 7}", " no text in \"queue\": expected a text"},
        {"{\"format\": 1, \"queue\": \"deep\"}", " \"deep\" is no queue"},
        {"{\"format\": 1, \"inside\": 7}", " inside: no object: expected {...}"},
        {"{\"format\": 1, \"inside\": {\"latency\": \"soon\"}}", " inside: \"soon\" is no latency"},
    };
    (void)state;

    refuse_all(bad, ARRAY_LENGTH(bad));
}

static void bytes_0(void **state)
{
    static const char text[] = "hosts a on s0\nhosts \0 on s0";
    char why[HP_NETWORK_WHY_BYTES];
    hp_network_t network;
    (void)state;

    hp_network_init(&network);
    assert_int_equal(hp_network_parse(&network, "net", text, sizeof text - 1, why, sizeof why), HP_ERR_ARG);
    assert_string_equal(why, "net:2: a byte 0: expected text");
    hp_network_fini(&network);
}

static void files(void **state)
{
    char path[] = "/tmp/hanpmpi_network_XXXXXX", why[HP_NETWORK_WHY_BYTES], expected[128];
    hp_network_t network;
    (void)state;

    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "hosts a b on s0\n", 16), 16);
    hp_network_init(&network);
    assert_int_equal(hp_network_read(&network, path, why, sizeof why), HP_OK);
    assert_int_equal(network.machine_count, 2);
    hp_network_fini(&network);
    assert_int_equal(ftruncate(fd, HP_NETWORK_FILE_BYTES_MAX + 1), 0);
    assert_int_equal(hp_network_read(&network, path, why, sizeof why), HP_ERR_ARG);
    snprintf(expected, sizeof expected, "%s: it is too large: expected a network as text or JSON", path);
    assert_string_equal(why, expected);
    close(fd);
    unlink(path);
    assert_int_equal(hp_network_read(&network, path, why, sizeof why), HP_ERR_ARG);
    snprintf(expected, sizeof expected, "%s: No such file or directory: expected", path);
    assert_memory_equal(why, expected, strlen(expected));
    assert_int_equal(hp_network_read(&network, "/tmp", why, sizeof why), HP_ERR_ARG);
    assert_string_equal(why, "/tmp: it is a directory: expected a network as text or JSON");
    hp_network_fini(&network);
}

static void read_network(hp_network_t *network, const char *path)
{
    char why[HP_NETWORK_WHY_BYTES];

    hp_network_init(network);
    if (hp_network_read(network, path, why, sizeof why) != HP_OK)
        fail_msg("%s", why);
}

/* Ranges, a continued line, keys in small letters, a speed; switches named before they are described. */
static void slurm(void **state)
{
    hp_network_t network;
    (void)state;

    read_network(&network, NETWORKS_DIR "/slurm.conf");
    assert_int_equal(network.machine_count, 11);
    assert_int_equal(network.node_count, 11 + 4);
    assert_link(&network, "top", "leaf0", 5000, 0);
    assert_link(&network, "leaf2", "top", 5000, 0);
    assert_link(&network, "n02", "leaf0", 1250, 0);
    assert_link(&network, "leaf0", "n05", 1250, 0);
    assert_link(&network, "login", "leaf1", HP_NETWORK_RATE, 0);
    assert_link(&network, "leaf2", "r1c0", HP_NETWORK_RATE, 0);
    hp_network_fini(&network);
}

/* Two spines are one switch, parallel cables one link; what is no host and leads nowhere is left out. */
static void ibnetdiscover(void **state)
{
    hp_network_t network;
    (void)state;

    read_network(&network, NETWORKS_DIR "/fabric.ibnet");
    assert_true(isinf(network.queue));
    assert_int_equal(network.machine_count, 3);
    assert_int_equal(network.node_count, 3 + 3);
    assert_link(&network, "a", "S-leaf0", 25000, 0);
    assert_link(&network, "S-leaf0", "b", 25000, 0);
    assert_link(&network, "c", "S-leaf1", 4000, 0);
    const char *spine = hp_network_node(&network, "S-spine0") >= 0 ? "S-spine0" : "S-spine1";
    assert_link(&network, "S-leaf0", spine, 3 * 12500, 0);
    assert_link(&network, spine, "S-leaf1", 2 * 12500, 0);
    hp_network_fini(&network);
}

/* Three stages: two pods of two leaves and two switches above them, each of which leads to two spines of its own. */
static void three_stages(void **state)
{
    char text[16384] = "vendid=0x2c9\n", why[HP_NETWORK_WHY_BYTES];
    size_t used = strlen(text);
    hp_network_t network;
    (void)state;

    for (unsigned pod = 0; pod < 2; pod++)
        for (unsigned leaf = 0; leaf < 2; leaf++)
            used += (size_t)sprintf(text + used,
                                    "Switch 4 \"L%u%u\" # \"\"\n[1] \"H%u%u\"[1] # 4xEDR\n[2] \"A%u0\"[1] # "
                                    "4xEDR\n[3] \"A%u1\"[1] # "
                                    "4xEDR\nCa 1 \"H%u%u\" # \"h%u%u HCA\"\n[1] \"L%u%u\"[1] # 4xEDR\n",
                                    pod, leaf, pod, leaf, pod, pod, pod, leaf, pod, leaf, pod, leaf);
    for (unsigned pod = 0; pod < 2; pod++)
        for (unsigned a = 0; a < 2; a++)
            used += (size_t)sprintf(text + used,
                                    "Switch 4 \"A%u%u\" # \"\"\n[1] \"L%u0\"[1] # 4xEDR\n[2] \"L%u1\"[1] # "
                                    "4xEDR\n[3] \"C%u0\"[1] # 4xEDR\n[4] \"C%u1\"[1] # 4xEDR\n",
                                    pod, a, pod, pod, a, a);
    for (unsigned a = 0; a < 2; a++)
        for (unsigned c = 0; c < 2; c++)
            used += (size_t)sprintf(text + used,
                                    "Switch 4 \"C%u%u\" # \"\"\n[1] \"A0%u\"[3] # 4xEDR\n[2] \"A1%u\"[3] # "
                                    "4xEDR\n",
                                    a, c, a, a);
    if (parse(&network, text, why) != HP_OK)
        fail_msg("%s", why);
    assert_int_equal(network.machine_count, 4);
    assert_int_equal(network.node_count, 4 + 4 + 2 + 1);
    double up = 0;
    for (uint32_t i = 0; i < hp_network_links(&network); i++) {
        const hp_network_link_t link = hp_network_link(&network, i);
        if (link.from[0] == 'C' && link.to[0] == 'A')
            up += link.speed.rate;
    }
    assert_true(up == 8 * 12500); /* all cables of the spines */
    hp_network_fini(&network);
}

/* Lists of names, in the short text, too. */
static void lists(void **state)
{
    char why[HP_NETWORK_WHY_BYTES];
    hp_network_t network;
    (void)state;

    assert_int_equal(parse(&network, "hosts a,b,n[0-2,07-08]x[1]:3 c on s0", why), HP_OK);
    assert_int_equal(network.machine_count, 8);
    assert_int_equal(hp_network_machine(&network, "n2x1"), 4);
    assert_int_equal(hp_network_machine(&network, "n08x1"), 6);
    assert_int_equal(hp_network_machine(&network, "c"), 7);
    assert_int_equal(network.nodes[hp_network_node(&network, "a")].ranks, 3);
    assert_int_equal(network.nodes[hp_network_node(&network, "c")].ranks, 1);
    hp_network_fini(&network);
}

/* Noise, and descriptions with bytes changed, cut or doubled: a network or a reason, nothing else. */
static void noise(void **state)
{
    static const char *const seeds[] = {
        "links 1gbit 20us\nhosts a b n[08-11]:4 on s0\nhosts c d on s1 1mbit 3us; s0 - s1 1gbit/1gbit 5us # "
        "x",
        "{\"format\": 1, \"switches\": [\"s0\"], \"hosts\": [{\"names\": [\"a\"], \"switch\": \"s0\"}]}",
        "SwitchName=s0 Nodes=n[0-3,8] LinkSpeed=10\nSwitchName=s1 Nodes=a,b\\\n\nSwitchName=t "
        "Switches=s[0-1] # x",
        "vendid=0x2\nSwitch 4 \"S0\" # \"\"\n[1] \"Ha\"[1] # 4xEDR\n[2] \"Hb\"[1] # 4xEDR\nCa 1 \"Ha\" # \"a "
        "HCA\"\n[1] \"S0\"[1] # 4xEDR\nCa 1 \"Hb\" # \"b HCA\"\n[1] \"S0\"[2] # 4xEDR"};
    check_random_t random = check_random_start("noise");
    unsigned taken = 0;
    (void)state;

    for (unsigned round = 0; round < 20000; round++) {
        const char *seed = seeds[round % ARRAY_LENGTH(seeds)];
        char text[256], why[HP_NETWORK_WHY_BYTES] = "";
        size_t length = strlen(seed);
        hp_network_t network;
        memcpy(text, seed, length);
        for (unsigned change = 0; change <= round % 4; change++) {
            const uint32_t at = check_random_below(&random, (uint32_t)length);
            if (change % 3 == 2)
                length = at + 1;
            text[at] = change % 2 ? (char)check_random_below(&random, 256)
                                  : text[check_random_below(&random, (uint32_t)length)];
        }
        hp_network_init(&network);
        const hp_status_t status = hp_network_parse(&network, "net", text, length, why, sizeof why);
        assert_true(status == HP_OK || (status == HP_ERR_ARG && strncmp(why, "net:", 4) == 0));
        taken += status == HP_OK;
        hp_network_fini(&network);
    }
    assert_true(taken > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),      cmocka_unit_test(nothing_said), cmocka_unit_test(units),
        cmocka_unit_test(bad_texts),     cmocka_unit_test(bad_json),     cmocka_unit_test(bytes_0),
        cmocka_unit_test(files),         cmocka_unit_test(noise),        cmocka_unit_test(slurm),
        cmocka_unit_test(ibnetdiscover), cmocka_unit_test(three_stages), cmocka_unit_test(lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
