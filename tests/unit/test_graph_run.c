/* The scheduler: data moves as the kernels say, whatever the frames and the order. */
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;

static void a_chain_passes_every_frame_in_its_own_block(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    rig_load(&rig, img, rig_chain(&ib, img, sizeof img));
    for (uint64_t t = 0; t < 50; t++) {
        assert_true(tw_engine_tick(rig.engine));
        assert_int_equal(rig.out_bytes[4], (t + 1) * RIG_FRAME);
        assert_int_equal(rig.write_tick[4], t);
    }
    /* preset 0 of both nodes passes the signal */
    for (uint32_t i = 0; i < rig.out_bytes[4] / 2; i++) {
        assert_int_equal(tw_get_le16(rig.out[4] + 2 * i), i);
    }
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_passes_every_frame_in_its_own_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
