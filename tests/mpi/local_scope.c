/* local_scope: runs a program that was built as a shared object, loaded with RTLD_LOCAL, as Python loads
 * mpi4py: the MPI library is then in no scope that RTLD_DEFAULT or RTLD_NEXT searches (pitfall 3).
 *
 * usage: local_scope PROGRAM.so ARGUMENTS... */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*program)(int, char **);
    void *object = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = object ? dlsym(object, "main") : NULL;

    if (!symbol) {
        fprintf(stderr, "local_scope: %s\n", argc > 1 ? dlerror() : "no program");
        return 2;
    }
    memcpy(&program, &symbol, sizeof program);
    return program(argc - 1, argv + 1);
}
