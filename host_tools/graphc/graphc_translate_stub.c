/* graphc_translate_stub.c - eras to come. */
#include "host_tools/graphc/graphc_translate.h"
bool g_translate_e0(g_trans_t *x)
{
    (void)x;
    return false;
}
bool g_translate_later(g_trans_t *x)
{
    while (g_next_line(x)) {
        g_put_line(x);
    }
    return true;
}
bool g_translate_node(g_trans_t *x)
{
    (void)x;
    return false;
}
bool g_translate_top(g_trans_t *x)
{
    (void)x;
    return false;
}
bool g_translate_procmap(g_trans_t *x)
{
    (void)x;
    return false;
}
