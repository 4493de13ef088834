/* log.c - the last lines of the device's log, and what the engine's events say in it. */
#include "server/server_priv.h"

void tw_server_log(tw_server_t *s, uint32_t level, uint32_t src, const char *text)
{
    if (src >= sizeof s->log_level || level > s->log_level[src]) {
        return;
    }
    tw_log_line_t *line = &s->log[s->log_seq & (TW_LOG_LINES - 1)];
    line->t_us = tw_clock(s);
    line->level = (uint8_t)level;
    line->src = (uint8_t)src;
    tw_copy_str(line->text, sizeof line->text, text);
    s->log_seq++;
    if (s->cfg.log != NULL) {
        s->cfg.log(s->cfg.log_ctx, level, src, line->text);
    }
}

const tw_log_line_t *tw_log_next(tw_server_t *s, uint64_t *seq, uint32_t level, uint32_t src_mask)
{
    const uint64_t oldest = s->log_seq > TW_LOG_LINES ? s->log_seq - TW_LOG_LINES : 1;
    if (*seq < oldest) {
        *seq = oldest; /* overwritten: the numbers show the hole */
    }
    while (*seq < s->log_seq) {
        const tw_log_line_t *line = &s->log[*seq & (TW_LOG_LINES - 1)];
        (*seq)++;
        if ((level == 0 || line->level <= level) && (src_mask == 0 || (src_mask >> line->src & 1u) != 0)) {
            return line;
        }
    }
    return NULL;
}

static void script_name(tw_server_t *s, tw_text_t *t, uint32_t script)
{
    tw_engine_script_t info;
    tw_text_str(t, "script ");
    tw_text_int(t, script);
    if (tw_engine_script(s->e, script, &info) == TW_OK && info.name[0] != '\0') {
        tw_text_str(t, " (");
        tw_text_str(t, info.name);
        tw_text_str(t, ")");
    }
}

static void node_name(tw_server_t *s, tw_text_t *t, uint32_t node)
{
    tw_engine_node_t info;
    tw_text_str(t, "node ");
    tw_text_int(t, node);
    if (tw_engine_node(s->e, node, &info) == TW_OK) {
        tw_text_str(t, " (");
        tw_text_str(t, info.name);
        tw_text_str(t, ")");
    }
}

/* What to do about the error of a node, where its text does not say. */
static const char *node_hint(tw_err_t err)
{
    switch ((int)err) {
    case TW_E_INFER_BACKEND:
        return "use a device that has one, or leave the node out; until then its fallback goes out";
    case TW_E_INFER_MODEL:
        return "set its parameter model to a slot below its parameter models; its fallback goes out";
    case TW_E_INFER_TENSORS:
        return "give its arcs the network's raw types and frame sizes; its fallback goes out";
    default:
        return NULL;
    }
}

static void place(tw_text_t *t, const char *what, uint32_t at, const char *text)
{
    tw_text_str(t, what);
    tw_text_int(t, at);
    tw_text_str(t, ": ");
    tw_text_str(t, text);
}

static void line_of(tw_server_t *s, const tw_engine_reply_t *r, uint32_t level, uint32_t src, tw_text_t *t)
{
    switch ((tw_event_t)r->event) {
    case TW_EV_SCRIPT_FAULT:
        script_name(s, t, r->at);
        tw_text_str(t, " disabled: ");
        tw_text_str(t, tw_err_text(r->err));
        tw_text_str(t, " at ");
        tw_text_hex(t, (uint32_t)r->value);
        break;
    case TW_EV_DEBUG:
        script_name(s, t, r->at);
        tw_text_str(t, " held by its debugger at ");
        tw_text_hex(t, (uint32_t)r->value);
        break;
    case TW_EV_SCRIPT_EVENT:
        place(t, "event ", r->at, "");
        tw_text_int(t, r->value);
        break;
    case TW_EV_TRACE:
        place(t, "trace ", r->at, "");
        tw_text_int(t, r->value);
        break;
    case TW_EV_NODE_ERROR:
        node_name(s, t, r->at);
        tw_text_str(t, ": ");
        tw_text_str(t, tw_err_text(r->err));
        break;
    case TW_EV_FLOW:
        place(t, "arc ", r->at, r->value == 0 ? "underflow" : "overflow");
        break;
    case TW_EV_IO:
        place(t, "io ", r->at, r->err != TW_OK ? "its driver refuses the settings" : "");
        if (r->err == TW_OK) {
            tw_text_int(t, r->value);
        }
        break;
    case TW_EV_USE_CASE:
        place(t, "use case ", r->at, "before ");
        tw_text_int(t, r->value);
        break;
    case TW_EV_APP:
        place(t, "callapp ", r->at, "");
        tw_text_int(t, r->value);
        break;
    }
    tw_server_log(s, level, src, t->p);
}

void tw_log_event(tw_server_t *s, const tw_engine_reply_t *r)
{
    static const uint8_t kinds[][2] = {
        [TW_EV_SCRIPT_FAULT] = {TW_LOG_ERROR, TW_SRC_SCRIPT}, [TW_EV_SCRIPT_EVENT] = {TW_LOG_INFO, TW_SRC_SCRIPT},
        [TW_EV_TRACE] = {TW_LOG_DEBUG, TW_SRC_SCRIPT},        [TW_EV_NODE_ERROR] = {TW_LOG_ERROR, TW_SRC_GRAPH},
        [TW_EV_FLOW] = {TW_LOG_WARN, TW_SRC_GRAPH},           [TW_EV_IO] = {TW_LOG_INFO, TW_SRC_IO},
        [TW_EV_APP] = {TW_LOG_INFO, TW_SRC_SCRIPT},           [TW_EV_DEBUG] = {TW_LOG_INFO, TW_SRC_SCRIPT},
        [TW_EV_USE_CASE] = {TW_LOG_INFO, TW_SRC_SCRIPT},
    };
    if (r->event == 0 || r->event >= TW_COUNT(kinds) || kinds[r->event][0] > s->log_level[kinds[r->event][1]]) {
        return;
    }
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    line_of(s, r, kinds[r->event][0], kinds[r->event][1], &t);
    const char *hint = r->event == TW_EV_NODE_ERROR ? node_hint(r->err) : NULL;
    if (hint != NULL) {
        tw_server_log(s, kinds[r->event][0], kinds[r->event][1], hint);
    }
}
