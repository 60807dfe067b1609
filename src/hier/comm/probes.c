#include "hier/comm/probes.h"

bool hp_probes_are_sane(const hp_probes_t *probes)
{
    bool sane = true;
#define X(field, unit, most, text) sane &= probes->field >= 0 && probes->field <= (most); /* NaN: neither */
    HP_PROBE_TABLE(X)
#undef X
    return sane;
}

bool hp_probes_learn(hp_probes_t *known, const hp_probes_t *found)
{
    bool learned = false;
#define X(field, unit, most, text)                                                                           \
    learned |= found->field > 0 && (found->field < known->field || found->field > known->field);                                                      \
    if (found->field > 0)                                                                                    \
        known->field = found->field;
    HP_PROBE_TABLE(X)
#undef X
    return learned;
}
