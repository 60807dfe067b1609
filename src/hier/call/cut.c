#include "hier/call/cut.h"

hp_cut_t hp_cut_make(const hp_call_t *call, const hp_setting_t *setting)
{
    size_t elements = setting->segment_bytes / call->type.bytes;
    if (elements == 0)
        elements = 1;
    if (elements > call->count)
        elements = call->count;
    return (hp_cut_t){.count = call->count, .segment_elements = elements, .extent = call->type.extent};
}

uint64_t hp_cut_segments(const hp_cut_t *cut)
{
    return (cut->count + cut->segment_elements - 1) / cut->segment_elements;
}

size_t hp_cut_count(const hp_cut_t *cut, uint64_t i)
{
    size_t left = cut->count - i * cut->segment_elements;
    return left < cut->segment_elements ? left : cut->segment_elements;
}

size_t hp_cut_offset(const hp_cut_t *cut, uint64_t i)
{
    return i * cut->segment_elements * cut->extent;
}

hp_pipeline_t hp_cut_pipeline(const hp_cut_t *cut, const hp_call_t *call, const hp_setting_t *setting)
{
    return (hp_pipeline_t){
        .segment_count = hp_cut_segments(cut),
        .window_segments = setting->window_segments,
        .scratch_bytes = hp_type_span(&call->type, cut->segment_elements),
        .scratch_shift = -call->type.true_lb,
        .type = call->type,
        .op = call->op,
        .commutative = call->commutative,
        .kernel = call->kernel,
    };
}
