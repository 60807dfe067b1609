/* test_network_rows: the order in which a network is shown, and which hosts are one row. */
#include "check.h"
#include "topo_tree/network/file.h"
#include "topo_tree/network/rows.h"

static void read_text(hp_network_t *network, const char *text)
{
    char why[HP_NETWORK_WHY_BYTES];

    hp_network_init(network);
    if (hp_network_parse(network, "net", text, strlen(text), why, sizeof why) != HP_OK)
        fail_msg("%s", why);
}

typedef struct {
    const char *name;
    uint32_t hosts, depth;
    double place;
    bool is_last;
} wanted_t;

static void assert_rows(const hp_network_t *network, const double *link_bytes, const wanted_t *wanted,
                        uint32_t count)
{
    hp_network_rows_t rows;

    assert_int_equal(hp_network_rows_init(&rows, network, link_bytes, 100), HP_OK);
    assert_int_equal(rows.count, count);
    for (uint32_t i = 0; i < count; i++) {
        const hp_network_row_t *row = &rows.rows[i];
        assert_string_equal(network->nodes[row->first].name, wanted[i].name);
        assert_int_equal(row->hosts, wanted[i].hosts);
        assert_int_equal(row->depth, wanted[i].depth);
        assert_true(row->place == wanted[i].place);
        assert_int_equal(row->is_last, wanted[i].is_last);
    }
    hp_network_rows_fini(&rows);
}

/* Rooms, rates and loads tell hosts apart; hosts come before the switches that were named before them. */
static void rows_of_hosts(void **state)
{
    hp_network_t network;
    (void)state;

    read_text(&network, "hosts a0 a1 a2 on s0\ns0 - s1\nhosts b0 b1 on s1\nhosts c0 on s0 2gbit\nhosts c1:2 "
                        "c2:2 on s0 2gbit");
    assert_rows(&network, NULL,
                (wanted_t[]){{"s0", 0, 0, 1.5, true},
                             {"a0", 3, 1, 0, false},
                             {"c0", 1, 1, 1, false},
                             {"c1", 2, 1, 2, false},
                             {"s1", 0, 1, 3, true},
                             {"b0", 2, 2, 3, true}},
                6);
    double *bytes = calloc(hp_network_links(&network), sizeof *bytes);
    bytes[2 * hp_network_node(&network, "a1") + 1] = 8;
    assert_rows(&network, bytes,
                (wanted_t[]){{"s0", 0, 0, 2.5, true},
                             {"a0", 1, 1, 0, false},
                             {"a1", 1, 1, 1, false},
                             {"a2", 1, 1, 2, false},
                             {"c0", 1, 1, 3, false},
                             {"c1", 2, 1, 4, false},
                             {"s1", 0, 1, 5, true},
                             {"b0", 2, 2, 5, true}},
                8);
    free(bytes);
    hp_network_fini(&network);
}

static void too_many(void **state)
{
    hp_network_t network;
    hp_network_rows_t rows;
    (void)state;

    read_text(&network, "hosts a on s0; hosts b on s1; s0 - s1");
    assert_int_equal(hp_network_rows_init(&rows, &network, NULL, 4), HP_OK);
    hp_network_rows_fini(&rows);
    assert_int_equal(hp_network_rows_init(&rows, &network, NULL, 3), HP_ERR_ARG);
    hp_network_rows_fini(&rows);
    hp_network_fini(&network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_hosts), cmocka_unit_test(too_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
