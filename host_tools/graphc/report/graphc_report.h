/* graphc_report.h - figures that the text report and the JSON report have in common. */
#pragma once
#include "host_tools/graphc/middle/graphc_middle.h"
#include "host_tools/graphc/graphc_text.h"

/** What a bank holds [bytes], and what passes through it [bytes/s]. */
typedef struct g_use {
    uint64_t blocks, arcs, ios, scratch, copies, padding, state, used, free;
    uint64_t saved; /* by arcs in the buffers of others */
    double traffic;
} g_use_t;

/** Bank number `i` of m->banks. */
g_use_t g_bank_use(const g_model_t *m, uint32_t i);
/** Bytes a second that the arc's producer writes; 0 when its format has no rate. */
double g_arc_rate(const g_model_t *m, const g_arc_t *a);
/** Bytes that hold whole frames of both ends. */
uint64_t g_arc_lcm(const g_model_t *m, const g_arc_t *a);
const char *g_arc_end_name(const g_model_t *m, const g_arc_t *a, bool to);
/** Nodes of a sub-graph itself, without those inside it. */
uint32_t g_scope_nodes(const g_model_t *m, uint32_t scope);
