/* main_record.h - a recording on its way to a file: a thread of its own drains the engine's ring. */
#pragma once
#include "server/server.h"
#include <pthread.h>
#include <stdio.h>

typedef struct record_image {
    struct record_image *next;
    uint32_t id, bytes;
    uint8_t data[];
} record_image_t;

typedef struct recording {
    tw_recorder_t recorder;
    char path[4200];
    const char *dir; /* hosts may record into, NULL none */
    const char *why; /* it ended early, NULL */
    bool begun, stopping;
    tw_record_calls_t calls;
    tw_engine_t *engine;
    const tw_board_t *board;
    uint32_t graph_bytes;
    FILE *file;
    void *ring_mem;
    uint8_t *chunk;
    uint32_t used, number; /* of the chunk being filled */
    pthread_t thread;
    bool running;
    _Atomic bool finish;
    pthread_mutex_t lock;   /* of `images`; the engine's thread never takes it */
    record_image_t *images; /* newest first */
    _Atomic uint64_t bytes; /* written */
    int error;              /* errno of the first write that failed */
} recording_t;

/** Once, before all else. @param dir  hosts may record into, NULL none */
void record_open(recording_t *r, tw_engine_t *e, const tw_board_t *board, uint32_t graph_bytes, const char *dir);
/**
 * Begin: write the header, start the thread, attach to the engine; the next graph is the first one recorded.
 * @param outputs  keep whole output frames
 * @param fresh    the file must not be there yet
 * @return false after writing why into `why`
 */
bool record_start(recording_t *r, const char *path, bool outputs, bool fresh, char why[160]);
/** Now and then, while the engine ticks: a recording that was stopped, or could not go on, is closed. */
void record_service(recording_t *r);
/** The engine has stopped ticking: write what is left and the end. Nothing when it was not started. */
void record_finish(recording_t *r);
