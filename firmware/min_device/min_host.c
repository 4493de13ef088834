/* min_host.c - the smallest device on the host: what min_startup.c and min_report.c are on silicon. */
#include "firmware/min_device/min_device.h"
#include "engine/base/port.h"
#include <stdio.h>
#include <stdlib.h>

uint32_t min_stack_used(void)
{
    return 0;
}

uint32_t min_static_ram(void)
{
    return 0;
}

void min_print(const char *text)
{
    fputs(text, stdout);
}

_Noreturn void min_exit(int status)
{
    exit(status);
}

_Noreturn void tw_panic(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

int main(void)
{
    return min_main();
}
