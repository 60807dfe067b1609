/* schedule_cut: how much each operation of a program moves, and where that lies: the same for all segments of a size. */
#include "hier/modules/schedule_program.h"

static size_t elements_of(const hp_program_t *program, const hp_operation_t *operation)
{
    size_t elements = 0;
    for (uint32_t r = 0; r < operation->run_count; r++) {
        const hp_run_t *run = &program->runs[operation->first_run + r];
        elements += program->starts[run->first + run->count] - program->starts[run->first];
    }
    return elements;
}

/* Elements before a block in what an operation has received, or in the vector. */
static size_t elements_before(const hp_program_t *program, const hp_spot_t *spot)
{
    size_t elements = 0;
    uint32_t left = spot->index;

    if (spot->base < 0)
        return program->starts[spot->index];
    for (const hp_run_t *run = &program->runs[program->operations[spot->base].first_run]; left > 0; run++) {
        const uint32_t count = left < run->count ? left : run->count;
        elements += program->starts[run->first + count] - program->starts[run->first];
        left -= count;
    }
    return elements;
}

void hp_program_cut(hp_program_t *program, size_t elements, size_t extent)
{
    int32_t holder = -1;
    size_t held = 0, packed = 0;

    if (program->block_count <= 1 || program->elements == elements)
        return;
    program->elements = elements;
    for (uint32_t block = 0; block <= program->block_count; block++)
        program->starts[block] = (size_t)((uint64_t)elements * block / program->block_count);
    for (uint32_t i = 0; i < program->operation_count; i++) {
        hp_operation_t *operation = &program->operations[i];
        operation->count = elements_of(program, operation);
        operation->in.offset = elements_before(program, &operation->in) * extent;
        operation->out.offset = elements_before(program, &operation->out) * extent;
        if (operation->what == HP_DO_PACK) {
            operation->out.offset = packed * extent;
            packed += operation->count;
        } else if (operation->what == HP_DO_SEND_PACKED) {
            packed = 0;
        } else if (operation->what == HP_DO_RECV_ASIDE && operation->count > 0) {
            const bool fits = holder >= 0 && held + operation->count <= elements;
            operation->holder = fits ? holder : -1;
            operation->out.offset = fits ? held * extent : 0;
            holder = fits ? holder : (int32_t)i;
            held = (fits ? held : 0) + operation->count;
        }
    }
}
