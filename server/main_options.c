#include "server/main_options.h"
#include "engine/base/err.h"
#include "engine/base/version.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2, GO_ON = -1 };

typedef enum option {
#define TW_OPTION(NAME, name, VALUE, text) OPT_##NAME,
#include "server/main_options.def"
    OPT_COUNT
} option_t;

static const struct {
    const char *name, *value, *text;
} rows[] = {
#define TW_OPTION(NAME, name, VALUE, text) {name, VALUE, text},
#include "server/main_options.def"
};

/* Transports a host can reach this server by, with the default first. */
static const char *const schemes[] = {
#define TW_PHY_LISTENS_0(scheme)
#define TW_PHY_LISTENS_1(scheme) #scheme "://",
#define TW_PHY(code, NAME, scheme, listens, text) TW_PHY_LISTENS_##listens(scheme)
#include "phy/phys.def"
};

static int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tunewired: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\ntry: tunewired --help\n", stderr);
    va_end(args);
    return USAGE;
}

static int help(void)
{
    puts("usage: tunewired --platform FILE [option]...\n\n"
         "Serves one stream graph to tuning hosts: they load graphs, set parameters and scripts,\n"
         "and watch arcs while the graph runs.\n");
    for (int i = 0; i < OPT_COUNT; i++) {
        char left[40];
        snprintf(left, sizeof left, "--%s %s", rows[i].name, rows[i].value);
        printf("  %-24s %s\n", left, rows[i].text);
    }
    puts("\nexamples:\n"
         "  tunewired --platform examples/platform/top_manifest_computer.txt\n"
         "  tunewired --platform top.txt --graph eq.twg --io audio_in_0=loop:song.wav --io line_out_0=out.wav\n"
         "  tunewired --platform top.txt --graph eq.twg --io audio_in_0=ramp --pace fast --blocks 10000\n"
         "  tunewired --platform top.txt --listen 0.0.0.0:5600 --key lab.key --priority 60\n\n"
         "The line \"tunewired: listening on tcp://HOST:PORT\" on stdout says that hosts may connect.\n"
         "SIGTERM and SIGINT stop it cleanly; recordings are complete then.");
    return 0;
}

static bool take_number(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0' && *out <= max;
}

/* HOST:PORT or [IPv6]:PORT, with or without tcp:// before it. */
static bool take_listen(options_t *o, const char *text)
{
    for (size_t i = 0; i < TW_COUNT(schemes); i++) {
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0) {
            text += strlen(schemes[i]);
            break;
        }
    }
    const char *colon = strrchr(text, ':');
    uint64_t port;
    if (colon == NULL || !take_number(colon + 1, UINT16_MAX, &port)) {
        return false;
    }
    size_t n = (size_t)(colon - text);
    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    } else if (memchr(text, ':', n) != NULL) {
        return false; /* an IPv6 address without brackets: which colon is the port's is a guess */
    }
    if (n == 0 || n >= sizeof o->host) {
        return false;
    }
    memcpy(o->host, text, n);
    o->host[n] = '\0';
    o->port = (uint16_t)port;
    return true;
}

static bool take_level(options_t *o, const char *text)
{
    static const char *const names[] = {"error", "warn", "info", "debug"}; /* TW_LOG_*, from 1 */
    for (uint32_t i = 0; i < TW_COUNT(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            o->log_level = i + 1;
            return true;
        }
    }
    return false;
}

static bool take_mask(const char *text, uint32_t *out)
{
    char *end;
    errno = 0;
    const unsigned long long v = strtoull(text, &end, 16);
    *out = (uint32_t)v;
    return errno == 0 && isxdigit((unsigned char)text[0]) && *end == '\0' && v <= UINT32_MAX;
}

static bool take_use_case(options_t *o, const char *text)
{
    char id[4] = "";
    uint64_t n = 0;
    const char *file = strchr(text, '=');
    if (file == NULL || (size_t)(file - text) >= sizeof id || file[1] == '\0') {
        return false;
    }
    memcpy(id, text, (size_t)(file - text));
    if (!take_number(id, OPTIONS_USE_CASES - 1, &n)) {
        return false;
    }
    o->use_cases[n] = file + 1;
    return true;
}

static int take(options_t *o, option_t option, const char *value)
{
    uint64_t n = 0;
    bool ok = true;
    switch (option) {
    case OPT_PLATFORM:
        o->platform = value;
        break;
    case OPT_GRAPH:
        o->graph = value;
        break;
    case OPT_LISTEN:
        ok = take_listen(o, value);
        break;
    case OPT_KEY:
        o->key_file = value;
        break;
    case OPT_IO:
        ok = o->n_ios < OPTIONS_MAX_IOS && strchr(value, '=') != NULL;
        o->ios[ok ? o->n_ios++ : 0] = value;
        break;
    case OPT_PACE:
        ok = strcmp(value, "fast") == 0 || strcmp(value, "realtime") == 0;
        o->fast = strcmp(value, "fast") == 0;
        break;
    case OPT_BLOCKS:
        ok = take_number(value, UINT64_MAX, &o->blocks) && o->blocks > 0;
        break;
    case OPT_PRIORITY:
        ok = take_number(value, 99, &n) && n > 0;
        o->priority = (int)n;
        break;
    case OPT_THREADS:
        ok = take_number(value, OPTIONS_MAX_THREADS, &n) && n > 0;
        o->threads = (uint32_t)n;
        break;
    case OPT_RECORD:
        o->record = value;
        break;
    case OPT_RECORD_DIR:
        o->record_dir = value;
        break;
    case OPT_STATE:
        o->state = value;
        break;
    case OPT_GPIO_SCRIPTS:
        ok = o->gpio_scripts_set = take_mask(value, &o->gpio_scripts);
        break;
    case OPT_GPIO_LOG:
        o->gpio_log = value;
        break;
    case OPT_GPIO_CHIP:
        o->gpio_chip = value;
        break;
    case OPT_USE_CASE:
        ok = take_use_case(o, value);
        break;
    case OPT_RECORD_OUTPUTS:
        o->record_outputs = true;
        break;
    case OPT_LOG_LEVEL:
        ok = take_level(o, value);
        break;
    case OPT_HELP:
        return help();
    case OPT_VERSION:
        puts("tunewired " TW_VERSION);
        return 0;
    case OPT_COUNT:
        break;
    }
    return ok ? GO_ON
              : usage("--%s %s: expected %s: %s", rows[option].name, value, rows[option].value, rows[option].text);
}

static int find_option(const char *arg, size_t n)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, arg, n) == 0) {
            return i;
        }
    }
    return -1;
}

/* "--name value" and "--name=value" are the same. */
static int read_one(options_t *o, char **argv, int argc, int *i)
{
    const char *arg = argv[*i];
    if (strncmp(arg, "--", 2) != 0) {
        return usage("'%s' is not an option", arg);
    }
    const char *eq = strchr(arg, '=');
    const size_t n = eq != NULL ? (size_t)(eq - arg) - 2 : strlen(arg) - 2;
    const int option = find_option(arg + 2, n);
    if (option < 0) {
        return usage("option %s is unknown", arg);
    }
    if (rows[option].value[0] == '\0') {
        return eq == NULL ? take(o, (option_t)option, "") : usage("--%s takes no value", rows[option].name);
    }
    const char *value = eq != NULL ? eq + 1 : *i + 1 < argc ? argv[++*i] : NULL;
    if (value == NULL || value[0] == '\0') {
        return usage("--%s needs a value: %s", rows[option].name, rows[option].value);
    }
    return take(o, (option_t)option, value);
}

int options_read(options_t *o, int argc, char **argv)
{
    *o = (options_t){.host = "127.0.0.1", .port = 5600, .log_level = 3};
    for (int i = 1; i < argc; i++) {
        const int code = read_one(o, argv, argc, &i);
        if (code != GO_ON) {
            return code;
        }
    }
    return o->platform != NULL ? GO_ON : usage("--platform FILE is required");
}
