/* tunewire_main.c - the program: a flag for Ctrl-C, and tw_cli_main(). */
#include "host_tools/tunewire/cli.h"

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
    (void)sig;
    stop = 1;
}

int main(int argc, char **argv)
{
    struct sigaction act = {.sa_handler = on_signal};
    act.sa_flags = (int)SA_RESETHAND; /* the second Ctrl-C ends a program that does not listen */
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return tw_cli_main(argc, argv, stdout, stderr, &stop);
}
