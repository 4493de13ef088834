/* verb_schema.c - tunewire schema: the descriptor set the device serves. */
#include "engine/base/crc.h"
#include "host_tools/tunewire/cli.h"
#include <inttypes.h>
#include <stdlib.h>

int verb_schema(tw_cli_t *cli)
{
    tw_bytes_t b;
    const char *path = cli_option(cli, "--output");
    if (!tw_client_download(cli->c, TW_M_Session_Schema, NULL, &b)) {
        return cli_fail_client(cli, "schema");
    }
    const uint32_t crc = tw_crc32c(0, b.data, b.n);
    const bool same = crc == tw_client_hello(cli->c)->schema_crc;
    int code = CLI_OK;
    if (!same) {
        code = cli_fail(cli, CLI_DEVICE, tw_client_peer(cli->c), "read it again", "the schema is damaged");
    } else if (path && !cli_write_file(cli, path, b.data, b.n)) {
        code = cli->exit;
    } else if (cli->json) {
        code = cli_json(cli, json_pack("{s:I, s:I}", "bytes", (json_int_t)b.n, "crc32c", (json_int_t)crc));
    } else {
        uint32_t n;
        const tw_method_t *m = tw_method_table(&n);
        FILE *f = path && strcmp(path, "-") == 0 ? cli->err : cli->out;
        (void)fprintf(f, "tunewire.v1, %zu bytes, CRC-32C %08" PRIx32 "\n", b.n, crc);
        for (uint32_t i = 0; i < n && !path; i++) {
            (void)fprintf(f, "  0x%04x  %s\n", m[i].id, m[i].name);
        }
    }
    free(b.data);
    return code;
}
