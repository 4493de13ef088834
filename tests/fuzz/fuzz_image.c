/* Bytes as a graph image: prime, and when accepted swap in and run 50 blocks with commands.
 *
 * Byte 0 says what is repaired first, so that searching gets behind the checksums: bit 0 size and
 * CRC-32Cs, bit 1 the scripts' CRC-16s; bit 3, that the image stays where it is and its graph_location counts. The
 * rest is the image. The run may do anything but crash, hang, or write outside its slot: the first graph lives in
 * slot 0, and slot 1 behind it keeps a pattern.
 */
#include "engine/base/crc.h"
#include "tests/support/engine_rig.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IMAGE_MAX = 1 << 16, QUEUE = 1 << 15 };

static void fix_scripts(uint8_t *img, uint32_t bytes)
{
    const uint32_t at = tw_image_section(img, TW_SEC_SCRIPTS);
    const uint32_t n = tw_bits(tw_img_word(img, 0, TW_W_COUNTS2), TW_W13_SCRIPTS);
    for (uint32_t i = 0; i < n && at % 4 == 0 && tw_inside(at + 16u * (uint64_t)i, 16, bytes); i++) {
        uint8_t *entry = img + at + 16 * i;
        const uint32_t code = tw_get_le32(entry), code_bytes = tw_get_le16(entry + 4), pool = tw_get_le16(entry + 6);
        const uint32_t all = pool != 0 ? tw_round_up(code_bytes, 4) + pool : code_bytes;
        if (tw_inside(code, all, bytes)) {
            tw_put_le16(entry + 12, tw_crc16(TW_CRC16_INIT, img + code, all));
        }
    }
}

/* A catalogue, if any, is this one: seeds with compact records outlive new node types. */
static void fix_catalogue(uint8_t *img)
{
    tw_node_order_t order;
    if (tw_get_le32(img + 4 * TW_W_CATALOGUE) != 0) {
        tw_node_order(&order);
        tw_put_le32(img + 4 * TW_W_CATALOGUE, order.id);
    }
}

static void repair(uint8_t *img, uint32_t bytes, uint8_t how)
{
    if (bytes < TW_IMG_HEADER_BYTES) {
        return;
    }
    if (how & 2) {
        fix_scripts(img, bytes);
    }
    if (how & 1) {
        fix_catalogue(img);
        tw_put_le32(img + 4 * TW_W_TOTAL, bytes);
        tw_image_fix(img, bytes);
    }
}

/* What a host would do to a graph it did not write. */
static void disturb(rig_t *r, unsigned block)
{
    tw_engine_info_t info;
    tw_fault_t fault;
    static const uint8_t value[64];
    tw_engine_info(r->engine, &info);
    for (uint32_t n = 0; n < info.nodes && n < 4; n++) {
        tw_engine_node_t node;
        if (tw_engine_node(r->engine, n, &node) != TW_OK) {
            abort();
        }
        for (uint32_t index = block % 7; index <= 256; index += 85) {
            const uint32_t bytes = tw_param_bytes(node.desc, node.fmt, index);
            if (bytes <= sizeof value && tw_engine_check_param(r->engine, n, index, 0, value, bytes, &fault) == TW_OK) {
                (void)tw_engine_put_param(r->engine, 0, n, index, value, bytes);
            }
        }
        (void)tw_engine_put_read(r->engine, 1, n, 256);
    }
    for (uint32_t a = 0; a < info.arcs && a < 4; a++) {
        (void)tw_engine_put_arc_read(r->engine, 2, a, 256);
    }
    for (uint32_t s = 0; s < info.scripts && s < 4; s++) {
        (void)tw_engine_put_run(r->engine, 3, s, NULL, 0, 0);
    }
    if (block == 30) {
        (void)tw_engine_put_control(r->engine, 4, TW_CTL_RESET, 0);
    }
    (void)tw_engine_publish(r->engine);
}

/* Slot 1 is the last part of the engine's memory. */
static uint8_t *other_slot(const rig_t *r)
{
    const tw_engine_cfg_t cfg = {.port = &r->port,
                                 .board = &r->board,
                                 .queue_bytes = QUEUE,
                                 .timed_bytes = QUEUE,
                                 .reply_bytes = QUEUE,
                                 .graph_bytes = RIG_GRAPH_BYTES,
                                 .shadow_bytes = RIG_SHADOW_BYTES,
                                 .trace_bytes = RIG_TRACE_BYTES};
    return (uint8_t *)r->mem + tw_engine_need(&cfg) - RIG_GRAPH_BYTES;
}

static void expect_untouched(const uint8_t *p)
{
    for (uint32_t i = 0; i < RIG_GRAPH_BYTES; i++) {
        if (p[i] != 0xA5) {
            abort();
        }
    }
}

static void run(rig_t *r)
{
    if (tw_engine_put_swap(r->engine, 1, true) != TW_OK) {
        abort();
    }
    (void)tw_engine_publish(r->engine);
    for (unsigned i = 0; i < 50; i++) {
        if (!tw_engine_tick(r->engine)) {
            abort();
        }
        if (i % 10 == 0) {
            disturb(r, i);
        }
        (void)rig_events(r, TW_EV_FLOW, NULL);
        memset(r->out_bytes, 0, sizeof r->out_bytes);
    }
    (void)tw_engine_put_unload(r->engine, 0);
    (void)tw_engine_publish(r->engine);
    (void)tw_engine_tick(r->engine);
    (void)rig_events(r, TW_EV_FLOW, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rig_t rig;
    if (size < 1 || size > IMAGE_MAX) {
        return 0;
    }
    const uint32_t bytes = (uint32_t)size - 1;
    uint8_t *img = malloc(bytes != 0 ? bytes : 1); /* an exact copy: a read past the end is seen */
    memcpy(img, data + 1, bytes);
    repair(img, bytes, data[0]);
    rig_open(&rig, QUEUE, QUEUE);
    memset(other_slot(&rig), 0xA5, RIG_GRAPH_BYTES);
    tw_fault_t fault;
    const bool stays = (data[0] & 8) != 0;
    const tw_err_t err = tw_engine_prime(rig.engine, img, bytes, stays, &fault);
    if (err != fault.err) {
        abort();
    }
    if (!stays) {
        free(img); /* the engine keeps a copy */
    }
    if (err == TW_OK) {
        run(&rig);
    }
    if (stays) {
        free(img);
    }
    expect_untouched(other_slot(&rig));
    rig_close(&rig);
    return 0;
}
