#include "event_engine/label.h"

const char *hp_label_name(hp_label_t label)
{
    static const char *const names[] = {
#define X(id, name) #name,
        HP_LABEL_TABLE(X)
#undef X
    };
    return names[label];
}
