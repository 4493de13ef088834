/* state_slots.h - bytes that survive a loss of power at any moment: two places, written in turn.
 *
 * A slot: u32 'TWSS', u32 number, u32 bytes, u32 CRC-32C of number, bytes and content, then the content. The slot with
 * the higher number counts; the other one is written next, content first, head last. Whatever a write leaves behind,
 * the slot that counted before still does. Knows no file and no flash.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { TW_STATE_SLOT_MAGIC = 0x53535754, TW_STATE_SLOT_HEAD = 16, TW_STATE_SLOTS = 2 };

/** Where the slots are: slot i from byte i * slot_bytes on. What was never written reads as anything, or fails. */
typedef struct tw_state_device {
    void *ctx;
    uint32_t slot_bytes;
    bool (*read)(void *ctx, uint32_t at, void *to, uint32_t bytes);
    /** On return the bytes are kept. @return false: perhaps some of them are */
    bool (*write)(void *ctx, uint32_t at, const void *from, uint32_t bytes);
} tw_state_device_t;

typedef struct tw_state_slots {
    tw_state_device_t device;
    uint32_t newest; /* TW_STATE_SLOTS: nothing is kept */
    uint32_t number, bytes;
} tw_state_slots_t;

/** Look what is there. */
void tw_state_slots_open(tw_state_slots_t *s, const tw_state_device_t *device);
/** @return bytes of what was put last, and them in `to`; 0: nothing, more than `room`, or it cannot be read */
uint32_t tw_state_slots_get(const tw_state_slots_t *s, void *to, uint32_t room);
/** @return false: it does not fit, or was not written; what was put before is still there */
bool tw_state_slots_put(tw_state_slots_t *s, const void *data, uint32_t bytes);
