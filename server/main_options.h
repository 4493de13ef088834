/* main_options.h - the daemon's command line as a structure. Knows no server. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { OPTIONS_MAX_IOS = 64 };

enum { OPTIONS_MAX_THREADS = 8, OPTIONS_USE_CASES = 32 };

typedef struct options {
    const char *platform, *graph, *key_file; /* NULL: not given */
    char host[64];
    uint16_t port;
    const char *ios[OPTIONS_MAX_IOS];
    unsigned n_ios;
    bool fast;
    uint64_t blocks;  /* 0: for ever */
    int priority;     /* 0: the system's */
    uint32_t threads; /* that run the graph; 0: one */
    uint32_t log_level;
    const char *record; /* NULL: not */
    bool record_outputs;
    const char *record_dir; /* NULL: hosts record nothing */
    const char *state;      /* NULL: nothing is kept */
    uint32_t gpio_scripts;
    bool gpio_scripts_set;
    const char *gpio_log, *gpio_chip;         /* NULL: none */
    const char *use_cases[OPTIONS_USE_CASES]; /* images, NULL none */
} options_t;

/**
 * Read a command line. Help and version go to stdout, complaints to stderr.
 * @return -1 go on; else the program's exit code (0 or 2)
 */
int options_read(options_t *o, int argc, char **argv);
