#include "hier/call/setting.h"

#include <string.h>
#include "base/hash.h"

void hp_setting_default(hp_setting_t *setting)
{
    *setting = (hp_setting_t){.segment_bytes = 32768,
                              .shapes.shape = {[HP_LEVEL_NODE] = HP_SHAPE_CHAIN},
                              .inter_node = HP_INTER_NODE_tree,
                              .trees = HP_ROTATIONS_MAX,
                              .leaders = 1,
                              HP_SETTING_USUAL_PIPELINE};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
        setting->modules.module[level] = level == HP_LEVEL_NODE ? HP_MODULE_P2P : HP_MODULE_SINGLE_COPY;
        if (level != HP_LEVEL_NODE)
            setting->shapes.shape[level] = HP_SHAPE_LINEAR;
    }
}

#define KEY(field) #field,
static const char *const keys[] = {HP_SETTING_NUMBERS(KEY) HP_SETTING_TEXTS(KEY)};
#undef KEY
#define KNOB(field) HP_KNOB_ID_##field,
static const hp_knob_id_t knob_ids[] = {HP_SETTING_NUMBERS(KNOB) HP_SETTING_TEXTS(KNOB)};
#undef KNOB

const char *hp_setting_key(unsigned i)
{
    return i < sizeof keys / sizeof *keys ? keys[i] : NULL;
}

hp_knob_id_t hp_setting_knob(unsigned i)
{
    return knob_ids[i];
}

void hp_setting_apply(hp_setting_t *setting, const hp_knobs_t *knobs)
{
    char error[HP_KNOB_TEXT_BYTES]; /* texts were checked when they were set */

#define NUMBER(field)                                                                                        \
    if (knobs->field)                                                                                        \
        setting->field = (__typeof__(setting->field))knobs->field;
    HP_SETTING_NUMBERS(NUMBER)
#undef NUMBER
    if (knobs->between_nodes)
        setting->inter_node = hp_inter_node((unsigned)knobs->between_nodes);
    if (knobs->modules[0])
        hp_modules_parse(knobs->modules, &setting->modules, error, sizeof error);
    if (knobs->shapes[0])
        hp_shapes_parse(knobs->shapes, &setting->shapes, error, sizeof error);
}

void hp_setting_deepen(hp_setting_t *setting, uint32_t nodes, const hp_knobs_t *knobs)
{
    /* 2 MiB in segments of 32 KiB are 17 ms at 1 Gbit/s. Measured there on 2 hosts with Open MPI, 4 MiB: without a call of
     * MPI_Test in 35 ms of computation an Ibcast overlapped by 58 to 86% with these, by 13 to 16% with 16 and 24, an
     * Iallreduce by 42 and 12%. With MPICH 4.0 over UCX on 4 hosts an Iallreduce that is waited for took 65 ms with 4
     * and 6, 76 with 16 and 24, 119 with these; an Ibcast 40, 45, 84. */
    const uint32_t sends = 64, recvs = 96;

    if (nodes > 2)
        return;
    if (!knobs->sends_per_child && setting->sends_per_child < sends)
        setting->sends_per_child = sends;
    if (!knobs->recvs_per_parent && setting->recvs_per_parent < recvs)
        setting->recvs_per_parent = recvs;
}

bool hp_setting_same(const hp_setting_t *a, const hp_setting_t *b)
{
#define NUMBER(field) &&a->field == b->field
    return a->inter_node == b->inter_node HP_SETTING_NUMBERS(NUMBER) &&
           memcmp(&a->shapes, &b->shapes, sizeof a->shapes) == 0 &&
           memcmp(&a->modules, &b->modules, sizeof a->modules) == 0;
#undef NUMBER
}

uint64_t hp_setting_hash(const hp_setting_t *setting)
{
    const char *name = hp_inter_node_name(setting->inter_node);
    uint64_t hash = hp_hash_add(HP_HASH_BASIS, name, strlen(name));

#define NUMBER(field) hash = hp_hash_add(hash, &(uint64_t){setting->field}, sizeof(uint64_t));
    HP_SETTING_NUMBERS(NUMBER)
#undef NUMBER
    hash = hp_hash_add(hash, &setting->shapes, sizeof setting->shapes);
    return hp_hash_add(hash, &setting->modules, sizeof setting->modules);
}

void hp_setting_no_knobs(hp_knobs_t *knobs)
{
    memset(knobs, 0, sizeof *knobs); /* 0, the word auto, the empty text */
}

void hp_setting_knobs(const hp_setting_t *setting, const hp_setting_t *usual, hp_knobs_t *knobs)
{
    uint32_t other_shapes = 0, other_modules = 0; /* levels */

    hp_setting_no_knobs(knobs);
#define NUMBER(field)                                                                                        \
    if (setting->field != usual->field)                                                                      \
        knobs->field = (int64_t)setting->field;
    HP_SETTING_NUMBERS(NUMBER)
#undef NUMBER
    if (setting->inter_node != usual->inter_node)
        knobs->between_nodes = hp_inter_node_word(setting->inter_node);
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
        if (setting->shapes.shape[level] != usual->shapes.shape[level])
            other_shapes |= 1u << level;
        if (setting->modules.module[level] != usual->modules.module[level])
            other_modules |= 1u << level;
    }
    hp_shapes_format(&setting->shapes, other_shapes, knobs->shapes, sizeof knobs->shapes);
    hp_modules_format(&setting->modules, other_modules, knobs->modules, sizeof knobs->modules);
}
