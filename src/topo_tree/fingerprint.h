/* fingerprint: one short name for this kind of machine: "x86_64-intel-xeon-platinum-8370c-2p-64c".
 *
 * Architecture, processor, packages, cores. Machines that are built alike have the same name; it stands in
 * patterns of rules and in names of files. Threads: each call is self-contained. Ownership: the caller's
 * text. */
#ifndef HP_TOPO_TREE_FINGERPRINT_H
#define HP_TOPO_TREE_FINGERPRINT_H

#include <stdint.h>

/* With the terminator: longer names of processors are cut. */
enum { HP_FINGERPRINT_BYTES = 64 };

/* The name of this machine; of it as hwloc's XML file says (tests) where xml_path is not NULL. Always a
 * name of letters a to z, digits, dots, underscores and hyphens; what cannot be read is "unknown". Returns
 * out. */
const char *hp_machine_fingerprint_of(const char *xml_path, char *out, unsigned out_bytes);
const char *hp_machine_fingerprint(char *out, unsigned out_bytes);

/* The one from its parts, with the name of the processor as the vendor writes it. */
const char *hp_fingerprint_format(const char *architecture, const char *processor, uint32_t packages,
                                  uint32_t cores, char *out, unsigned out_bytes);

#endif
