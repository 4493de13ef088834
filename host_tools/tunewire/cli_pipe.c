/* cli_pipe.c - another program as a filter, fed and read by turns so that neither side waits for ever. */
#include "host_tools/tunewire/cli_pipe.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct pipes {
    int in[2], out[2]; /* of the program: it reads in[0] and writes out[1] */
} pipes_t;

static void close_end(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

static void close_pipes(pipes_t *p)
{
    close_end(&p->in[0]);
    close_end(&p->in[1]);
    close_end(&p->out[0]);
    close_end(&p->out[1]);
}

static bool open_pipes(pipes_t *p)
{
    *p = (pipes_t){{-1, -1}, {-1, -1}};
    if (pipe2(p->in, O_CLOEXEC) != 0 || pipe2(p->out, O_CLOEXEC) != 0 || fcntl(p->in[1], F_SETFL, O_NONBLOCK) != 0) {
        close_pipes(p);
        return false;
    }
    return true;
}

/* @return 0 or an errno */
static int start(const pipes_t *p, const char *const *argv, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    char *words[16] = {NULL};
    for (size_t i = 0; i + 1 < TW_COUNT(words) && argv[i]; i++) {
        memcpy(&words[i], &argv[i], sizeof words[i]); /* posix_spawn changes none of them */
    }
    int err = posix_spawn_file_actions_init(&actions);
    if (err != 0) {
        return err;
    }
    err = posix_spawn_file_actions_adddup2(&actions, p->in[0], STDIN_FILENO);
    err = err ? err : posix_spawn_file_actions_adddup2(&actions, p->out[1], STDOUT_FILENO);
    err = err ? err : posix_spawnp(pid, words[0], &actions, NULL, words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return err;
}

/* @return false when there is no more to read */
static bool take(const pipes_t *p, tw_bytes_t *out, bool *memory)
{
    uint8_t buf[65536];
    const ssize_t got = read(p->out[0], buf, sizeof buf);
    if (got < 0) {
        return errno == EINTR || errno == EAGAIN;
    }
    *memory = got == 0 || tw_bytes_add(out, buf, (size_t)got);
    return got > 0 && *memory;
}

/* Everything is fed and everything is read. @return false when stopped or out of memory */
static bool exchange(tw_cli_t *cli, pipes_t *p, const uint8_t *in, size_t n, tw_bytes_t *out)
{
    bool memory = true;
    for (size_t fed = 0; !cli_stopped(cli);) {
        if (fed == n) {
            close_end(&p->in[1]);
        }
        struct pollfd fds[] = {{p->out[0], POLLIN, 0}, {p->in[1], POLLOUT, 0}};
        if (poll(fds, 2, 200) < 0 && errno != EINTR) {
            return false;
        }
        if ((fds[1].revents & (POLLOUT | POLLERR)) != 0) {
            const ssize_t sent = write(p->in[1], in + fed, n - fed);
            fed = sent > 0 ? fed + (size_t)sent : errno == EINTR || errno == EAGAIN ? fed : n; /* it left */
        }
        if ((fds[0].revents & (POLLIN | POLLHUP)) != 0 && !take(p, out, &memory)) {
            return memory;
        }
    }
    return false;
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return status;
}

static bool fail(tw_cli_t *cli, const char *program, const char *package, int err)
{
    char hint[120];
    (void)snprintf(hint, sizeof hint, err == ENOENT ? "install the package: apt-get install %s" : "is %s whole?",
                   package);
    (void)cli_fail(cli, CLI_INPUT, program, hint, err == ENOENT ? "program not found" : "cannot be started (%s)",
                   strerror(err));
    return false;
}

bool cli_pipe(tw_cli_t *cli, const char *const *argv, const char *package, const void *in, size_t n, tw_bytes_t *out)
{
    pipes_t p;
    pid_t pid = 0;
    *out = (tw_bytes_t){0};
    int err = open_pipes(&p) ? start(&p, argv, &pid) : errno;
    if (err != 0) {
        close_pipes(&p);
        return fail(cli, argv[0], package, err);
    }
    close_end(&p.in[0]);
    close_end(&p.out[1]);
    const bool whole = exchange(cli, &p, in, n, out);
    close_pipes(&p);
    if (!whole) {
        (void)kill(pid, SIGTERM);
    }
    const int status = wait_for(pid);
    if (whole && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return true;
    }
    if (cli_stopped(cli)) {
        cli->exit = CLI_STOPPED;
    } else {
        (void)cli_fail(cli, CLI_INPUT, argv[0], "", "did not finish");
    }
    free(out->data);
    *out = (tw_bytes_t){0};
    return false;
}
