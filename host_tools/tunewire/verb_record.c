/* verb_record.c - tunewire record start, stop, status: recordings for tunewire replay, made by the device. */
#include "host_tools/tunewire/cli.h"

enum { LOOK_MS = 20 };

static bool call(tw_cli_t *cli, uint16_t method, const void *request, tunewire_v1_RecordState *s)
{
    *s = (tunewire_v1_RecordState)tunewire_v1_RecordState_init_zero;
    return tw_client_call(cli->c, &(tw_client_call_t){.method = method, .request = request, .response = s});
}

static const char *phase_name(unsigned phase)
{
    static const char *const names[] = {"none", "waits", "records", "ends", "ended"};
    return phase < TW_COUNT(names) ? names[phase] : "?";
}

static int tell(tw_cli_t *cli, const tunewire_v1_RecordState *s)
{
    if (cli->json) {
        return cli_json(cli, json_pack("{s:s, s:s, s:I, s:b, s:s}", "phase", phase_name(s->phase), "name", s->name,
                                       "bytes", (json_int_t)s->bytes, "complete", (int)s->complete, "text", s->text));
    }
    switch (s->phase) {
    case tunewire_v1_RecordState_Phase_NONE:
        (void)fprintf(cli->out, "nothing was recorded\n");
        break;
    case tunewire_v1_RecordState_Phase_WAITS:
        (void)fprintf(cli->out, "%s: begins with the next load (without --fade and --carry)\n", s->name);
        break;
    case tunewire_v1_RecordState_Phase_RECORDS:
    case tunewire_v1_RecordState_Phase_ENDS:
        (void)fprintf(cli->out, "%s: records, %.3f MB so far\n", s->name, (double)s->bytes / 1e6);
        break;
    default:
        (void)fprintf(cli->out, "%s: ended, %.3f MB%s%s\n", s->name, (double)s->bytes / 1e6,
                      s->complete ? "" : ", not complete: ", s->text);
        break;
    }
    return CLI_OK;
}

int verb_record_start(tw_cli_t *cli)
{
    tunewire_v1_RecordReq q = tunewire_v1_RecordReq_init_zero;
    tunewire_v1_RecordState s;
    if (strlen(cli->args[0]) >= sizeof q.name) {
        return cli_fail(cli, CLI_USAGE, cli->args[0], "at most 64 characters", "the name is too long");
    }
    (void)snprintf(q.name, sizeof q.name, "%s", cli->args[0]);
    q.outputs = cli_option(cli, "--outputs") != NULL;
    return call(cli, TW_M_Record_Start, &q, &s) ? tell(cli, &s) : cli_fail_client(cli, cli->args[0]);
}

int verb_record_stop(tw_cli_t *cli)
{
    tunewire_v1_RecordState s;
    bool ok = call(cli, TW_M_Record_Stop, NULL, &s);
    while (ok && s.phase == tunewire_v1_RecordState_Phase_ENDS && !cli_stopped(cli)) {
        ok = tw_client_pump(cli->c, LOOK_MS) && call(cli, TW_M_Record_State, NULL, &s);
    }
    if (!ok) {
        return cli_fail_client(cli, "record stop");
    }
    (void)tell(cli, &s);
    return s.complete ? CLI_OK : cli_fail(cli, CLI_DEVICE, s.name, "", "not complete: %s", s.text);
}

int verb_record_status(tw_cli_t *cli)
{
    tunewire_v1_RecordState s;
    return call(cli, TW_M_Record_State, NULL, &s) ? tell(cli, &s) : cli_fail_client(cli, "record status");
}
