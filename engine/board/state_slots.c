/* state_slots.c - see state_slots.h. */
#include "engine/board/state_slots.h"
#include "engine/base/bytes.h"
#include "engine/base/crc.h"

enum { PIECE = 128, AT_NUMBER = 4, AT_BYTES = 8, AT_CRC = 12 };

static uint32_t place_of(const tw_state_slots_t *s, uint32_t slot)
{
    return slot * s->device.slot_bytes;
}

/* @return false: the slot holds nothing whole */
static bool look(const tw_state_slots_t *s, uint32_t slot, uint32_t *number, uint32_t *bytes)
{
    const tw_state_device_t *d = &s->device;
    uint8_t head[TW_STATE_SLOT_HEAD], piece[PIECE];
    if (!d->read(d->ctx, place_of(s, slot), head, sizeof head) || tw_get_le32(head) != TW_STATE_SLOT_MAGIC) {
        return false;
    }
    *number = tw_get_le32(head + AT_NUMBER);
    *bytes = tw_get_le32(head + AT_BYTES);
    if (*bytes > d->slot_bytes - TW_STATE_SLOT_HEAD) {
        return false;
    }
    uint32_t crc = tw_crc32c(0, head + AT_NUMBER, AT_CRC - AT_NUMBER);
    for (uint32_t at = 0; at < *bytes; at += PIECE) {
        const uint32_t n = tw_min_u32(*bytes - at, PIECE);
        if (!d->read(d->ctx, place_of(s, slot) + TW_STATE_SLOT_HEAD + at, piece, n)) {
            return false;
        }
        crc = tw_crc32c(crc, piece, n);
    }
    return crc == tw_get_le32(head + AT_CRC);
}

void tw_state_slots_open(tw_state_slots_t *s, const tw_state_device_t *device)
{
    *s = (tw_state_slots_t){.device = *device, .newest = TW_STATE_SLOTS};
    for (uint32_t i = 0; i < TW_STATE_SLOTS; i++) {
        uint32_t number, bytes;
        const bool whole = look(s, i, &number, &bytes);
        if (whole && (s->newest == TW_STATE_SLOTS || (int32_t)(number - s->number) > 0)) {
            s->newest = i;
            s->number = number;
            s->bytes = bytes;
        }
    }
}

uint32_t tw_state_slots_get(const tw_state_slots_t *s, void *to, uint32_t room)
{
    const tw_state_device_t *d = &s->device;
    const bool there = s->newest < TW_STATE_SLOTS && s->bytes <= room &&
                       d->read(d->ctx, place_of(s, s->newest) + TW_STATE_SLOT_HEAD, to, s->bytes);
    return there ? s->bytes : 0;
}

bool tw_state_slots_put(tw_state_slots_t *s, const void *data, uint32_t bytes)
{
    const tw_state_device_t *d = &s->device;
    const uint32_t slot = s->newest == 0 ? 1 : 0, number = s->number + 1;
    uint8_t head[TW_STATE_SLOT_HEAD];
    if (bytes == 0 || bytes > d->slot_bytes - TW_STATE_SLOT_HEAD) {
        return false;
    }
    tw_put_le32(head, TW_STATE_SLOT_MAGIC);
    tw_put_le32(head + AT_NUMBER, number);
    tw_put_le32(head + AT_BYTES, bytes);
    tw_put_le32(head + AT_CRC, tw_crc32c(tw_crc32c(0, head + AT_NUMBER, AT_CRC - AT_NUMBER), data, bytes));
    if (!d->write(d->ctx, place_of(s, slot) + TW_STATE_SLOT_HEAD, data, bytes) ||
        !d->write(d->ctx, place_of(s, slot), head, sizeof head)) {
        return false;
    }
    s->newest = slot;
    s->number = number;
    s->bytes = bytes;
    return true;
}
