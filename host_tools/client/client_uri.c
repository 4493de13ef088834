/* client_uri.c - where the device is, and the key to it, from text. */
#include "host_tools/client/client.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_PORT 5600

static bool refuse(char *why, size_t why_n, const char *text, const char *what)
{
    (void)snprintf(why, why_n, "%s '%.80s'", what, text);
    return false;
}

static bool read_port(const char *text, uint16_t *port)
{
    char *end;
    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    const unsigned long v = strtoul(text, &end, 10);
    *port = (uint16_t)v;
    return *end == '\0' && v >= 1 && v <= 65535;
}

/* The host is [at, end); brackets around a v6 address are not part of it. */
static bool take_host(const char *at, size_t n, tw_uri_t *out)
{
    if (n >= 2 && at[0] == '[' && at[n - 1] == ']') {
        at++;
        n -= 2;
    }
    if (n == 0 || n >= sizeof out->host) {
        return false;
    }
    memcpy(out->host, at, n);
    out->host[n] = '\0';
    return strpbrk(out->host, " \t/[]@") == NULL;
}

bool tw_uri_parse(const char *text, tw_uri_t *out, char *why, size_t why_n)
{
    const char *at = text;
    const char *scheme = strstr(text, "://");
    *out = (tw_uri_t){.port = DEFAULT_PORT};
    if (scheme) {
        if ((size_t)(scheme - text) != 3 || strncmp(text, "tcp", 3) != 0) {
            return refuse(why, why_n, text, "only tcp:// is known, not");
        }
        at = scheme + 3;
    }
    size_t n = strlen(at);
    if (scheme && n && at[n - 1] == '/') {
        n--;
    }
    char whole[300];
    if (n >= sizeof whole) {
        return refuse(why, why_n, text, "too long:");
    }
    memcpy(whole, at, n);
    whole[n] = '\0';

    const char *bracket = strrchr(whole, ']');
    const char *colon = strrchr(bracket ? bracket : whole, ':');
    const bool bare_v6 = !bracket && colon && strchr(whole, ':') != colon;
    if (colon && !bare_v6) {
        if (!read_port(colon + 1, &out->port)) {
            return refuse(why, why_n, text, "port must be 1..65535 in");
        }
        n = (size_t)(colon - whole);
    }
    if (!take_host(whole, n, out)) {
        return refuse(why, why_n, text, "no usable host in");
    }
    return true;
}

static int hex_digit(char ch)
{
    if (ch >= '0' && ch <= '9') {
        return ch - '0';
    }
    const int low = tolower((unsigned char)ch);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static bool take_hex(const char *p, size_t n, tw_key_t *out)
{
    if (n % 2 || n / 2 < 16 || n / 2 > sizeof out->bytes) {
        return false;
    }
    for (size_t i = 0; i < n / 2; i++) {
        const int hi = hex_digit(p[2 * i]), lo = hex_digit(p[2 * i + 1]);
        if (hi < 0 || lo < 0) {
            return false;
        }
        out->bytes[i] = (uint8_t)(hi << 4 | lo);
    }
    out->len = (uint32_t)(n / 2);
    return true;
}

static bool parse_key_line(const char *p, size_t n, tw_key_t *out, char *why, size_t why_n)
{
    const char *colon = memchr(p, ':', n);
    const size_t id = colon ? (size_t)(colon - p) : 0;
    *out = (tw_key_t){.id = "default"};
    if (colon) {
        if (id == 0 || id >= sizeof out->id) {
            (void)snprintf(why, why_n, "key id must have 1..16 characters");
            return false;
        }
        memcpy(out->id, p, id);
        out->id[id] = '\0';
        n -= id + 1;
        p = colon + 1;
    }
    if (!take_hex(p, n, out)) {
        (void)snprintf(why, why_n, "expected [ID:]HEX with 32..128 hex digits");
        return false;
    }
    return true;
}

bool tw_key_parse(const char *text, size_t n, tw_key_t *out, char *why, size_t why_n)
{
    const char *end = text + n;
    for (const char *line = text; line < end;) {
        const char *nl = memchr(line, '\n', (size_t)(end - line));
        const char *stop = nl ? nl : end;
        const char *next = nl ? nl + 1 : end;
        while (line < stop && isspace((unsigned char)*line)) {
            line++;
        }
        while (stop > line && isspace((unsigned char)stop[-1])) {
            stop--;
        }
        if (line < stop && *line != '#') {
            return parse_key_line(line, (size_t)(stop - line), out, why, why_n);
        }
        line = next;
    }
    (void)snprintf(why, why_n, "no key in it");
    return false;
}

bool tw_key_read(const char *path, tw_key_t *out, char *why, size_t why_n)
{
    char text[4096];
    FILE *f = fopen(path, "rb");
    if (!f) {
        (void)snprintf(why, why_n, "%s", strerror(errno));
        return false;
    }
    const size_t n = fread(text, 1, sizeof text, f);
    (void)fclose(f);
    return tw_key_parse(text, n, out, why, why_n);
}
