/* file: a network from a file. What begins with { is JSON, what begins as Slurm's topology.conf (slurm.h) or a dump of
 * ibnetdiscover (ibnetdiscover.h) is that, anything else is the text.
 *
 * Text: statements, ended by a line's end or a semicolon; # begins a comment.
 *
 *      links 1gbit 20us                    # of which nothing else is said, from here on
 *      hosts a b n[08-11]:4 on s0          # :4 has room for 4 ranks; a rate and a latency may follow
 *      hosts c d on s1 100mbit 30us
 *      s0 - s1 10gbit/1gbit 5us            # from s0 to s1, and back; one rate is both
 *      inside 80gbit 0.5us                 # between ranks of one machine
 *      queue 64KB                          # a port drops what comes when it holds so much; or: lossless
 *
 * n[0-3,8] and a,b are lists of names.
 *
 * JSON:
 *
 *      {"format": 1, "comment": "...",
 *       "usual": {"rate": "1gbit", "latency": "20us"},
 *       "inside": {"rate": "80gbit", "latency": "0.5us"}, "queue": "64KB",
 *       "switches": ["s0", "s1"],
 *       "hosts": [{"names": ["a", "b", "n[08-11]:4"], "switch": "s0", "rate": "100mbit", "latency": "30us"}, ...],
 *       "links": [{"between": ["s0", "s1"], "rate": "10gbit/1gbit", "latency": "5us"}]}
 *
 * Rates are bits or bytes a second (bit, kbit, mbit, gbit, tbit, B, KB, MB, GB, TB: 1000 each). Of a link of which
 * nothing is said: 1gbit, no latency. A host's first rate is that towards its switch. Inside a machine: no limit.
 *
 * Threads: pure, but for the file system. Ownership: the caller calls hp_network_fini, also after an error. */
#ifndef HP_TOPO_TREE_NETWORK_FILE_H
#define HP_TOPO_TREE_NETWORK_FILE_H

#include <stddef.h>
#include "topo_tree/network.h"

enum { HP_NETWORK_FILE_BYTES_MAX = 16 << 20, HP_NETWORK_WHY_BYTES = 1024 };

/* Reads a text as the file of that name into *network, which was initialized. HP_ERR_ARG, HP_ERR_NO_MEM: why says
 * "file:line: what is wrong: expected ...", in one line without control characters. */
hp_status_t hp_network_parse(hp_network_t *network, const char *file, const char *text, size_t length,
                             char *why, size_t why_bytes);
/* The same of the file. Whatever cannot be read is HP_ERR_ARG, too. */
hp_status_t hp_network_read(hp_network_t *network, const char *file, char *why, size_t why_bytes);
/* The same, and the file's text, which the caller frees; NULL after an error. */
hp_status_t hp_network_read_text(hp_network_t *network, const char *file, char **text, size_t *length,
                                 char *why, size_t why_bytes);

#endif
