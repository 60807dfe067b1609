/* test_golden: placements on recorded and synthetic machines, drawn and compared byte by byte.
 *
 * cases/NAME.case, one setting a line, '#' begins a comment:
 *     host MACHINE BINDING...   a host with the hardware of machines/MACHINE.xml and one rank a binding: a
 * list of PUs,
 *                               "-" for unbound. The hosts are numbered in the order of these lines.
 *     map round-robin           ranks are dealt out to the hosts in turn; else host after host
 *     levels, shapes            as hp_levels_parse and hp_shapes_parse read them (shapes begin as linear)
 *     root RANK
 * golden/NAME.txt is what is expected: the localities read, the levels, the tree as text and as DOT.
 *
 * The machines were written by `lstopo --of xml` (the synthetic ones with --input "package:2 numa:2 l3:1
 * core:8 pu:2" and the like), without the <info> that names the host and its system. With
 * HANPMPI_TEST_REGENERATE set, golden/ is written instead of compared. */
#include <glob.h>
#include "unit/check.h"
#include "topo_tree/draw.h"

enum { MAX_RANKS = 64, MAX_HOSTS = 8, MAX_LINE = 512, MAX_PATH = 512 };

typedef struct {
    hp_locality_t places[MAX_RANKS]; /* in the order of the host lines */
    uint32_t host_ranks[MAX_HOSTS];
    uint32_t host_count;
    uint32_t rank_count;
    int round_robin;
    uint32_t level_mask;
    hp_shapes_t shapes;
    uint32_t root;
} placement_t;

static void read_host(placement_t *placement, char *words)
{
    char path[MAX_PATH], *rest = NULL;
    char *machine = strtok_r(words, " ", &rest);
    assert_non_null(machine);
    assert_true(placement->host_count < MAX_HOSTS);
    snprintf(path, sizeof path, "%s/machines/%s.xml", HP_TOPO_DIR, machine);
    for (char *binding; (binding = strtok_r(NULL, " ", &rest)) != NULL;) {
        assert_true(placement->rank_count < MAX_RANKS);
        hp_locality_t *place = &placement->places[placement->rank_count++];
        if (hp_locality_read(path, strcmp(binding, "-") == 0 ? NULL : binding, place) != HP_OK)
            fail_msg("cannot place a rank at '%s' of %s", binding, path);
        place->id[HP_LEVEL_NODE] = placement->host_count;
        placement->host_ranks[placement->host_count]++;
    }
    placement->host_count++;
}

static void read_setting(placement_t *placement, char *line)
{
    char error[256] = "", *value = strchr(line, ' ');
    hp_status_t status = HP_OK;
    assert_non_null(value);
    *value++ = '\0';
    if (strcmp(line, "host") == 0)
        read_host(placement, value);
    else if (strcmp(line, "map") == 0)
        placement->round_robin = strcmp(value, "round-robin") == 0;
    else if (strcmp(line, "levels") == 0)
        status = hp_levels_parse(value, &placement->level_mask, error, sizeof error);
    else if (strcmp(line, "shapes") == 0)
        status = hp_shapes_parse(value, &placement->shapes, error, sizeof error);
    else if (strcmp(line, "root") == 0)
        placement->root = (uint32_t)strtoul(value, NULL, 10);
    else
        fail_msg("unknown setting '%s'", line);
    if (status != HP_OK)
        fail_msg("%s: %s", line, error);
}

static void read_case(placement_t *placement, const char *path)
{
    char line[MAX_LINE];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    memset(placement, 0, sizeof *placement);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = '\0';
        if (line[0] != '\0')
            read_setting(placement, line);
    }
    fclose(file);
}

/* The table in rank order. */
static void map_ranks(const placement_t *placement, hp_locality_t *table)
{
    if (!placement->round_robin) {
        memcpy(table, placement->places, sizeof placement->places);
        return;
    }
    uint32_t rank = 0;
    for (uint32_t turn = 0; rank < placement->rank_count; turn++) {
        const hp_locality_t *host_places = placement->places;
        for (uint32_t host = 0; host < placement->host_count; host++) {
            if (turn < placement->host_ranks[host])
                table[rank++] = host_places[turn];
            host_places += placement->host_ranks[host];
        }
    }
}

static void print_table(FILE *out, const hp_locality_t *table, uint32_t count)
{
    for (uint32_t rank = 0; rank < count; rank++) {
        fprintf(out, "rank %u:", rank);
        for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
            fprintf(out, " %s ", hp_level_name((hp_level_t)level));
            if (table[rank].id[level] == HP_ID_UNKNOWN)
                fputc('-', out);
            else
                fprintf(out, "%llu", (unsigned long long)table[rank].id[level]);
        }
        fputc('\n', out);
    }
    fputc('\n', out);
}

static char *draw_case(const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    placement_t placement;
    hp_locality_t table[MAX_RANKS];
    hp_hierarchy_t *h = NULL;
    read_case(&placement, path);
    map_ranks(&placement, table);
    assert_int_equal(hp_hierarchy_create(placement.rank_count, table, placement.level_mask, false, &h),
                     HP_OK);
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    print_table(out, table, placement.rank_count);
    hp_draw_levels(out, h, &placement.shapes);
    fputc('\n', out);
    assert_int_equal(hp_draw_tree_text(out, h, &placement.shapes, placement.root), HP_OK);
    fputc('\n', out);
    assert_int_equal(hp_draw_tree_dot(out, h, &placement.shapes, placement.root), HP_OK);
    fclose(out);
    hp_hierarchy_destroy(h);
    return text;
}

/* The whole file, terminated; NULL when there is none. */
static char *read_file(const char *path)
{
    enum { MOST_BYTES = 1 << 20 };
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    char *text = calloc(1, MOST_BYTES);
    assert_non_null(text);
    assert_true(fread(text, 1, MOST_BYTES - 1, file) < MOST_BYTES - 1);
    fclose(file);
    return text;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* "line 7: expected ..., drawn ...": the first line that differs. */
static void fail_with_difference(const char *path, const char *expected, const char *drawn)
{
    unsigned line = 1;
    const char *expected_line = expected, *drawn_line = drawn;
    for (size_t i = 0; expected[i] == drawn[i]; i++) {
        if (expected[i] == '\n') {
            line++;
            expected_line = &expected[i + 1];
            drawn_line = &drawn[i + 1];
        }
    }
    fail_msg("%s: line %u: expected '%.*s', drawn '%.*s'", path, line, (int)strcspn(expected_line, "\n"),
             expected_line, (int)strcspn(drawn_line, "\n"), drawn_line);
}

static void draws_as_expected(void **state)
{
    const char *path = *state;
    char golden_path[MAX_PATH];
    const char *name = strrchr(path, '/') + 1;
    snprintf(golden_path, sizeof golden_path, "%s/golden/%.*s.txt", HP_TOPO_DIR, (int)strcspn(name, "."),
             name);
    char *drawn = draw_case(path);
    if (getenv("HANPMPI_TEST_REGENERATE"))
        write_file(golden_path, drawn);
    char *expected = read_file(golden_path);
    if (expected == NULL)
        fail_msg("%s is missing: set HANPMPI_TEST_REGENERATE=1 to write it", golden_path);
    if (strcmp(expected, drawn) != 0)
        fail_with_difference(golden_path, expected, drawn);
    free(expected);
    free(drawn);
}

/* Starts of words are what XML readers stumble over: elements must nest and numbers be whole in every locale.
 */
static void svg_is_well_formed(void **state)
{
    char *text = NULL;
    size_t bytes = 0, boxes = 0, opened = 0, closed = 0;
    placement_t placement;
    hp_hierarchy_t *h = NULL;
    read_case(&placement, *state);
    assert_int_equal(
        hp_hierarchy_create(placement.rank_count, placement.places, placement.level_mask, false, &h), HP_OK);
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_int_equal(hp_draw_tree_svg(out, h, &placement.shapes, placement.root), HP_OK);
    fclose(out);
    for (const char *at = text; (at = strchr(at, '<')) != NULL; at++) {
        opened += at[1] != '/';
        closed += at[1] == '/';
        boxes += strncmp(at, "<text x=", 8) == 0 && strstr(at, "class=\"rank\"") == strstr(at, "class=");
    }
    for (const char *at = text; (at = strstr(at, "/>")) != NULL; at++)
        closed++;
    assert_int_equal(opened, closed);
    assert_true(boxes >= placement.rank_count);
    assert_null(strchr(text, '&'));
    free(text);
    hp_hierarchy_destroy(h);
}

int main(void)
{
    enum { MAX_CASES = 64 };
    struct CMUnitTest tests[2 * MAX_CASES];
    size_t count = 0;
    glob_t cases;
    if (glob(HP_TOPO_DIR "/cases/*.case", 0, NULL, &cases) != 0 || cases.gl_pathc > MAX_CASES) {
        fprintf(stderr, "cannot list the cases in %s/cases\n", HP_TOPO_DIR);
        return 1;
    }
    for (size_t i = 0; i < cases.gl_pathc; i++) {
        char *path = cases.gl_pathv[i];
        const char *name = strrchr(path, '/') + 1;
        tests[count++] = (struct CMUnitTest){name, draws_as_expected, NULL, NULL, path};
        tests[count++] = (struct CMUnitTest){name, svg_is_well_formed, NULL, NULL, path};
    }
    int failed = _cmocka_run_group_tests("golden", tests, count, NULL, NULL);
    globfree(&cases);
    return failed;
}
