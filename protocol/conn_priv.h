/* conn_priv.h - what the halves of a connection share: conn.c receives, conn_send.c sends. */
#pragma once
#include "protocol/conn.h"

#define TW_CONN_NOT_BEGUN UINT32_MAX
#define TW_CONN_CREDIT_MAX 0x7FFFFFFFu /* more is a credit overflow */

/** The slot of an open stream, NULL when unknown; id 0 is never open. */
tw_conn_stream_t *tw_conn_find(tw_conn_t *c, uint16_t id);
