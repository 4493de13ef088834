/* main_record.h - a recording on its way to a file: a thread of its own drains the engine's ring. */
#pragma once
#include "engine/engine.h"
#include <pthread.h>
#include <stdio.h>

typedef struct record_image {
    struct record_image *next;
    uint32_t id, bytes;
    uint8_t data[];
} record_image_t;

typedef struct recording {
    tw_recorder_t recorder;
    const char *path;
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

/**
 * Begin: write the header, start the thread, attach to the engine before its first graph.
 * @param outputs  keep whole output frames
 * @return false after writing why into `why`
 */
bool record_start(recording_t *r, tw_engine_t *e, const tw_board_t *board, uint32_t graph_bytes, const char *path,
                  bool outputs, char why[160]);
/** The engine has stopped ticking: write what is left and the end. Nothing when it was not started. */
void record_finish(recording_t *r);
