/* graph_check_ext.c - the extension chain of an image: symbols, parameter metadata, memory fills. */
#include "engine/graph/graph_priv.h"

#if TW_EXTENSIONS
/* ---- SYMB ------------------------------------------------------------------------ */

static bool symbol_char(uint8_t ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' ||
           ch == '/' || ch == '-';
}

static bool symbol_index_ok(const check_t *c, uint32_t kind, uint32_t index)
{
    switch (kind) {
    case TW_SYM_NODE:
        return index < c->n.nodes;
    case TW_SYM_ARC:
        return index < c->n.arcs;
    case TW_SYM_IO:
        return index < c->n.ios;
    case TW_SYM_SCRIPT:
        return index < c->n.scripts;
    case TW_SYM_GRAPH:
        return index == 0;
    default:
        return false;
    }
}

static tw_err_t check_symbols(const check_t *c, uint32_t at, uint32_t bytes)
{
    uint32_t order = 0; /* kind and index of the entry before */
    for (uint32_t k = 0; k < bytes;) {
        const uint8_t *entry = c->img + at + k;
        if (bytes - k < 5 || entry[1] == 0 || entry[1] > TW_SYMBOL_MAX || entry[1] > bytes - k - 4) {
            return check_refuse(c, TW_E_IMG_EXT, SEC(EXT), at + k);
        }
        const uint32_t index = tw_get_le16(entry + 2), now = (uint32_t)entry[0] << 16 | index;
        if (!symbol_index_ok(c, entry[0], index) || now <= order) {
            return check_refuse(c, TW_E_IMG_EXT, SEC(EXT), at + k);
        }
        for (uint32_t i = 0; i < entry[1]; i++) {
            if (!symbol_char(entry[4 + i])) {
                return check_refuse(c, TW_E_IMG_EXT, SEC(EXT), at + k + 4 + i);
            }
        }
        order = now;
        k += 4u + entry[1];
    }
    return TW_OK;
}

/* ---- META ------------------------------------------------------------------------ */

/* Finite, as the exponent says: no arithmetic on bytes that may be a signalling NaN. */
static bool finite_f64(const uint8_t *p)
{
    return (tw_get_le32(p + 4) >> 20 & 0x7FFu) != 0x7FFu;
}

static tw_err_t refuse_meta(const check_t *c, uint32_t at)
{
    return check_refuse(c, TW_E_IMG_META, SEC(EXT), at);
}

/* One parameter at *at, which moves behind it. `end` is where its table ends. */
static tw_err_t check_meta_row(const check_t *c, uint32_t *at, uint32_t end)
{
    const uint32_t row = *at, fixed = 4u * TW_META_ROW_WORDS;
    if (!tw_inside(row, fixed, end)) {
        return refuse_meta(c, row);
    }
    const uint32_t m0 = tw_img_word(c->img, row, 0), m1 = tw_img_word(c->img, row, 1), name = tw_bits(m1, TW_M1_NAME);
    if (tw_bits(m0, TW_M0_RAW) >= TW_RAW_COUNT || tw_bits(m0, TW_M0_UNIT) >= TW_UNIT_COUNT) {
        return refuse_meta(c, row);
    }
    const bool named = name != 0 && name <= TW_SYMBOL_MAX && tw_inside(row + fixed, tw_round_up(name, 4), end);
    if (tw_bits(m1, TW_M1_ZERO) != 0 || tw_bits(m1, TW_M1_COUNT) == 0 || !named) {
        return refuse_meta(c, row + 4);
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (!finite_f64(c->img + row + 8 + 8 * i)) {
            return refuse_meta(c, row + 8 + 8 * i);
        }
    }
    for (uint32_t i = 0; i < name; i++) {
        if (!symbol_char(c->img[row + fixed + i])) {
            return refuse_meta(c, row + fixed + i);
        }
    }
    *at = row + fixed + tw_round_up(name, 4);
    return TW_OK;
}

static tw_err_t check_meta_table(const check_t *c, uint32_t *at, uint32_t end)
{
    const uint32_t table = *at;
    if (!tw_inside(table, 4u * TW_META_TABLE_WORDS, end)) {
        return refuse_meta(c, table);
    }
    const uint32_t word = tw_img_word(c->img, table, 1), bytes = 4u * tw_bits(word, TW_MT_WORDS);
    if (bytes < 4u * TW_META_TABLE_WORDS || !tw_inside(table, bytes, end)) {
        return refuse_meta(c, table + 4);
    }
    uint32_t row = table + 4u * TW_META_TABLE_WORDS;
    for (uint32_t i = 0; i < tw_bits(word, TW_MT_ROWS); i++) {
        TW_TRY(check_meta_row(c, &row, table + bytes));
    }
    *at = table + bytes;
    return row == *at ? TW_OK : refuse_meta(c, table + 4);
}

static tw_err_t check_meta(const check_t *c, uint32_t payload, uint32_t bytes)
{
    const uint32_t end = payload + bytes;
    if (bytes < 4 || bytes % 4 != 0 || tw_bits(tw_img_word(c->img, payload, 0), TW_MT_ZERO) != 0) {
        return refuse_meta(c, payload);
    }
    uint32_t at = payload + 4;
    for (uint32_t i = 0; i < tw_bits(tw_img_word(c->img, payload, 0), TW_MT_TABLES); i++) {
        TW_TRY(check_meta_table(c, &at, end));
    }
    return at == end ? TW_OK : refuse_meta(c, payload);
}

/* A node that names a table: one of its own type. Nodes come later, so their records were not checked yet. */
tw_err_t check_meta_of(const check_t *c, uint32_t record)
{
    const uint32_t number = tw_bits(tw_img_node_n3(c->img, record), TW_N3_META);
    uint32_t bytes, payload = number != 0 ? img_ext(c->img, TW_EXT_META, &bytes) : 0;
    if (number == 0) {
        return TW_OK;
    }
    if (payload == 0 || number > tw_bits(tw_img_word(c->img, payload, 0), TW_MT_TABLES)) {
        return check_refuse(c, TW_E_IMG_META, SEC(NODES), record + 12);
    }
    uint32_t at = payload + 4;
    for (uint32_t i = 1; i < number; i++) {
        at += 4u * tw_bits(tw_img_word(c->img, at, 1), TW_MT_WORDS);
    }
    return tw_img_word(c->img, at, 0) == tw_img_word(c->img, record, 2)
               ? TW_OK
               : check_refuse(c, TW_E_IMG_META, SEC(NODES), record + 12);
}

/* ---- INIT ------------------------------------------------------------------------ */

static tw_err_t check_init(const check_t *c, uint32_t payload, uint32_t bytes)
{
    if (bytes % (4u * TW_INIT_WORDS) != 0) {
        return check_refuse(c, TW_E_IMG_INIT, SEC(EXT), payload - 4);
    }
    for (uint32_t at = payload; at < payload + bytes; at += 4u * TW_INIT_WORDS) {
        if (tw_bits(tw_img_word(c->img, at, 0), TW_INIT0_ZERO) != 0) {
            return check_refuse(c, TW_E_IMG_INIT, SEC(EXT), at);
        }
    }
    return TW_OK;
}

tw_err_t check_fills(const check_t *c)
{
    uint32_t bytes = 0;
    const uint32_t payload = img_ext(c->img, TW_EXT_INIT, &bytes);
    for (uint32_t at = payload; at < payload + bytes; at += 4u * TW_INIT_WORDS) {
        const int bank = img_bank(c->img, tw_bits(tw_img_word(c->img, at, 0), TW_INIT0_VID));
        if (bank < 0) {
            return check_refuse(c, TW_E_IMG_INIT, SEC(EXT), at);
        }
        const uint32_t b = tw_img_record(c->img, TW_SEC_BANKS, (uint32_t)bank, TW_BANK_WORDS);
        const uint64_t room = (uint64_t)tw_img_word(c->img, b, 1) + tw_img_word(c->img, b, 2);
        if (!tw_inside(tw_img_word(c->img, at, 1), tw_img_word(c->img, at, 2), room)) {
            return check_refuse(c, TW_E_IMG_INIT, SEC(EXT), at + 4);
        }
    }
    return TW_OK;
}

/* Of a known type there is one entry: a second would be read by some and missed by others. */
static tw_err_t check_known(const check_t *c, uint32_t at, uint32_t type, uint32_t bytes)
{
    uint32_t unused;
    if (img_ext(c->img, type, &unused) != at + 8) {
        return check_refuse(c, TW_E_IMG_EXT, SEC(EXT), at);
    }
    return type == TW_EXT_SYMB   ? check_symbols(c, at + 8, bytes)
           : type == TW_EXT_META ? check_meta(c, at + 8, bytes)
                                 : check_init(c, at + 8, bytes);
}
#else
/* Without fills, memory would not start as the graph was compiled to expect; names may be missed. */
static tw_err_t check_known(const check_t *c, uint32_t at, uint32_t type, uint32_t bytes)
{
    (void)bytes;
    return type == TW_EXT_INIT ? check_refuse(c, TW_E_IMG_INIT, SEC(EXT), at) : TW_OK;
}

tw_err_t check_meta_of(const check_t *c, uint32_t record)
{
    (void)c, (void)record;
    return TW_OK;
}

tw_err_t check_fills(const check_t *c)
{
    (void)c;
    return TW_OK;
}
#endif

/* ---- the chain ------------------------------------------------------------------- */

/* Critical means "do not run me without understanding this"; a signature can only be honoured when a key is
 * provisioned. */
static tw_err_t check_one(const check_t *c, uint32_t at, uint32_t type, bool critical, uint32_t bytes)
{
    if (type == TW_EXT_SYMB || type == TW_EXT_META || type == TW_EXT_INIT) {
        return check_known(c, at, type, bytes);
    }
    if (critical) {
        return check_refuse(c, type == TW_EXT_SIGN ? TW_E_IMG_SIGNATURE : TW_E_IMG_EXT, SEC(EXT), at);
    }
    return TW_OK;
}

tw_err_t check_ext(const check_t *c)
{
    const tw_img_section_t ext = tw_img_section(c->img, TW_SEC_EXT);
    for (uint32_t k = 0; k + 8 <= ext.bytes;) {
        const uint32_t at = ext.at + k, type = tw_img_word(c->img, at, 0), word = tw_img_word(c->img, at, 1);
        const uint32_t bytes = tw_bits(word, TW_EXT_BYTES);
        if (type == 0) {
            break; /* padding of the section */
        }
        if (bytes > ext.bytes - k - 8) {
            return check_refuse(c, TW_E_IMG_EXT, SEC(EXT), at);
        }
        TW_TRY(check_one(c, at, type, tw_bits(word, TW_EXT_CRITICAL), bytes));
        k += 8u + tw_round_up(bytes, 4);
    }
    return TW_OK;
}
