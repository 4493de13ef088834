/* client_list.c - lists of the device, read to their end.
 *
 * A reply holds what fits a frame; `total` says how many there are and `first` asks for the rest.
 */
#include "host_tools/client/client_priv.h"
#include <pb_decode.h>
#include <stdlib.h>

enum { MAX_ROWS = 65536, MAX_PAGES = 4096 };

/* Rows of one message type, grown as they are decoded. */
typedef struct rows {
    const pb_msgdesc_t *fields;
    size_t size;
    uint8_t *at;
    uint32_t n, cap;
    bool no_memory;
} rows_t;

static bool add_row(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    rows_t *r = *arg;
    if (r->n == r->cap) {
        const uint32_t cap = r->cap ? r->cap * 2 : 16;
        uint8_t *more = r->n < MAX_ROWS ? realloc(r->at, cap * r->size) : NULL;
        if (!more) {
            r->no_memory = true;
            return false;
        }
        r->at = more;
        r->cap = cap;
    }
    if (!pb_decode(in, r->fields, r->at + r->n * r->size)) {
        return false;
    }
    client_clean(r->fields, r->at + r->n * r->size);
    r->n++;
    return true;
}

static pb_callback_t into(rows_t *r)
{
    return (pb_callback_t){.funcs.decode = add_row, .arg = r};
}

/* One page into the rows; *total is what the device says there is (0: it does not say). */
typedef bool page_fn(tw_client_t *c, rows_t *r, uint32_t node, uint32_t *total);

static bool get_node_page(tw_client_t *c, rows_t *r, uint32_t node, uint32_t *total)
{
    (void)node;
    const tunewire_v1_GraphRef ref = {.first = r->n};
    tunewire_v1_NodeList list = {.nodes = into(r)};
    const bool ok =
        tw_client_call(c, &(tw_client_call_t){.method = TW_M_Graph_Nodes, .request = &ref, .response = &list});
    *total = list.total;
    return ok;
}

static bool get_arc_page(tw_client_t *c, rows_t *r, uint32_t node, uint32_t *total)
{
    (void)node;
    const tunewire_v1_GraphRef ref = {.first = r->n};
    tunewire_v1_ArcList list = {.arcs = into(r)};
    const bool ok =
        tw_client_call(c, &(tw_client_call_t){.method = TW_M_Graph_Arcs, .request = &ref, .response = &list});
    *total = list.total;
    return ok;
}

static bool get_io_page(tw_client_t *c, rows_t *r, uint32_t unused, uint32_t *total)
{
    (void)unused;
    const tunewire_v1_GraphRef ref = {.first = r->n};
    tunewire_v1_IoList list = {.ios = into(r)};
    const bool ok =
        tw_client_call(c, &(tw_client_call_t){.method = TW_M_Graph_Ios, .request = &ref, .response = &list});
    *total = list.total;
    return ok;
}

static bool get_param_page(tw_client_t *c, rows_t *r, uint32_t node, uint32_t *total)
{
    const tunewire_v1_NodeRef ref = {.node = node, .first = r->n};
    tunewire_v1_ParamDescList list = {.params = into(r)};
    const bool ok =
        tw_client_call(c, &(tw_client_call_t){.method = TW_M_Param_Describe, .request = &ref, .response = &list});
    *total = list.total;
    return ok;
}

static bool read_all(tw_client_t *c, rows_t *r, page_fn *page, uint32_t node)
{
    uint32_t total = 0;
    for (unsigned i = 0; i < MAX_PAGES; i++) {
        const uint32_t before = r->n;
        if (!page(c, r, node, &total)) {
            const bool memory = r->no_memory;
            free(r->at);
            *r = (rows_t){0};
            return memory ? client_fail(c, TW_CLIENT_MEMORY, "", "list too long") : false;
        }
        if (r->n >= total || r->n == before) {
            break; /* complete, or a device that gives no more than it says */
        }
    }
    return true;
}

bool tw_client_nodes(tw_client_t *c, tw_nodes_t *out)
{
    rows_t r = {.fields = tunewire_v1_NodeInfo_fields, .size = sizeof *out->rows};
    const bool ok = read_all(c, &r, get_node_page, 0);
    *out = (tw_nodes_t){(void *)r.at, r.n};
    return ok;
}

bool tw_client_arcs(tw_client_t *c, tw_arcs_t *out)
{
    rows_t r = {.fields = tunewire_v1_ArcInfo_fields, .size = sizeof *out->rows};
    const bool ok = read_all(c, &r, get_arc_page, 0);
    *out = (tw_arcs_t){(void *)r.at, r.n};
    return ok;
}

bool tw_client_ios(tw_client_t *c, tw_ios_t *out)
{
    rows_t r = {.fields = tunewire_v1_IoInfo_fields, .size = sizeof *out->rows};
    const bool ok = read_all(c, &r, get_io_page, 0);
    *out = (tw_ios_t){(void *)r.at, r.n};
    return ok;
}

bool tw_client_params(tw_client_t *c, uint32_t node, tw_params_t *out)
{
    rows_t r = {.fields = tunewire_v1_ParamDesc_fields, .size = sizeof *out->rows};
    const bool ok = read_all(c, &r, get_param_page, node);
    *out = (tw_params_t){(void *)r.at, r.n};
    return ok;
}

static bool get_script_page(tw_client_t *c, rows_t *r, uint32_t node, uint32_t *total)
{
    (void)node;
    tunewire_v1_ScriptList list = {.scripts = into(r)};
    *total = 0; /* the method has no paging */
    return tw_client_call(c, &(tw_client_call_t){.method = TW_M_Script_List, .response = &list});
}

bool tw_client_scripts(tw_client_t *c, tw_scripts_t *out)
{
    rows_t r = {.fields = tunewire_v1_ScriptInfo_fields, .size = sizeof *out->rows};
    const bool ok = read_all(c, &r, get_script_page, 0);
    *out = (tw_scripts_t){(void *)r.at, r.n};
    return ok;
}

bool tw_client_stats(tw_client_t *c, tw_counters_t *out)
{
    rows_t r = {.fields = tunewire_v1_Counter_fields, .size = sizeof *out->rows};
    tunewire_v1_StatsRep rep = {.counters = into(&r)};
    const bool ok = tw_client_call(c, &(tw_client_call_t){.method = TW_M_Session_Stats, .response = &rep});
    if (!ok) {
        free(r.at);
        r = (rows_t){0};
    }
    *out = (tw_counters_t){(void *)r.at, r.n, rep.boot_id, rep.uptime_us};
    return ok;
}
