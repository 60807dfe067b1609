#include "basics.h"

#include <complex.h>
#include <float.h>
#include <math.h>

static hp_basic_info_t infos[HP_BASIC_COUNT];

/* Where the value's bytes are: the members of a pair or a record, all bytes of anything else. */
static void find_pieces(hp_basic_info_t *info, hp_basic_t basic)
{
#define PIECE(n, type, member)                                                                               \
    do {                                                                                                     \
        info->piece[n].at = offsetof(type, member);                                                          \
        info->piece[n].bytes = sizeof((type *)0)->member;                                                    \
        info->pieces = (n) + 1;                                                                              \
    } while (0)
    switch (basic) {
    case HP_BASIC_INT_INT:
        PIECE(0, hp_int_int_t, value);
        PIECE(1, hp_int_int_t, index);
        break;
    case HP_BASIC_SHORT_INT:
        PIECE(0, hp_short_int_t, value);
        PIECE(1, hp_short_int_t, index);
        break;
    case HP_BASIC_DOUBLE_INT:
        PIECE(0, hp_double_int_t, value);
        PIECE(1, hp_double_int_t, index);
        break;
    case HP_BASIC_RECORD:
        PIECE(0, hp_record_t, number);
        PIECE(1, hp_record_t, integer);
        PIECE(2, hp_record_t, letter);
        break;
    default:
        info->pieces = 1;
        info->piece[0].at = 0;
        info->piece[0].bytes = info->bytes;
        break;
    }
#undef PIECE
}

static MPI_Datatype make_matrix(void)
{
    MPI_Datatype type;
    CHECK_MPI(MPI_Type_contiguous(4, MPI_UINT32_T, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype make_record(void)
{
    const int lengths[] = {1, 1, 1};
    const MPI_Aint places[] = {offsetof(hp_record_t, number), offsetof(hp_record_t, integer),
                               offsetof(hp_record_t, letter)};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Datatype packed, type;
    CHECK_MPI(MPI_Type_create_struct(3, lengths, places, types, &packed));
    CHECK_MPI(MPI_Type_create_resized(packed, 0, sizeof(hp_record_t), &type));
    CHECK_MPI(MPI_Type_commit(&type));
    CHECK_MPI(MPI_Type_free(&packed));
    return type;
}

void hp_basics_init(void)
{
#define X(id, c_type, mpi_type, basic_class)                                                                 \
    infos[HP_BASIC_##id] =                                                                                   \
        (hp_basic_info_t){.name = #id, .type = mpi_type, .bytes = sizeof(c_type), .class = basic_class};
    HP_BASIC_TABLE(X)
#undef X
    infos[HP_BASIC_MATRIX].type = make_matrix();
    infos[HP_BASIC_RECORD].type = make_record();
    for (int basic = 0; basic < HP_BASIC_COUNT; basic++)
        find_pieces(&infos[basic], (hp_basic_t)basic);
}

void hp_basics_fini(void)
{
    CHECK_MPI(MPI_Type_free(&infos[HP_BASIC_MATRIX].type));
    CHECK_MPI(MPI_Type_free(&infos[HP_BASIC_RECORD].type));
}

const hp_basic_info_t *hp_basic_info(hp_basic_t basic)
{
    return &infos[basic];
}

static double _Complex number_at(hp_basic_t basic, const void *place)
{
    float single;
    double real;
    double _Complex number;

    switch (basic) {
    case HP_BASIC_FLOAT:
        memcpy(&single, place, sizeof single);
        return single;
    case HP_BASIC_DOUBLE:
        memcpy(&real, place, sizeof real);
        return real;
    case HP_BASIC_DOUBLE_COMPLEX:
        memcpy(&number, place, sizeof number);
        return number;
    default:
        CHECK(false, "%s is not a floating-point basic", infos[basic].name);
    }
}

/* Bytes of a length that the compiler knows take no call. */
static bool same_bytes(const char *a, const char *b, size_t bytes)
{
    switch (bytes) {
    case 1:
        return *a == *b;
    case 2:
        return memcmp(a, b, 2) == 0;
    case 4:
        return memcmp(a, b, 4) == 0;
    case 8:
        return memcmp(a, b, 8) == 0;
    default:
        return memcmp(a, b, bytes) == 0;
    }
}

bool hp_basic_same_bits(hp_basic_t basic, const void *a, const void *b)
{
    const hp_basic_info_t *info = &infos[basic];
    bool same = true;
    for (int i = 0; i < info->pieces && same; i++)
        same = same_bytes((const char *)a + info->piece[i].at, (const char *)b + info->piece[i].at,
                          info->piece[i].bytes);
    return same;
}

bool hp_basic_equal(hp_basic_t basic, const void *a, const void *b)
{
    const hp_basic_info_t *info = &infos[basic];
    bool same_bits = hp_basic_same_bits(basic, a, b);
    /* The sign of a zero depends on the order of evaluation. */
    bool number = info->class == HP_CLASS_FLOAT || info->class == HP_CLASS_COMPLEX;
    return same_bits || (number && number_at(basic, a) == number_at(basic, b));
}

double hp_basic_distance(hp_basic_t basic, const void *a, const void *b)
{
    return cabs(number_at(basic, a) - number_at(basic, b));
}

double hp_basic_magnitude(hp_basic_t basic, const void *a)
{
    return cabs(number_at(basic, a));
}

double hp_basic_epsilon(hp_basic_t basic)
{
    return basic == HP_BASIC_FLOAT ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

const char *hp_basic_format(hp_basic_t basic, const void *place, char *buffer, size_t buffer_bytes)
{
    const hp_basic_info_t *info = &infos[basic];
    size_t used = 0;

    if (info->class == HP_CLASS_FLOAT || info->class == HP_CLASS_COMPLEX) {
        double _Complex number = number_at(basic, place);
        snprintf(buffer, buffer_bytes, "%.17g%+.17gi", creal(number), cimag(number));
        return buffer;
    }
    buffer[0] = '\0';
    for (int i = 0; i < info->pieces; i++)
        for (size_t byte = 0; byte < info->piece[i].bytes && used < buffer_bytes; byte++)
            used += (size_t)snprintf(buffer + used, buffer_bytes - used, "%s%02x", i && byte == 0 ? " " : "",
                                     ((const unsigned char *)place)[info->piece[i].at + byte]);
    return buffer;
}
