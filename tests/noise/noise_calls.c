#include "noise/noise_calls.h"

#include <dlfcn.h>
#include <string.h>

noise_calls_t noise_calls;

static bool find(const char *name, void *function)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool noise_calls_find(void)
{
    return find("hanpmpi_noise_set", &noise_calls.set) && find("hanpmpi_noise_start", &noise_calls.start) &&
           find("hanpmpi_noise_stop", &noise_calls.stop) && find("hanpmpi_noise_totals", &noise_calls.totals);
}
