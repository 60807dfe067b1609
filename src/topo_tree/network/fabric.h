/* fabric: switches and hosts joined by cables, any number of them, of which a tree is made (ibnetdiscover.h says how).
 *
 * Threads: pure. Ownership: init and fini. */
#ifndef HP_TOPO_TREE_NETWORK_FABRIC_H
#define HP_TOPO_TREE_NETWORK_FABRIC_H

#include "topo_tree/network/reader.h"

typedef enum {
    HP_DEVICE_UNKNOWN, /* only named yet */
    HP_DEVICE_SWITCH,
    HP_DEVICE_HOST,
    HP_DEVICE_LEFT_OUT
} hp_device_kind_t;

typedef struct {
    hp_device_kind_t kind;
    char *host;        /* of a host: its name */
    uint32_t line;     /* of its section, or where it was first named */
    uint32_t level;    /* of a switch: cables to the next host, less one */
    uint32_t one_with; /* of a switch: the one that stands for it */
    bool drops;        /* of a switch: it leads nowhere */
} hp_device_t;

/* As the section of one end has it: each cable is there twice. */
typedef struct {
    uint32_t from, to; /* devices */
    double rate;
    uint32_t line;
} hp_cable_t;

typedef struct {
    hp_network_t ids; /* the names of the devices, each by its number */
    hp_device_t *devices;
    uint32_t device_room;
    hp_cable_t *cables;
    uint32_t cable_count, cable_room;
} hp_fabric_t;

void hp_fabric_init(hp_fabric_t *fabric);
void hp_fabric_fini(hp_fabric_t *fabric);
/* The device of that id, one that was not named before is added. -1: no memory, or too many. */
int32_t hp_fabric_device(hp_fabric_t *fabric, const char *id, uint32_t line);
bool hp_fabric_add_cable(hp_fabric_t *fabric, hp_cable_t cable);
/* Makes the reader's network of it. false: refused. */
bool hp_fabric_take(hp_network_reader_t *reader, hp_fabric_t *fabric);

#endif
