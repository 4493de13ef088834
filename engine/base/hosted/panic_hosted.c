/* A broken promise on a host: say where, then abort so that a core or a sanitizer shows the rest. */
#include "engine/base/port.h"
#include <stdio.h>
#include <stdlib.h>

_Noreturn void tw_panic(const char *file, int line, const char *what)
{
    fprintf(stderr, "tunewire: internal error at %s:%d: %s\n", file, line, what);
    abort();
}
