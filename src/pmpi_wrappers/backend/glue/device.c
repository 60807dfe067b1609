/* The driver's interface, as far as it is used, is declared here: its header need not be installed to build. */
#include "pmpi_wrappers/backend/glue/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/log.h"

/* ---- is a driver loaded? ---- */

/* hp_device_news points to one of these, or to the l_next of our last library. */
static void *const no_news = NULL, *const always_news = (void *)&no_news;
void *const volatile *_Atomic hp_device_news = &no_news;

static void *last_library;     /* ours; NULL: it could not be loaded */
static _Atomic uint64_t seen;  /* libraries loaded so far, when a driver was looked for */
static _Atomic uint32_t quiet; /* questions since then */
static bool may_renew;         /* nobody else asks meanwhile */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards who looks */

/* After so many questions our last library is loaded again: that takes some 50 us, counting what is loaded some 50 ns. */
enum { QUIET_MAX = 1000 };

/* CUDA's driver API, cuda.h. A CUresult of 0 is a success; a CUdeviceptr is an address. */
enum { ATTRIBUTE_CONTEXT = 1, ATTRIBUTE_MEMORY_TYPE = 2, ATTRIBUTE_ORDINAL = 9 };
enum { MEMORY_TYPE_DEVICE = 2, STREAM_NON_BLOCKING = 1 };

#define DRIVER_FUNCTIONS(X)                                                                                  \
    X(get_attributes, "cuPointerGetAttributes",                                                              \
      (unsigned count, int *attributes, void **values, uintptr_t address))                                   \
    X(retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                      \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int device))                                                 \
    X(push, "cuCtxPushCurrent_v2", (void *context))                                                          \
    X(pop, "cuCtxPopCurrent_v2", (void **context))                                                           \
    X(create_stream, "cuStreamCreate", (void **stream, unsigned flags))                                      \
    X(copy, "cuMemcpyAsync", (uintptr_t to, uintptr_t from, size_t bytes, void *stream))                     \
    X(synchronize, "cuStreamSynchronize", (void *stream))                                                    \
    X(destroy_stream, "cuStreamDestroy_v2", (void *stream))

static struct {
    void *library;
    atomic_bool is_found;
#define X(name, symbol, parameters) int(*name) parameters;
    DRIVER_FUNCTIONS(X)
#undef X
} driver;

static bool resolve(void)
{
    static const struct {
        const char *symbol;
        void *pointer; /* to the function */
    } functions[] = {
#define X(name, symbol, parameters) {symbol, &driver.name},
        DRIVER_FUNCTIONS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(driver.library, functions[i].symbol);
        if (!found)
            return false;
        memcpy(functions[i].pointer, &found, sizeof found);
    }
    return true;
}

static int is_driver(struct dl_phdr_info *info, size_t bytes, void *context)
{
    static const char name[] = "libcuda.so";
    const char *slash = strrchr(info->dlpi_name, '/');

    (void)bytes, (void)context;
    return strncmp(slash ? slash + 1 : info->dlpi_name, name, sizeof name - 1) == 0;
}

/* The lock is held. dlopen would look for a library that is not loaded in all directories, some hundred system calls. */
static void find_driver(void)
{
    if (!dl_iterate_phdr(is_driver, NULL) ||
        !(driver.library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)))
        return;
    if (!resolve()) {
        hp_warn("the CUDA driver that is loaded lacks a function: device buffers are not recognized");
        dlclose(driver.library);
        driver.library = NULL;
        return;
    }
    atomic_store_explicit(&driver.is_found, true, memory_order_release);
    hp_device_news = &always_news;
}

static int read_count(struct dl_phdr_info *info, size_t bytes, void *count)
{
    (void)bytes;
    *(uint64_t *)count = info->dlpi_adds;
    return 1;
}

static uint64_t count_loaded(void)
{
    uint64_t count = 0;
    dl_iterate_phdr(read_count, &count);
    return count;
}

/* From now on our last library is the last of all. */
static void renew_last_library(void)
{
    char file[PATH_MAX];
    Dl_info own;
    struct link_map *map;

    hp_device_news = &always_news;
    if (last_library)
        dlclose(last_library);
    last_library = NULL;
    if (!dladdr((const void *)&hp_device_news, &own))
        return;
    const char *slash = strrchr(own.dli_fname, '/');
    const int directory = slash ? (int)(slash - own.dli_fname) + 1 : 0;
    if (snprintf(file, sizeof file, "%.*slast.so", directory, own.dli_fname) >= (int)sizeof file)
        return;
    last_library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (last_library && dlinfo(last_library, RTLD_DI_LINKMAP, &map) == 0)
        hp_device_news = (void *const volatile *)&map->l_next;
}

bool hp_device_find_driver(void)
{
    if (atomic_load_explicit(&driver.is_found, memory_order_acquire))
        return true;
    uint64_t loaded = count_loaded();
    if (loaded == atomic_load_explicit(&seen, memory_order_acquire)) {
        if (!may_renew || ++quiet < QUIET_MAX)
            return false;
        renew_last_library();
        loaded = count_loaded();
    }
    pthread_mutex_lock(&lock);
    if (!driver.library)
        find_driver();
    const bool is_found = driver.library != NULL;
    atomic_store_explicit(&seen, loaded,
                          memory_order_release); /* what was loaded since is looked at next time */
    quiet = 0;
    pthread_mutex_unlock(&lock);
    return is_found;
}

void hp_device_init(bool has_threads)
{
    may_renew = !has_threads;
    renew_last_library();
    hp_device_find_driver();
}

void hp_device_fini(void)
{
    hp_device_news = &no_news;
    atomic_store(&driver.is_found, false);
    atomic_store(&seen, 0);
    if (driver.library)
        dlclose(driver.library);
    if (last_library)
        dlclose(last_library);
    driver.library = last_library = NULL;
}

bool hp_device_has_other_runtime(void)
{
    static const char *const runtimes[] = {"libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.6",
                                           "libamdhip64.so.7", "libze_loader.so.1"};

    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
        if (runtime) {
            dlclose(runtime);
            return true;
        }
    }
    return false;
}

/* ---- addresses and copies ---- */

typedef struct {
    void *context;
    unsigned type; /* 0: the driver does not know the address */
    int device;
} place_t;

/* A driver that nobody has initialized answers with an error: it has no memory. */
static place_t place_of(const void *address)
{
    place_t place = {.device = -1};
    int attributes[] = {ATTRIBUTE_CONTEXT, ATTRIBUTE_MEMORY_TYPE, ATTRIBUTE_ORDINAL};
    void *values[] = {&place.context, &place.type, &place.device};

    if (driver.get_attributes(3, attributes, values, (uintptr_t)address) != 0)
        place.type = 0;
    return place;
}

bool hp_device_holds(const void *address)
{
    return place_of(address).type == MEMORY_TYPE_DEVICE;
}

/* Memory of a pool belongs to no context: the device's primary one will do. */
static bool enter_context(hp_device_copies_t *copies, const place_t *place)
{
    *copies = (hp_device_copies_t){.context = place->context, .device = -1};
    if (!copies->context) {
        if (driver.retain(&copies->context, place->device) != 0)
            return false;
        copies->device = place->device;
    }
    if (driver.push(copies->context) == 0)
        return true;
    if (copies->device >= 0)
        driver.release(copies->device);
    return false;
}

static void leave_context(const hp_device_copies_t *copies)
{
    void *popped;
    driver.pop(&popped);
    if (copies->device >= 0)
        driver.release(copies->device);
}

/* A stream of its own waits for nothing that the program has under way: to finish that first is the program's duty,
 * as with any MPI, and a kernel that runs on may be waiting for this very call. */
bool hp_device_copies_begin(hp_device_copies_t *copies, const void *address)
{
    const place_t place = place_of(address);

    if (!enter_context(copies, &place))
        return false;
    if (driver.create_stream(&copies->stream, STREAM_NON_BLOCKING) == 0)
        return true;
    leave_context(copies);
    return false;
}

bool hp_device_copy(hp_device_copies_t *copies, void *to, const void *from, size_t bytes)
{
    return driver.copy((uintptr_t)to, (uintptr_t)from, bytes, copies->stream) == 0;
}

bool hp_device_copies_end(hp_device_copies_t *copies)
{
    const bool done = driver.synchronize(copies->stream) == 0;
    driver.destroy_stream(copies->stream);
    leave_context(copies);
    return done;
}
