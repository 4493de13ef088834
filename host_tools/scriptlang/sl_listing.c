/* sl_listing.c - what was compiled, as assembler text beside the lines it came from; it assembles to the same words. */
#include "engine/script/script.h"
#include "host_tools/scriptlang/scriptlang.h"
#include <inttypes.h>
#include <string.h>

static const struct {
    const char *data;
    uint8_t bytes;
} types[16] = {
#define TW_STYPE(code, NAME, name, bytes, data) [code] = {data, bytes},
#include "engine/script/script_types.def"
};

static void source_line(FILE *f, const char *text, size_t n, unsigned line)
{
    const char *at = text, *end = text + n;
    for (unsigned i = 1; i < line && at < end; i++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next != NULL ? next + 1 : end;
    }
    const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    stop = stop != NULL ? stop : end;
    while (at < stop && (unsigned char)*at <= ' ') {
        at++;
    }
    (void)fprintf(f, "; %u: %.*s\n", line, (int)(stop - at), at);
}

static void code(FILE *f, const tw_sl_out_t *out, const char *text, size_t n)
{
    char insn[80];
    uint32_t line = 0;
    for (uint32_t pc = 0; pc < out->code_bytes;) {
        for (; line < out->n_lines && out->lines[line].pc == pc; line++) {
            source_line(f, text, n, out->lines[line].line);
        }
        const uint32_t bytes = tw_script_disasm(out->code, out->code_bytes, pc, insn, sizeof insn);
        (void)fprintf(f, "    %-26s; %04" PRIx32 "\n", insn, pc);
        pc += bytes;
    }
}

/* Hexadecimal data are bits whatever the type. */
static void pool(FILE *f, const tw_sl_out_t *out)
{
    const uint32_t n = out->pool_bytes >= 2 ? tw_get_le16(out->pool + out->pool_bytes - 2) : 0;
    const uint8_t *dir = out->pool + out->pool_bytes - 2 - 4 * n;
    const uint32_t data = (uint32_t)(dir - out->pool);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *e = dir + 4 * i;
        const uint32_t at = tw_get_le16(e + 2), end = i + 1 < n ? tw_get_le16(e + 6) : data;
        const uint32_t size = types[e[1] & 15].bytes;
        (void)fprintf(f, "labl #%u\n%" PRIu32 " %s;", e[0], (end - at) / size, types[e[1] & 15].data);
        for (uint32_t k = at; k + size <= end; k += size) {
            uint64_t v = 0;
            for (uint32_t b = size; b-- > 0;) {
                v = v << 8 | out->pool[k + b];
            }
            (void)fprintf(f, " 0x%" PRIx64, v);
        }
        (void)fputc('\n', f);
    }
}

void tw_script_listing(FILE *f, const tw_sl_out_t *out, const char *text, size_t n)
{
    code(f, out, text, n);
    pool(f, out);
}
