/* Every installed type keeps the rules of node.h, for formats, values and presets drawn at random. */
#include "tests/support/node_any.h"
#include "tests/unit/node_rig.h"

enum { OPENED = 24, DRAWS = 4000 };

static void every_type_keeps_the_rules_of_the_ABI(void **state)
{
    (void)state;
    uint32_t types, seed = 2463534242u;
    const tw_node_desc_t *const *all = tw_node_catalogue(&types);
    for (uint32_t type = 0; type < types; type++) {
        unsigned opened = 0;
        for (uint32_t draw = 0; draw < DRAWS && opened < OPENED; draw++) {
            any_source_t s = {.seed = rig_noise(&seed)};
            opened += any_node_abi(&s, type);
        }
        if (opened < OPENED / 3) {
            fail_msg("%s: formats drawn were accepted %u times only", all[type]->name, opened);
        }
    }
}

static void descriptors_say_what_can_be(void **state)
{
    (void)state;
    uint32_t types;
    const tw_node_desc_t *const *all = tw_node_catalogue(&types);
    for (uint32_t i = 0; i < types; i++) {
        const tw_node_desc_t *d = all[i];
        char full[96];
        snprintf(full, sizeof full, "%s/%s", d->developer, d->name);
        assert_int_equal(d->hash, tw_fnv1a(full));
        assert_true(d->n_mem >= 1 && d->n_mem <= TW_MAX_NODE_MEM && d->mem[0].type == 0);
        assert_true(d->rx_min <= d->rx_max && d->tx_min <= d->tx_max && d->rx_max + d->tx_max >= 1);
        for (uint32_t m = 0; m < d->n_mem; m++) {
            const uint32_t align = d->mem[m].align;
            assert_true((align & (align - 1)) == 0);
            assert_true(d->mem[m].type == 0 || d->mem[m].type == 1 || d->mem[m].type == 3);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_say_what_can_be),
        cmocka_unit_test(every_type_keeps_the_rules_of_the_ABI),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
