/* board_linux_state.c - what outlives a loss of power, in a file of two slots.
 *
 * The engine thread copies into a mailbox and goes on; the control thread writes it out and waits for the disk.
 */
#include "engine/board/board_linux_priv.h"
#include "engine/base/config.h"
#include "engine/board/state_slots.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { HEADS = 256, MAIL_MAX = TW_STATE_MAX + HEADS, SLOT_BYTES = MAIL_MAX + TW_STATE_SLOT_HEAD };

struct board_state {
    int file;
    tw_state_slots_t slots;
    _Atomic bool full; /* set by the engine thread, cleared by the control thread, who owns the mail in between */
    bool failed;       /* told */
    uint32_t bytes;
    uint8_t mail[MAIL_MAX];
};

static bool file_read(void *ctx, uint32_t at, void *to, uint32_t bytes)
{
    const board_state_t *s = ctx;
    return pread(s->file, to, bytes, at) == (ssize_t)bytes;
}

static bool file_write(void *ctx, uint32_t at, const void *from, uint32_t bytes)
{
    const board_state_t *s = ctx;
    return pwrite(s->file, from, bytes, at) == (ssize_t)bytes && fdatasync(s->file) == 0;
}

bool board_state_open(tw_board_linux_t *b, char why[TW_BOARD_WHY])
{
    const char *path = b->cfg.state;
    if (path == NULL) {
        return true;
    }
    board_state_t *s = calloc(1, sizeof *s);
    b->state = s;
    if (s == NULL) {
        snprintf(why, TW_BOARD_WHY, "%s: not enough memory", path);
        return false;
    }
    s->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->file < 0 || flock(s->file, LOCK_EX | LOCK_NB) != 0) {
        const char *what = errno == EWOULDBLOCK ? "another tunewired keeps its state there" : strerror(errno);
        snprintf(why, TW_BOARD_WHY, "%s: %s", path, what);
        return false;
    }
    const tw_state_device_t device = {s, SLOT_BYTES, file_read, file_write};
    tw_state_slots_open(&s->slots, &device);
    b->board.store = board_state_store;
    b->board.restore = board_state_restore;
    return true;
}

bool board_state_store(void *ctx, const void *data, uint32_t bytes)
{
    board_state_t *s = ((tw_board_linux_t *)ctx)->state;
    if (atomic_load_explicit(&s->full, memory_order_acquire) || bytes > MAIL_MAX) {
        return false;
    }
    memcpy(s->mail, data, bytes);
    s->bytes = bytes;
    atomic_store_explicit(&s->full, true, memory_order_release);
    return true;
}

uint32_t board_state_restore(void *ctx, void *data, uint32_t room)
{
    return tw_state_slots_get(&((tw_board_linux_t *)ctx)->state->slots, data, room);
}

void board_state_service(tw_board_linux_t *b)
{
    board_state_t *s = b->state;
    if (s == NULL || !atomic_load_explicit(&s->full, memory_order_acquire)) {
        return;
    }
    const bool written = tw_state_slots_put(&s->slots, s->mail, s->bytes);
    if (!written && !s->failed) {
        board_log(b, TW_BOARD_WARN, "state not saved to %s: %s", b->cfg.state, strerror(errno));
    }
    s->failed = !written;
    atomic_store_explicit(&s->full, false, memory_order_release);
}

void board_state_close(tw_board_linux_t *b)
{
    if (b->state != NULL) {
        board_state_service(b);
        if (b->state->file >= 0) {
            (void)close(b->state->file);
        }
        free(b->state);
    }
}
