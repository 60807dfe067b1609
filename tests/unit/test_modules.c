/* test_modules: the words of HANPMPI_MODULES, and which module a level gets. */
#include "check.h"
#include "hier/collectives/algorithm.h"
#include "hier/modules/modules.h"
#include "places.h"

static hp_modules_t all(hp_module_id_t id)
{
    hp_modules_t modules;
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        modules.module[level] = (uint8_t)id;
    return modules;
}

static void words_that_are_accepted(void **state)
{
    (void)state;
    hp_modules_t modules = all(HP_MODULE_P2P);
    char error[256] = "";

    assert_int_equal(hp_modules_parse("", &modules, error, sizeof error), HP_OK);
    assert_int_equal(
        hp_modules_parse("node:native package:shm,core:single_copy", &modules, error, sizeof error), HP_OK);
    assert_int_equal(modules.module[HP_LEVEL_NODE], HP_MODULE_NATIVE);
    assert_int_equal(modules.module[HP_LEVEL_PACKAGE], HP_MODULE_SHM);
    assert_int_equal(modules.module[HP_LEVEL_CORE], HP_MODULE_SINGLE_COPY);
    assert_int_equal(modules.module[HP_LEVEL_NUMA], HP_MODULE_P2P); /* not named */
    for (unsigned id = 0; id < HP_MODULE_COUNT; id++)
        for (unsigned level = HP_LEVEL_PACKAGE; level < HP_LEVEL_COUNT; level++) {
            char text[64];
            snprintf(text, sizeof text, "%s:%s", hp_level_name((hp_level_t)level),
                     hp_module_name((hp_module_id_t)id));
            assert_int_equal(hp_modules_parse(text, &modules, error, sizeof error), HP_OK);
            assert_int_equal(modules.module[level], id);
        }
    assert_string_equal(error, "");
}

/* The message says what was wrong and what would do; nothing changes. */
static void words_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names, *accepts;
    } wrong[] = {
        {"core:tree", "tree", "p2p, shm, single_copy, native"},
        {"core:sh", "sh", "p2p, shm, single_copy, native"},
        {"core:shmm", "shmm", "p2p, shm, single_copy, native"},
        {"core", "core", "p2p, shm, single_copy, native"},
        {"core:", "core", "p2p, shm, single_copy, native"},
        {"socket:shm", "socket", "node, package, numa, l3, core"},
        {"core:shm core:p2p", "core", "once"},
        {"node:shm", "shm", "node accepts p2p, native"},
        {"core:p2p node:single_copy", "single_copy", "node accepts p2p, native"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        hp_modules_t modules = all(HP_MODULE_SHM);
        const hp_modules_t before = modules;
        char error[256] = "";
        assert_int_equal(hp_modules_parse(wrong[i].text, &modules, error, sizeof error), HP_ERR_ARG);
        if (!strstr(error, wrong[i].names) || !strstr(error, wrong[i].accepts))
            fail_msg("'%s' is refused with: %s", wrong[i].text, error);
        assert_memory_equal(&modules, &before, sizeof modules);
    }
}

static void every_module_has_a_name_and_a_description(void **state)
{
    (void)state;
    for (unsigned id = 0; id < HP_MODULE_COUNT; id++) {
        assert_true(strlen(hp_module_name((hp_module_id_t)id)) > 0);
        assert_true(strlen(hp_module_description((hp_module_id_t)id)) > 10);
        assert_non_null(hp_module((hp_module_id_t)id)->serves);
    }
}

static hp_knobs_t knobs(void)
{
    extern char **environ;
    char **kept = environ, *none = NULL;
    hp_knobs_t read;
    environ = &none;
    hp_knobs_read(&read, NULL, NULL, NULL);
    environ = kept;
    return read;
}

static hp_comm_t *comm_of(const char *machine, uint32_t count, hp_transport_t *transport)
{
    const hp_knobs_t defaults = knobs();
    hp_locality_t *table = places_synthetic(machine, count);
    hp_comm_t *comm = NULL;
    assert_int_equal(hp_comm_create(0, count, table, &defaults, transport, &comm), HP_OK);
    free(table);
    return comm;
}

/* single_copy gives way to shm, shm to p2p, native to p2p. */
static void what_cannot_serve_gives_way(void **state)
{
    (void)state;
    static const hp_transport_ops_t no_ops = {0};
    hp_transport_t transport = {.ops = &no_ops};
    hp_comm_t *comm = comm_of("node:2 core:4", 8, &transport);
    const hp_type_t byte = {.bytes = 1, .extent = 1, .true_extent = 1};
    const hp_type_t gaps = {.bytes = 8, .extent = 16, .true_extent = 8};
    hp_call_t call = {.collective = HP_BCAST, .type = byte};

#define CHOOSE(id, between) hp_module_choose(comm, HP_MODULE_##id, between, &call)
    assert_int_equal(CHOOSE(SINGLE_COPY, false), HP_MODULE_P2P);
    assert_int_equal(CHOOSE(SHM, false), HP_MODULE_P2P);
    assert_int_equal(CHOOSE(NATIVE, false), HP_MODULE_P2P); /* the transport offers nothing */
    assert_int_equal(CHOOSE(P2P, false), HP_MODULE_P2P);
    comm->shares_memory = true;
    assert_int_equal(CHOOSE(SINGLE_COPY, false), HP_MODULE_SHM);
    assert_int_equal(CHOOSE(SHM, false), HP_MODULE_SHM);
    comm->reads_peers = true;
    assert_int_equal(CHOOSE(SINGLE_COPY, false), HP_MODULE_SINGLE_COPY);
    assert_int_equal(CHOOSE(SINGLE_COPY, true), HP_MODULE_P2P); /* between nodes there is no such thing */
    assert_int_equal(CHOOSE(SHM, true), HP_MODULE_P2P);
    call.type = gaps;
    assert_int_equal(CHOOSE(SINGLE_COPY, false), HP_MODULE_P2P);
    assert_int_equal(CHOOSE(SHM, false), HP_MODULE_P2P);
    call.type = (hp_type_t){.bytes = 1 << 20, .extent = 1 << 20, .true_extent = 1 << 20};
    assert_int_equal(CHOOSE(SHM, false), HP_MODULE_P2P); /* one element is more than a slot */
#undef CHOOSE
    hp_comm_destroy(comm);
}

/* The memory is as wide as the levels inside the node are deep, and every slot begins on a line. */
static void the_shape_of_the_memory(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        uint32_t ranks, members, levels;
        bool may_share;
    } cases[] = {{"node:1 core:4", 4, 4, 1, true},           {"node:2 core:4", 8, 4, 1, true},
                 {"node:2 package:2 core:2", 8, 4, 2, true}, {"node:1 package:2 core:2", 4, 4, 2, true},
                 {"node:2 core:4", 5, 4, 1, true},           {"node:4 core:1", 4, 1, 1, false}};
    static const int64_t slot_bytes[] = {64, 100, 65, 32768, 33000};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        hp_comm_t *comm = comm_of(cases[i].machine, cases[i].ranks, NULL);
        const hp_node_shape_t shape = hp_comm_node_shape(comm);
        assert_int_equal(hp_comm_may_share(comm), cases[i].may_share);
        assert_int_equal(shape.members, cases[i].members);
        assert_int_equal(shape.levels, cases[i].levels);
        for (size_t k = 0; k < ARRAY_LENGTH(slot_bytes); k++) {
            comm->knobs.slot_bytes = slot_bytes[k];
            assert_int_equal(hp_comm_node_shape(comm).slot_bytes % 64, 0);
            assert_true(hp_comm_node_shape(comm).slot_bytes >= (size_t)slot_bytes[k]);
        }
        hp_comm_destroy(comm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_are_accepted),
        cmocka_unit_test(words_that_are_refused),
        cmocka_unit_test(every_module_has_a_name_and_a_description),
        cmocka_unit_test(what_cannot_serve_gives_way),
        cmocka_unit_test(the_shape_of_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
