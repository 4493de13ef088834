/* cli_file.c - whole files in and out. */
#include "host_tools/tunewire/cli.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILE_LIMIT = 1 << 30 };

static bool fail_file(tw_cli_t *cli, const char *path, const char *what, const char *hint)
{
    (void)cli_fail(cli, CLI_INPUT, path, hint, "%s (%s)", what, strerror(errno));
    return false;
}

bool cli_read_file(tw_cli_t *cli, const char *path, tw_bytes_t *out)
{
    uint8_t buf[65536];
    size_t n;
    *out = (tw_bytes_t){0};
    FILE *f = fopen(path, "rb");
    if (!f) {
        return fail_file(cli, path, "cannot read", "check the name and the rights");
    }
    bool ok = true;
    while (ok && (n = fread(buf, 1, sizeof buf, f)) > 0) {
        ok = out->n + n <= FILE_LIMIT && tw_bytes_add(out, buf, n);
    }
    if (!ok || ferror(f)) {
        errno = ok ? errno : EFBIG;
        (void)fail_file(cli, path, "cannot read", "give a file");
        (void)fclose(f);
        free(out->data);
        *out = (tw_bytes_t){0};
        return false;
    }
    (void)fclose(f);
    return true;
}

bool cli_write_file(tw_cli_t *cli, const char *path, const void *data, size_t n)
{
    if (strcmp(path, "-") == 0) {
        return fwrite(data, 1, n, cli->out) == n && fflush(cli->out) == 0
                   ? true
                   : fail_file(cli, "standard output", "cannot write", "is the pipe still open?");
    }
    char part[4096];
    if ((size_t)snprintf(part, sizeof part, "%s.part", path) >= sizeof part) {
        errno = ENAMETOOLONG;
        return fail_file(cli, path, "cannot write", "use a shorter name");
    }
    FILE *f = fopen(part, "wb");
    bool ok = f && fwrite(data, 1, n, f) == n;
    if (f) {
        ok = fclose(f) == 0 && ok;
    }
    if (!ok || rename(part, path) != 0) {
        const int why = errno;
        (void)unlink(part);
        errno = why;
        return fail_file(cli, path, "cannot write", "check the folder, its rights and its space");
    }
    return true;
}

bool cli_has_suffix(const char *path, const char *suffix)
{
    const size_t n = strlen(path), s = strlen(suffix);
    return n >= s && strcmp(path + n - s, suffix) == 0;
}

void cli_with_suffix(const char *path, const char *suffix, char *out, size_t cap)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    (void)snprintf(out, cap, "%.*s%s", dot ? (int)(dot - path) : (int)strlen(path), path, suffix);
}
