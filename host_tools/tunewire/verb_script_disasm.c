/* verb_script_disasm.c - tunewire script disasm: words to text. */
#include "engine/script/script.h"
#include "host_tools/tunewire/cli_script.h"
#include <stdlib.h>

static void hex_words(const uint8_t *code, uint32_t at, uint32_t n, char out[32])
{
    out[0] = '\0';
    for (uint32_t i = 0; i < n && i < 10; i += 2) {
        (void)snprintf(out + 5 * (i / 2), 6, "%04x ", tw_get_le16(code + at + i));
    }
}

int verb_script_disasm(tw_cli_t *cli)
{
    tw_bytes_t code;
    uint32_t code_bytes;
    if (!cli_read_script(cli, cli->args[0], &code, &code_bytes)) {
        return cli->exit;
    }
    json_t *list = cli->json ? json_array() : NULL;
    for (uint32_t at = 0; at + 2 <= code_bytes;) {
        char text[128], words[32];
        uint32_t n = tw_script_disasm(code.data, code_bytes, at, text, sizeof text);
        n = n < 2 ? 2 : tw_min_u32(n, code_bytes - at);
        hex_words(code.data, at, n, words);
        if (list) {
            (void)json_array_append_new(list,
                                        json_pack("{s:i, s:s, s:s}", "at", (int)at, "words", words, "text", text));
        } else {
            (void)fprintf(cli->out, "%04x  %-26s%s\n", at, words, text);
        }
        at += n;
    }
    free(code.data);
    return list ? cli_json(cli, json_pack("{s:o}", "code", list)) : CLI_OK;
}
