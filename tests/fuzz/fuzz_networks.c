/* fuzz_networks: any bytes as a network. What comes out is a tree whose machines have paths to each other; what does not is
 * refused in one line that names the file.
 *
 * For libFuzzer, and for fuzz_files.c, which runs it once for each file. Threads: one. */
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topo_tree/network/file.h"

/* Not assert: it must hold in every build. */
#define MUST(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "fuzz_networks: line %d: %s does not hold\n", __LINE__, #condition);             \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* From the first machine to the last and back, over links of a rate. */
static void check_paths(const hp_network_t *network)
{
    const uint32_t most = hp_network_path_most(network), last = network->machine_count - 1;
    uint32_t *links = malloc(most * sizeof *links);

    MUST(links && network->machine_count > 0);
    for (unsigned back = 0; back < 2; back++) {
        const uint32_t count = hp_network_path(network, back ? last : 0, back ? 0 : last, links);
        MUST(count > 0 && count <= most);
        for (uint32_t i = 0; i < count; i++) {
            MUST(links[i] < hp_network_links(network));
            const hp_network_link_t link = hp_network_link(network, links[i]);
            MUST(link.speed.rate > 0 && link.speed.latency_us >= 0);
            MUST(i == 0 || strcmp(hp_network_link(network, links[i - 1]).to, link.from) == 0);
        }
    }
    free(links);
    MUST(hp_network_machine(network, network->nodes[network->machines[last]].name) == (int32_t)last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[HP_NETWORK_WHY_BYTES] = "";
    hp_network_t network;

    hp_network_init(&network);
    if (hp_network_parse(&network, "net", (const char *)data, size, why, sizeof why) == HP_OK) {
        check_paths(&network);
    } else {
        MUST(strncmp(why, "net:", 4) == 0);
        for (const char *c = why; *c; c++)
            MUST((unsigned char)*c >= ' ');
    }
    hp_network_fini(&network);
    return 0;
}
