#include "base/status.h"

const char *hp_status_text(hp_status_t status)
{
    static const char *const texts[] = {
#define X(code, text) [code] = text,
        HP_STATUS_TABLE(X)
#undef X
    };
    if ((unsigned)status >= sizeof texts / sizeof *texts)
        return "unknown status";
    return texts[status];
}
