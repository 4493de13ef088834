/* manifest_rows.c - rows of numbers: what manifests without tags are made of. Knows no manifest. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_priv.h"

bool tw_row_take(tw_row_t *r, const char *what, unsigned least)
{
    tw_tok_t tok;
    r->n = 0;
    if (!tw_text_need_line(r->t, what)) {
        return false;
    }
    (void)tw_text_peek(r->t, &r->at);
    while (r->n < TW_ROW_NUMBERS && tw_text_peek(r->t, &tok) && tw_tok_num(&tok, &r->v[r->n])) {
        (void)tw_text_tok(r->t, &tok);
        r->n++;
    }
    if (r->n < least) {
        (void)tw_text_peek(r->t, &tok);
        tw_text_error(r->t, &tok, "expected %s (%u number%s), found %u", what, least, least == 1 ? "" : "s", r->n);
        return false;
    }
    return true;
}

bool tw_row_u8(tw_row_t *r, unsigned i, const char *what, unsigned hi, uint8_t *to)
{
    const double v = r->v[i];
    if (v < 0 || v > hi || v != (double)(unsigned)v) {
        tw_text_error(r->t, &r->at, "%s is %g, allowed 0..%u", what, v, hi);
        return false;
    }
    *to = (uint8_t)v;
    return true;
}

bool tw_row_one(tw_row_t *r, const char *what, unsigned hi, uint8_t *to)
{
    return tw_row_take(r, what, 1) && tw_row_u8(r, 0, what, hi, to);
}

/* "index v.." of the row just read */
static bool list(tw_row_t *r, const char *what, tw_options_t *o)
{
    double v[TW_ROW_NUMBERS];
    if (!r->from_zero) {
        return tw_set_options(r->t, &r->at, what, r->v, r->n, o);
    }
    /* "0" alone is an empty list: any; else the index counts from 0 */
    if (r->n == 1) {
        *o = (tw_options_t){.any = 1};
        return true;
    }
    memcpy(v, r->v, r->n * sizeof v[0]);
    v[0] += 1;
    return tw_set_options(r->t, &r->at, what, v, r->n, o);
}

bool tw_row_list(tw_row_t *r, const char *what, double lo, double hi, tw_options_t *o)
{
    tw_options_t got;
    if (!tw_row_take(r, what, 1) || !list(r, what, &got)) {
        return false;
    }
    for (unsigned i = 0; i < got.n; i++) {
        if (got.v[i] < lo || got.v[i] > hi) {
            tw_text_error(r->t, &r->at, "%s option %g, allowed %g..%g", what, got.v[i], lo, hi);
            return false;
        }
    }
    *o = got;
    return true;
}
