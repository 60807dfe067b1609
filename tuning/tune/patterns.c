#include "patterns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double total(const tune_pattern_t *pattern)
{
    double elements = 0;
    for (int i = 0; i < pattern->count; i++)
        elements += pattern->elements[i];
    return elements;
}

size_t tune_pattern_bytes(const tune_pattern_t *pattern)
{
    const double mean = total(pattern) / pattern->count;
    return (size_t)(mean < 1 ? 1 : mean + 0.5) * TUNE_ELEMENT_BYTES;
}

size_t tune_pattern_buffer_bytes(const tune_pattern_t *pattern, int ranks)
{
    double most = 0;

    if (pattern->count == ranks)
        most = total(pattern);
    for (int r = 0; r < ranks && pattern->count > ranks; r++) {
        double sent = 0, received = 0;
        for (int other = 0; other < ranks; other++) {
            sent += pattern->elements[r * ranks + other];
            received += pattern->elements[other * ranks + r];
        }
        most = sent > most ? sent : most;
        most = received > most ? received : most;
    }
    return (size_t)most * TUNE_ELEMENT_BYTES;
}

double tune_pattern_distance(const tune_pattern_t *a, const tune_pattern_t *b)
{
    const double larger = total(a) > total(b) ? total(a) : total(b);
    double differs = 0;

    for (int i = 0; i < a->count; i++)
        differs += abs(a->elements[i] - b->elements[i]);
    return larger > 0 ? differs / larger : 0;
}

static void add_places(tune_pattern_t *earlier, const tune_pattern_t *pattern)
{
    for (int i = 0; i < pattern->place_count; i++) {
        int k = 0;
        while (k < earlier->place_count && strcmp(earlier->places[k].text, pattern->places[i].text) != 0)
            k++;
        if (k < earlier->place_count)
            earlier->places[k].calls += pattern->places[i].calls;
        else if (k < TUNE_PLACES_MAX)
            earlier->places[earlier->place_count++] = pattern->places[i];
    }
}

void tune_patterns_add(tune_patterns_t *patterns, const tune_pattern_t *pattern, double near)
{
    for (int i = 0; i < patterns->count; i++) {
        tune_pattern_t *earlier = &patterns->list[i];
        if (earlier->collective != pattern->collective || tune_pattern_distance(earlier, pattern) > near)
            continue;
        earlier->calls += pattern->calls;
        earlier->recorded_s += pattern->recorded_s;
        earlier->alike++;
        add_places(earlier, pattern);
        free(pattern->elements);
        return;
    }
    tune_pattern_t *longer = realloc(patterns->list, (size_t)(patterns->count + 1) * sizeof *longer);
    if (!longer) {
        fputs("hanpmpi_tune: no memory for the patterns: take a larger --near\n", stderr);
        exit(EXIT_FAILURE);
    }
    patterns->list = longer;
    patterns->list[patterns->count] = *pattern;
    patterns->list[patterns->count++].alike = 1;
}

void tune_patterns_fini(tune_patterns_t *patterns)
{
    for (int i = 0; i < patterns->count; i++)
        free(patterns->list[i].elements);
    free(patterns->list);
    *patterns = (tune_patterns_t){0};
}

unsigned long long tune_patterns_hash(const tune_patterns_t *patterns)
{
    unsigned long long hash = 14695981039346656037u; /* FNV-1a */

    for (int i = 0; i < patterns->count; i++) {
        hash = (hash ^ patterns->list[i].collective) * 1099511628211u;
        for (int b = 0; b < patterns->list[i].count; b++)
            hash = (hash ^ (unsigned)patterns->list[i].elements[b]) * 1099511628211u;
    }
    return hash;
}
