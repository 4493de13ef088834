/* handlers_gpio.c - Gpio: levels of pins, written by hosts within the board's policy, and watched.
 *
 * Changes come from the board, whoever made them; the last ones are kept here for watchers, which take them at their
 * own pace. Gpio.Rule is not offered.
 */
#include "server/server_priv.h"

static const tw_board_gpio_t *port_of(tw_call_t *c, uint32_t port)
{
    const tw_board_gpio_t *g = tw_engine_gpio(c->s->e);
    if (g == NULL) {
        tw_fail(c, TW_E_UNSUPPORTED, 0, "this device has no pins");
    } else if (port != 0) {
        tw_fail(c, TW_E_NOT_FOUND, port, "port 0 is all there is");
        g = NULL;
    }
    return g;
}

static void fill(const tw_board_gpio_t *g, uint32_t levels, uint64_t t_us, tunewire_v1_GpioState *m)
{
    *m = (tunewire_v1_GpioState){.value = levels & g->pins, .direction = g->outputs(g->ctx) & g->pins, .t_us = t_us};
}

static void answer(tw_call_t *c, const tw_board_gpio_t *g)
{
    tunewire_v1_GpioState m;
    fill(g, g->levels(g->ctx), tw_clock(c->s), &m);
    tw_reply(c, tunewire_v1_GpioState_fields, &m);
}

void tw_on_gpio_get(tw_call_t *c, const void *request)
{
    const tunewire_v1_GpioRef *q = request;
    const tw_board_gpio_t *g = port_of(c, q->port);
    if (g != NULL) {
        answer(c, g);
    }
}

/* All pins of the mask or none. */
void tw_on_gpio_set(tw_call_t *c, const void *request)
{
    const tunewire_v1_GpioSet *q = request;
    const tw_board_gpio_t *g = port_of(c, q->port);
    if (g == NULL) {
        return;
    }
    if ((q->mask & ~g->pins) != 0) {
        tw_fail(c, TW_E_RANGE, q->mask & ~g->pins, "where = pins of the mask that are none");
        return;
    }
    if ((q->mask & ~g->hosts) != 0) {
        tw_fail(c, TW_E_DENIED, q->mask & ~g->hosts, "where = pins that hosts may not write");
        return;
    }
    const tw_err_t err = q->mask != 0 ? g->write(g->ctx, q->mask, q->value, false) : TW_OK;
    if (err != TW_OK) {
        tw_fail(c, err, q->mask, "the device does not take it");
        return;
    }
    answer(c, g);
}

/* ---- watching -------------------------------------------------------------------------- */

void tw_gpio_drain(tw_server_t *s)
{
    const tw_board_gpio_t *g = tw_engine_gpio(s->e);
    tw_gpio_change_t change;
    for (unsigned i = 0; i < TW_PIN_CHANGES && g != NULL && g->changed != NULL && g->changed(g->ctx, &change); i++) {
        s->pins[s->pin_seq++ % TW_PIN_CHANGES] = change;
    }
}

enum { FIRST = 0 }; /* of a watcher that has heard nothing yet; its place is a sequence number + 1 afterwards */

uint64_t tw_gpio_next(tw_server_t *s, uint64_t at, tunewire_v1_GpioState *m)
{
    const tw_board_gpio_t *g = tw_engine_gpio(s->e);
    if (at == FIRST) {
        fill(g, g->levels(g->ctx), tw_clock(s), m);
        return s->pin_seq + 1;
    }
    const uint64_t oldest = s->pin_seq > TW_PIN_CHANGES ? s->pin_seq - TW_PIN_CHANGES : 0;
    const uint64_t seq = at - 1 > oldest ? at - 1 : oldest;
    if (seq == s->pin_seq) {
        return at;
    }
    const tw_gpio_change_t *c = &s->pins[seq % TW_PIN_CHANGES];
    fill(g, c->levels, c->t_us, m);
    return seq + 2;
}

void tw_on_gpio_watch(tw_call_t *c, const void *request)
{
    const tunewire_v1_GpioRef *q = request;
    if (port_of(c, q->port) == NULL) {
        return;
    }
    tw_sender_t *snd = tw_sender_open(c, TW_SEND_PINS);
    if (snd == NULL) {
        return;
    }
    tw_gpio_drain(c->s);
    snd->at = FIRST;
    tw_reply_stream(c, snd->stream, NULL, NULL);
    tw_senders_pump(c->peer);
}
