/* graph_place.c - which parts of an image are copied to RAM, as its graph_location says. */
#include "engine/graph/graph_priv.h"

#if !TW_SMALL
enum { IN_RAM, FROM_NODES, FROM_ARCS, AS_IT_IS }; /* word 7 [1:0] */

/* The first section that is copied; TW_SEC_COUNT none. */
static const uint8_t first_copied[] = {
    [IN_RAM] = TW_SEC_BANKS,
    [FROM_NODES] = TW_SEC_NODES,
    [FROM_ARCS] = TW_SEC_ARCS,
    [AS_IT_IS] = TW_SEC_COUNT,
};

static uint32_t copied_bytes(const uint8_t *img, uint32_t first)
{
    uint32_t bytes = TW_IMG_HEADER_BYTES;
    for (uint32_t s = first; s < TW_SEC_COUNT; s++) {
        bytes += tw_round_up(tw_img_section(img, (tw_section_t)s).bytes, TW_IMG_ALIGN);
    }
    return bytes;
}

/* Of n records that begin with an offset from the start of the image, that offset goes with the section. */
static void move_offsets(uint8_t *records, uint32_t n, uint32_t words, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *w = records + 4u * words * i;
        tw_put_le32(w, tw_get_le32(w) - from + to);
    }
}

/* A header and the sections from `first` on, one behind the other. Those in front of it are not there. */
static void copy_sections(uint8_t *to, const uint8_t *img, uint32_t first)
{
    const tw_img_counts_t n = tw_img_counts(img);
    uint32_t end = TW_IMG_HEADER_BYTES;
    memcpy(to, img, TW_IMG_HEADER_BYTES);
    memset(to + 4u * TW_W_DIRECTORY, 0, 8u * TW_SEC_COUNT);
    for (uint32_t s = first; s < TW_SEC_COUNT; s++) {
        const tw_img_section_t sec = tw_img_section(img, (tw_section_t)s);
        uint8_t *entry = to + 4u * (TW_W_DIRECTORY + 2u * s);
        memcpy(to + end, img + sec.at, sec.bytes);
        tw_put_le32(entry, end);
        tw_put_le32(entry + 4, sec.bytes);
        if (s == TW_SEC_NODES) {
            move_offsets(to + end, n.nodes, 1, sec.at, end);
        } else if (s == TW_SEC_SCRIPTS) {
            move_offsets(to + end, n.scripts, TW_SCRIPT_WORDS, sec.at, end);
        }
        end += tw_round_up(sec.bytes, TW_IMG_ALIGN);
    }
}

tw_err_t tw_graph_place(const uint8_t *img, uint32_t bytes, bool stays, tw_arena_t *arena, tw_graph_image_t *out,
                        tw_fault_t *fault)
{
    const uint32_t location = stays ? tw_bits(tw_img_word(img, 0, TW_W_CONTROL), TW_W7_LOCATION) : IN_RAM;
    const uint32_t first = first_copied[location];
    *out = (tw_graph_image_t){.whole = img, .nodes = img, .rest = img};
    if (location == AS_IT_IS) {
        return TW_OK;
    }
    const uint32_t ram = location == IN_RAM ? bytes : copied_bytes(img, first);
    uint8_t *copy = tw_arena_take(arena, ram, TW_IMG_ALIGN);
    if (copy == NULL) {
        *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = ram - (uint32_t)(arena->size - arena->used)};
        return TW_E_NOMEM;
    }
    if (location == IN_RAM) {
        memcpy(copy, img, bytes);
        out->whole = copy;
    } else {
        copy_sections(copy, img, first);
    }
    out->rest = copy;
    out->nodes = location == FROM_ARCS ? img : copy;
    out->ram = ram;
    return TW_OK;
}
#endif
