/* script_vm_priv.h - what the machine proper (script_vm.c) and its short way (script_short.c) share. */
#pragma once
#include "engine/script/script_value_priv.h"

/** Of equ, neq, lts, lte, gts, gte: the orders (TW_ORD_..) that make T, four bits each. */
#define TW_ORDERS 0x6431D2u

/**
 * Execute at most n instructions as long as each is short, c->next and c->used following. What it cannot do it leaves
 * as it finds it; c->pc, c->s1 and c->halt are the caller's.
 */
void tw_short_run(tw_script_ctx_t *c, uint32_t n);
