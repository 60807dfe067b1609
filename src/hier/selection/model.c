#include "hier/selection/model.h"
bool hp_probes_cover(const hp_probes_t *p, const hp_layout_t *l)
{
    (void)p;
    (void)l;
    return false;
}
double hp_model_us(const hp_probes_t *p, const hp_layout_t *l, hp_collective_t c, uint64_t b,
                   hp_algorithm_id_t a, const hp_setting_t *s)
{
    (void)p;
    (void)l;
    (void)c;
    (void)b;
    (void)a;
    (void)s;
    return -1;
}
double hp_model_bound_us(const hp_probes_t *p, const hp_layout_t *l, hp_collective_t c, uint64_t b)
{
    (void)p;
    (void)l;
    (void)c;
    (void)b;
    return 0;
}
bool hp_model_choose(const hp_probes_t *p, const hp_layout_t *l, hp_collective_t c, uint64_t b,
                     hp_algorithm_id_t *a, hp_setting_t *s, double *us)
{
    (void)p;
    (void)l;
    (void)c;
    (void)b;
    (void)a;
    (void)s;
    (void)us;
    return false;
}
