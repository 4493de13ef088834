/* The way of a client from hello to a sounding graph, and what each step refuses. */
#include "tests/unit/server_rig.h"

static bench_t b;

static void a_client_loads_a_graph_sets_a_gain_and_reads_it_back(void **state)
{
    (void)state;
    bench_open(&b);
    wire_client_t *w = bench_client(&b);
    bench_chain(w);

    tunewire_v1_ParamAck ack;
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -6.0f);
    assert_int_equal(param_set(w, &q, &ack), 0);
    assert_int_equal(ack.version, 2);
    assert_true(get_f32(w, AMP, GAIN_DB) == -6.0f);
    assert_true(b.ticks > 0);
    bench_leave(w);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_loads_a_graph_sets_a_gain_and_reads_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
