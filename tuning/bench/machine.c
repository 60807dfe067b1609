#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The value behind "name ... : value" in a file of /proc. */
static void read_line(const char *path, const char *name, char *value, size_t room)
{
    char line[512];
    FILE *file = fopen(path, "r");

    value[0] = '\0';
    while (file && !value[0] && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (colon && strncmp(line, name, strlen(name)) == 0)
            snprintf(value, room, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (file)
        fclose(file);
}

static size_t read_kilobytes(const char *name)
{
    char value[64];
    size_t kilobytes = 0;
    read_line("/proc/meminfo", name, value, sizeof value);
    sscanf(value, "%zu", &kilobytes);
    return kilobytes << 10;
}

void bench_machine_read(bench_machine_t *machine)
{
    struct utsname system;
    const int levels[] = {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE};

    memset(machine, 0, sizeof *machine);
    read_line("/proc/cpuinfo", "model name", machine->processor, sizeof machine->processor);
    if (uname(&system) == 0)
        snprintf(machine->kernel, sizeof machine->kernel, "%s %s %s", system.sysname, system.release,
                 system.machine);
    machine->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    machine->memory_bytes = read_kilobytes("MemTotal");
    machine->available_bytes = read_kilobytes("MemAvailable");
    for (int i = 0; i < 3 && machine->cache_bytes == 0; i++) {
        const long bytes = sysconf(levels[i]);
        machine->cache_bytes = bytes > 0 ? (size_t)bytes : 0;
    }
    if (!machine->cache_bytes)
        machine->cache_bytes = (size_t)32 << 20;
}
