/* client_error.c - failures as text a person can act on. */
#include "host_tools/client/client_priv.h"
#include <stdarg.h>
#include <stdio.h>

const tw_client_error_t *tw_client_error(const tw_client_t *c)
{
    return &c->err;
}

const char *tw_client_hint(uint32_t status, uint32_t detail)
{
    static const struct {
        tw_err_t err;
        const char *text;
    } hints[] = {
#define TW_HINT(NAME, text) {TW_E_##NAME, text},
#include "host_tools/client/client_hints.def"
    };
    for (size_t i = 0; i < TW_COUNT(hints); i++) {
        if ((uint32_t)-hints[i].err == detail) {
            return hints[i].text;
        }
    }
    return status == TW_ST_BUSY ? "try again in a moment" : "";
}

bool client_fail(tw_client_t *c, tw_client_kind_t kind, const char *hint, const char *fmt, ...)
{
    tw_client_error_t e = {.kind = kind};
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(e.text, sizeof e.text, fmt, ap);
    va_end(ap);
    (void)snprintf(e.hint, sizeof e.hint, "%s", hint);
    c->err = e;
    return false;
}

void client_status_error(tw_client_error_t *e, const tunewire_v1_Status *s)
{
    *e = (tw_client_error_t){
        .kind = TW_CLIENT_DEVICE, .status = (uint32_t)s->code, .detail = s->detail, .where = s->where};
    if (s->text[0]) {
        (void)snprintf(e->text, sizeof e->text, "%s", s->text);
        client_clean_text(e->text);
    } else {
        (void)snprintf(e->text, sizeof e->text, "%s", tw_status_name((uint32_t)s->code));
    }
    (void)snprintf(e->hint, sizeof e->hint, "%s", tw_client_hint(e->status, e->detail));
}
