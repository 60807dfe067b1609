#include "pmpi_wrappers/backend/profile/wrappers.h"

#include <string.h>
#include "pmpi_wrappers/arguments.h"
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/profile/polling.h"
#include "pmpi_wrappers/backend/profile/recorded_call.h"

#define VALUES_1  x[0]
#define VALUES_2  VALUES_1, x[1]
#define VALUES_3  VALUES_2, x[2]
#define VALUES_4  VALUES_3, x[3]
#define VALUES_5  VALUES_4, x[4]
#define VALUES_6  VALUES_5, x[5]
#define VALUES_7  VALUES_6, x[6]
#define VALUES_8  VALUES_7, x[7]
#define VALUES_9  VALUES_8, x[8]
#define VALUES_10 VALUES_9, x[9]
#define VALUES_11 VALUES_10, x[10]
#define VALUES_12 VALUES_11, x[11]

static hp_function_t targets[HP_ROW_COUNT];

/* Without requests and a status. */
#define IS_PLAIN(kind, action, shape)                                                                        \
    (HP_DO_##action == HP_DO_CALL &&                                                                         \
     (HP_KIND_##kind == HP_KIND_COLLECTIVE || HP_KIND_##kind == HP_KIND_SEND) && !strchr(shape, 'X'))

#define HP_RECORDED(kind, action, name, arguments, shape)                                                    \
    static int record_##name(PARAMETERS_##arguments)                                                         \
    {                                                                                                        \
        int (*target)(PARAMETERS_##arguments) = (int (*)(PARAMETERS_##arguments))targets[HP_ROW_##name];     \
        uintptr_t x[] = {ARGUMENTS_##arguments};                                                             \
        hp_recording_t recording;                                                                            \
        recording.row = HP_ROW_##name;                                                                       \
        if (HP_KIND_##kind == HP_KIND_TEST &&                                                                \
            hp_polling_begin(&recording, x, __builtin_return_address(0), __builtin_dwarf_cfa())) {           \
            const int code = target(VALUES_##arguments);                                                     \
            if (!hp_polling_found_nothing(&recording, x, code))                                              \
                hp_recording_end(&recording, x, code);                                                       \
            return code;                                                                                     \
        }                                                                                                    \
        if (IS_PLAIN(kind, action, shape) &&                                                                 \
            hp_recording_begin_plain(&recording, __builtin_return_address(0), __builtin_dwarf_cfa())) {      \
            recording.enter = hp_ticks();                                                                    \
            const int code = target(VALUES_##arguments);                                                     \
            recording.leave = hp_ticks();                                                                    \
            hp_recording_end_plain(&recording, x, code);                                                     \
            return code;                                                                                     \
        }                                                                                                    \
        if (!hp_recording_begin(&recording, x, __builtin_return_address(0), __builtin_dwarf_cfa()))          \
            return target(VALUES_##arguments);                                                               \
        recording.enter = hp_ticks();                                                                        \
        const int code = target(VALUES_##arguments);                                                         \
        recording.leave = hp_ticks();                                                                        \
        hp_recording_end(&recording, x, code);                                                               \
        return code;                                                                                         \
    }
#include "pmpi_wrappers/recorded.def"

hp_function_t hp_wrapper_of(hp_wrapped_t which, hp_function_t target)
{
    static const struct {
        hp_function_t function;
        hp_row_t row;
    } wrappers[HP_WRAPPED_COUNT] = {
#define HP_RECORDED(kind, action, name, arguments, shape)                                                    \
    [HP_WRAPPED_##name] = {(hp_function_t)record_##name, HP_ROW_##name},
#include "pmpi_wrappers/recorded.def"
    };
    if (!wrappers[which].function || !target)
        return target;
    targets[wrappers[which].row] = target;
    return wrappers[which].function;
}
