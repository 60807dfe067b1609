/* fuzz_files: a fuzz target, once for each beginning of each file: for compilers without a fuzzer.
 *
 * usage: fuzz_NAME_files FILE... Threads: one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

enum { FILE_BYTES_MAX = 1 << 16 };

/* A copy of its own, so that a sanitizer sees reads past the end. */
static void run(const char *text, size_t length)
{
    uint8_t *copy = malloc(length ? length : 1);
    if (!copy) {
        fprintf(stderr, "fuzz_files: out of memory\n");
        exit(1);
    }
    memcpy(copy, text, length);
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
}

int main(int argc, char **argv)
{
    static char text[FILE_BYTES_MAX];

    for (int i = 1; i < argc; i++) {
        FILE *in = fopen(argv[i], "rb");
        if (!in) {
            perror(argv[i]);
            return 1;
        }
        const size_t length = fread(text, 1, sizeof text, in);
        fclose(in);
        for (size_t cut = 0; cut <= length; cut++)
            run(text, cut);
    }
    printf("fuzz_files: %d files\n", argc - 1);
    return argc > 1 ? 0 : 1;
}
