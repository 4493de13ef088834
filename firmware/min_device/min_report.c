/* min_report.c - text and exit status of the device, by semihosting: the debugger (QEMU) does the work. */
#include "firmware/min_device/min_device.h"
#include "engine/base/port.h"

enum { SYS_WRITE0 = 0x04, SYS_EXIT = 0x18, SYS_EXIT_EXTENDED = 0x20, STOPPED_APPLICATION_EXIT = 0x20026 };

static void semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void min_print(const char *text)
{
    semihost(SYS_WRITE0, text);
}

_Noreturn void min_exit(int status)
{
    const uint32_t block[2] = {STOPPED_APPLICATION_EXIT, (uint32_t)status};
    semihost(SYS_EXIT_EXTENDED, block);
    for (;;) {}
}

_Noreturn void tw_panic(const char *file, int line, const char *what)
{
    (void)file, (void)line;
    min_print(what);
    min_exit(4);
}
